// Each use of a tensor.empty has a buffer of its own, so that what one op makes never lies where another one reads.
// RUN: npuflow-opt %s --npuflow-separate-results | filecheck %s

// The second op reads what the first one made, and would overwrite it.
// CHECK-LABEL: func.func @two_ops
// CHECK-NEXT:    %[[FIRST:.*]] = bufferization.alloc_tensor() : tensor<4xi32>
// CHECK-NEXT:    %[[MADE:.*]] = linalg.copy ins(%{{.*}} : tensor<4xi32>) outs(%[[FIRST]] :
// CHECK-NEXT:    %[[SECOND:.*]] = bufferization.alloc_tensor() : tensor<4xi32>
// CHECK-NEXT:    linalg.copy ins(%[[MADE]] : tensor<4xi32>) outs(%[[SECOND]] :
// CHECK-NOT:     tensor.empty
// CHECK:         return
func.func @two_ops(%x: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %a = linalg.copy ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  %b = linalg.copy ins(%a : tensor<4xi32>) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  return %b : tensor<4xi32>
}

// Loops that follow each other, as a pipeline leaves them: what is carried by one is no place for the other.
// CHECK-LABEL: func.func @two_loops
// CHECK:         %[[ONE:.*]] = bufferization.alloc_tensor() : tensor<4xi32>
// CHECK-NEXT:    %[[A:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ONE]])
// CHECK:         %[[TWO:.*]] = bufferization.alloc_tensor() : tensor<4xi32>
// CHECK-NEXT:    scf.for {{.*}} iter_args(%{{.*}} = %[[TWO]])
func.func @two_loops(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xi32>
  %a = scf.for %i = %c0 to %c1 step %c1 iter_args(%o = %e) -> (tensor<4xi32>) {
    %n = linalg.copy ins(%x : tensor<4xi32>) outs(%o : tensor<4xi32>) -> tensor<4xi32>
    scf.yield %n : tensor<4xi32>
  }
  %b = scf.for %i = %c0 to %c1 step %c1 iter_args(%o = %e) -> (tensor<4xi32>) {
    %n = linalg.copy ins(%a : tensor<4xi32>) outs(%o : tensor<4xi32>) -> tensor<4xi32>
    scf.yield %n : tensor<4xi32>
  }
  return %b : tensor<4xi32>
}

// An op with two results in one empty tensor has two buffers, of the size that is known where it runs.
// CHECK-LABEL: func.func @two_results
// CHECK-SAME:    %[[SIZE:[^:]*]]: index
// CHECK-NEXT:    %[[ONE:.*]] = bufferization.alloc_tensor(%[[SIZE]]) : tensor<?xi32>
// CHECK-NEXT:    %[[TWO:.*]] = bufferization.alloc_tensor(%[[SIZE]]) : tensor<?xi32>
// CHECK-NEXT:    linalg.generic {{.*}} outs(%[[TWO]], %[[ONE]] :
func.func @two_results(%size: index, %x: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>) {
  %e = tensor.empty(%size) : tensor<?xi32>
  %r:2 = linalg.generic {
      indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]} ins(%x : tensor<?xi32>) outs(%e, %e : tensor<?xi32>, tensor<?xi32>) {
  ^bb0(%a: i32, %o: i32, %p: i32):
    linalg.yield %a, %a : i32, i32
  } -> (tensor<?xi32>, tensor<?xi32>)
  return %r#0, %r#1 : tensor<?xi32>, tensor<?xi32>
}

// What nobody uses is gone; a result that is written into an argument stays there.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    linalg.copy
// CHECK-NEXT:    return
func.func @nothing(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %a = linalg.copy ins(%x : tensor<4xi32>) outs(%y : tensor<4xi32>) -> tensor<4xi32>
  return %a : tensor<4xi32>
}
