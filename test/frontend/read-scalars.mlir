// Scalars that bodies read from outside are tensors of one element; what is made of them is made inside.
// RUN: npuflow-opt %s --npuflow-read-scalars --mlir-print-local-scope | filecheck %s
// RUN: npuflow run %s --device=toy | filecheck %s --check-prefix=RIGHT

// RIGHT-COUNT-4: verified    {{(bit-exact|max error)}}

#same = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @arguments
// CHECK-SAME:    %[[X:.*]]: tensor<9xf32>, %[[S:.*]]: tensor<f32>, %[[N:.*]]: tensor<i64>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>]
// CHECK-SAME:      ins(%[[X]], %{{.*}}, %{{.*}} :
// CHECK:           arith.sitofp %{{.*}} : i64 to f32
func.func @arguments(%x: tensor<9xf32>, %s: f32, %n: i64) -> tensor<9xf32> {
  %by = arith.sitofp %n : i64 to f32
  %e = tensor.empty() : tensor<9xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %s : f32
    %b = arith.addf %a, %by : f32
    linalg.yield %b : f32
  } -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// CHECK-LABEL: func.func @element
// CHECK:         %[[V:.*]] = tensor.extract_slice %{{.*}}[3] [1] [1] : tensor<9xf32> to tensor<1xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
func.func @element(%x: tensor<9xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %three = arith.constant 3 : index
  %v = tensor.extract %x[%three] : tensor<9xf32>
  %e = tensor.empty() : tensor<5xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%y : tensor<5xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %v : f32
    linalg.yield %a : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// What is filled by a scalar is computed.
// CHECK-LABEL: func.func @filled
// CHECK-NOT:     linalg.fill
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>]
func.func @filled(%s: i32) -> tensor<7xi32> {
  %e = tensor.empty() : tensor<7xi32>
  %f = linalg.fill ins(%s : i32) outs(%e : tensor<7xi32>) -> tensor<7xi32>
  return %f : tensor<7xi32>
}

// So are the zero points of a quantised matmul, which are operands.
// CHECK-LABEL: func.func @quantised
// CHECK-SAME:    %[[A:.*]]: tensor<8x8xi8>, %[[Z:.*]]: tensor<i32>
// CHECK:         linalg.generic
// CHECK-SAME:      tensor<i32>
func.func @quantised(%a: tensor<8x8xi8>, %z: i32) -> tensor<8x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x8xi32>
  %c = linalg.fill ins(%zero : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]} ins(%a, %z : tensor<8x8xi8>, i32) outs(%c : tensor<8x8xi32>) {
  ^bb0(%in: i8, %by: i32, %out: i32):
    %w = arith.extsi %in : i8 to i32
    %d = arith.subi %w, %by : i32
    linalg.yield %d : i32
  } -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
