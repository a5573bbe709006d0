// What an op says of its strategy stays where the op is written anew: reshapes go into it, and come out again.
// RUN: npuflow-opt %s --npuflow-normalize-linalg | filecheck %s
// RUN: npuflow-opt %s --npuflow-normalize-linalg | npuflow-opt --npuflow-normalize-linalg | filecheck %s

#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @reshaped
// CHECK:         linalg.generic {{.*}}tensor<64x16xi8>{{.*}}attrs = {npu.strategy = #npu.strategy<{tile_l1 = [4, 8, 8]}>}
// CHECK-NOT:     npu.strategy
func.func @reshaped(%x: tensor<1x8x8x16xi8>, %w: tensor<1x1x16x32xi8>) -> tensor<1x8x8x32xi32> {
  %zero = arith.constant 0 : i32
  %x2 = tensor.collapse_shape %x [[0, 1, 2], [3]] : tensor<1x8x8x16xi8> into tensor<64x16xi8>
  %w2 = tensor.collapse_shape %w [[0, 1, 2], [3]] : tensor<1x1x16x32xi8> into tensor<16x32xi8>
  %empty = tensor.empty() : tensor<64x32xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x32xi32>) -> tensor<64x32xi32>
  %r = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x2, %w2 : tensor<64x16xi8>, tensor<16x32xi8>) outs(%fill : tensor<64x32xi32>)
      attrs = {npu.strategy = #npu.strategy<{tile_l1 = [4, 8, 8]}>} {
  ^bb0(%a: i8, %b: i8, %sum: i32):
    %c = arith.extsi %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %e = arith.muli %c, %d : i32
    %f = arith.addi %sum, %e : i32
    linalg.yield %f : i32
  } -> tensor<64x32xi32>
  %back = tensor.expand_shape %r [[0, 1, 2], [3]] output_shape [1, 8, 8, 32] : tensor<64x32xi32> into tensor<1x8x8x32xi32>
  return %back : tensor<1x8x8x32xi32>
}

// Two elementwise ops become one, which is neither of them.
// CHECK-LABEL: func.func @fused
// CHECK-NOT:     npu.strategy
func.func @fused(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %empty = tensor.empty() : tensor<32x64xf32>
  %r = linalg.exp {npu.strategy = #npu.strategy<{tile_l1 = [4, 8]}>} ins(%x : tensor<32x64xf32>)
    outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %s = linalg.tanh ins(%r : tensor<32x64xf32>) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %s : tensor<32x64xf32>
}
