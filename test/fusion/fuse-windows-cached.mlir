// Halos that are cached: tiles of whole strips, of which ops say along which of their loops rows are kept.
// RUN: npuflow-opt %s --npuflow-fuse-windows="device=npu2 tiles=14,14 halos=cached rows=7" --remarks --split-input-file 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-fuse-windows="device=npu2 tiles=14,14" --remarks --split-input-file -o %t 2>&1 | filecheck %s --check-prefix=CHOICE

#image = affine_map<(n, h, w, c, y, x, i) -> (n, h + y, w + x, i)>
#strides = affine_map<(n, h, w, c, y, x, i) -> (n, 2 * h + y, 2 * w + x, i)>
#weights = affine_map<(n, h, w, c, y, x, i) -> (y, x, i, c)>
#made = affine_map<(n, h, w, c, y, x, i) -> (n, h, w, c)>

// CHECK: remark: [npuflow-fuse-windows] groups valid_0, valid_1 are one: in tiles of 14x14, whose halos are cached in steps of 7, 57600 bytes stay in L1, 7% more is computed
// CHECK: remark: [npuflow-fuse-windows] groups strided_0, strided_1 stay apart: no tile of them fits a core
// CHOICE: remark: [npuflow-fuse-windows] groups valid_0, valid_1 are one: in tiles of 14x14 {{.*}} of that in tiles of 14x14, whose halos are cached in steps of

// CHECK-LABEL: func.func @valid
// CHECK: linalg.generic {{.*}}ins(%arg0, %arg1 {{.*}}npu.bundle = 0 : i64, npu.row_loop = 2 : i64
// CHECK: -> tensor<1x2x16x2x16x16xf32>
// CHECK: linalg.generic {{.*}}npu.row_loop = 2 : i64, npu.strategy = #npu.strategy<{stream = [7]}>
// CHECK: -> tensor<1x2x14x2x14x16xf32>
// CHECK: tensor.collapse_shape
func.func @valid(%x: tensor<1x32x32x16xf32>, %v: tensor<3x3x16x16xf32>, %w: tensor<3x3x16x16xf32>) -> tensor<1x28x28x16xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x30x30x16xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<1x30x30x16xf32>) -> tensor<1x30x30x16xf32>
  %s = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %v : tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) outs(%f0 : tensor<1x30x30x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x30x30x16xf32>
  %e1 = tensor.empty() : tensor<1x28x28x16xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<1x28x28x16xf32>) -> tensor<1x28x28x16xf32>
  %r = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%s, %w : tensor<1x30x30x16xf32>, tensor<3x3x16x16xf32>) outs(%f1 : tensor<1x28x28x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x28x28x16xf32>
  return %r : tensor<1x28x28x16xf32>
}

// -----

#image = affine_map<(n, h, w, c, y, x, i) -> (n, h + y, w + x, i)>
#strides = affine_map<(n, h, w, c, y, x, i) -> (n, 2 * h + y, 2 * w + x, i)>
#weights = affine_map<(n, h, w, c, y, x, i) -> (y, x, i, c)>
#made = affine_map<(n, h, w, c, y, x, i) -> (n, h, w, c)>

// Between two ops, rows are kept where windows go on by one.
// CHECK-LABEL: func.func @strided
// CHECK-NOT: npu.row_loop
func.func @strided(%x: tensor<1x31x31x8xf32>, %v: tensor<3x3x8x8xf32>, %w: tensor<3x3x8x8xf32>) -> tensor<1x14x14x8xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x29x29x8xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<1x29x29x8xf32>) -> tensor<1x29x29x8xf32>
  %s = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %v : tensor<1x31x31x8xf32>, tensor<3x3x8x8xf32>) outs(%f0 : tensor<1x29x29x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x29x29x8xf32>
  %e1 = tensor.empty() : tensor<1x14x14x8xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32>
  %r = linalg.generic {indexing_maps = [#strides, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%s, %w : tensor<1x29x29x8xf32>, tensor<3x3x8x8xf32>) outs(%f1 : tensor<1x14x14x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x14x14x8xf32>
  return %r : tensor<1x14x14x8xf32>
}
