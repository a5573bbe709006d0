// The sum is packed once, filled in its packed shape, and leaves L1 once: nothing of it is left in the K loops.
// RUN: npuflow-opt %s --npuflow-hoist-accumulator --canonicalize --cse | filecheck %s

#lhs = affine_map<(m, n, k, i, j, l) -> (m, k, i, l)>
#rhs = affine_map<(m, n, k, i, j, l) -> (k, n, l, j)>
#acc = affine_map<(m, n, k, i, j, l) -> (m, n, i, j)>

// Out of both loops, with the fill packed and the copy to L2 turned into the unpack.
// CHECK-LABEL: func.func @filled
// CHECK-SAME:    %[[L2:[^:]*]]: tensor<8x16xi32>
// CHECK:         %[[L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<2x2x4x8xi32>
// CHECK-NEXT:    %[[F:.*]] = linalg.fill ins(%{{.*}}) outs(%[[L1]]
// CHECK-NEXT:    %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[OUTER:.*]] = %[[F]]) -> (tensor<2x2x4x8xi32>) {
// CHECK-NEXT:      %[[INNER_SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[OUTER]]) -> (tensor<2x2x4x8xi32>) {
// CHECK-NEXT:        %[[R:.*]] = linalg.generic {{.*}} outs(%[[ACC]]
// CHECK:             scf.yield %[[R]]
// CHECK:           scf.yield %[[INNER_SUM]]
// CHECK:         %[[U:.*]] = linalg.unpack %[[SUM]] inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %[[L2]]
// CHECK-NEXT:    return %[[U]]
func.func @filled(%l2: tensor<8x16xi32>, %a: tensor<2x2x4x8xi32>, %b: tensor<2x2x8x8xi32>) -> tensor<8x16xi32> {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %l1 = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<8x16xi32>
  %f = linalg.fill ins(%zero : i32) outs(%l1 : tensor<8x16xi32>) -> tensor<8x16xi32>
  %s = scf.for %k = %c0 to %c4 step %c1 iter_args(%outer = %f) -> (tensor<8x16xi32>) {
    %t = scf.for %l = %c0 to %c4 step %c1 iter_args(%inner = %outer) -> (tensor<8x16xi32>) {
      %e = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<2x2x4x8xi32>
      %p = linalg.pack %inner inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %e : tensor<8x16xi32> -> tensor<2x2x4x8xi32>
      %r = linalg.generic {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"]}
          ins(%a, %b : tensor<2x2x4x8xi32>, tensor<2x2x8x8xi32>) outs(%p : tensor<2x2x4x8xi32>) {
      ^bb0(%x: i32, %y: i32, %z: i32):
        %m = arith.muli %x, %y : i32
        %n = arith.addi %z, %m : i32
        linalg.yield %n : i32
      } -> tensor<2x2x4x8xi32>
      %u = linalg.unpack %r inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %inner : tensor<2x2x4x8xi32> -> tensor<8x16xi32>
      scf.yield %u : tensor<8x16xi32>
    }
    scf.yield %t : tensor<8x16xi32>
  }
  %c = linalg.copy ins(%s : tensor<8x16xi32>) outs(%l2 : tensor<8x16xi32>) -> tensor<8x16xi32>
  return %c : tensor<8x16xi32>
}

// Without loops (one step of K): a given sum is packed from L2 itself, and the tail reads the packed sum.
// CHECK-LABEL: func.func @one_step_with_tail
// CHECK-SAME:    %[[GIVEN:[^:]*]]: tensor<8x16xi32>
// CHECK:         %[[P:.*]] = linalg.pack %[[GIVEN]] inner_dims_pos = [0, 1] inner_tiles = [4, 8]
// CHECK-NEXT:    %[[R:.*]] = linalg.generic {{.*}}"reduction"{{.*}} outs(%[[P]]
// CHECK-NOT:     linalg.unpack
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[R]] :
// CHECK:         linalg.unpack %[[T]]
// CHECK-NOT:     linalg.pack
func.func @one_step_with_tail(%given: tensor<8x16xi32>, %a: tensor<2x2x4x8xi32>, %b: tensor<2x2x8x8xi32>) -> tensor<8x16xi32> {
  %l1 = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<8x16xi32>
  %s = linalg.copy ins(%given : tensor<8x16xi32>) outs(%l1 : tensor<8x16xi32>) -> tensor<8x16xi32>
  %e = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<2x2x4x8xi32>
  %p = linalg.pack %s inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %e : tensor<8x16xi32> -> tensor<2x2x4x8xi32>
  %r = linalg.generic {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x2x4x8xi32>, tensor<2x2x8x8xi32>) outs(%p : tensor<2x2x4x8xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %m = arith.muli %x, %y : i32
    %n = arith.addi %z, %m : i32
    linalg.yield %n : i32
  } -> tensor<2x2x4x8xi32>
  %u = linalg.unpack %r inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %s : tensor<2x2x4x8xi32> -> tensor<8x16xi32>
  %et = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<2x2x4x8xi32>
  %pt = linalg.pack %u inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %et : tensor<8x16xi32> -> tensor<2x2x4x8xi32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n, i, j) -> (m, n, i, j)>, affine_map<(m, n, i, j) -> (m, n, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%pt : tensor<2x2x4x8xi32>) outs(%e : tensor<2x2x4x8xi32>) {
  ^bb0(%x: i32, %o: i32):
    %n = arith.addi %x, %x : i32
    linalg.yield %n : i32
  } -> tensor<2x2x4x8xi32>
  %ut = linalg.unpack %t inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %l1 : tensor<2x2x4x8xi32> -> tensor<8x16xi32>
  return %ut : tensor<8x16xi32>
}

// A sum that something else in the loop reads stays.
// CHECK-LABEL: func.func @read_in_loop
// CHECK:         scf.for
// CHECK:           linalg.pack
// CHECK:           linalg.unpack
// CHECK:         return
func.func @read_in_loop(%a: tensor<2x2x4x8xi32>, %b: tensor<2x2x8x8xi32>, %start: tensor<8x16xi32>, %i: index) -> (tensor<8x16xi32>, i32) {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<2x2x4x8xi32>
  %s:2 = scf.for %k = %c0 to %c4 step %c1 iter_args(%inner = %start, %seen = %zero) -> (tensor<8x16xi32>, i32) {
    %v = tensor.extract %inner[%i, %i] : tensor<8x16xi32>
    %p = linalg.pack %inner inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %e : tensor<8x16xi32> -> tensor<2x2x4x8xi32>
    %r = linalg.generic {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<2x2x4x8xi32>, tensor<2x2x8x8xi32>) outs(%p : tensor<2x2x4x8xi32>) {
    ^bb0(%x: i32, %y: i32, %z: i32):
      %m = arith.muli %x, %y : i32
      %n = arith.addi %z, %m : i32
      linalg.yield %n : i32
    } -> tensor<2x2x4x8xi32>
    %u = linalg.unpack %r inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %inner : tensor<2x2x4x8xi32> -> tensor<8x16xi32>
    scf.yield %u, %v : tensor<8x16xi32>, i32
  }
  return %s#0, %s#1 : tensor<8x16xi32>, i32
}
