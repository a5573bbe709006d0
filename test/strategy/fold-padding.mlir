// Zeros around windows are a register of the matrix engine, up to half of the window; where it has none they are moved.
// RUN: npuflow-opt %s --npuflow-fold-padding=device=npu4.0 --remarks 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-fold-padding=device=npu2 | filecheck %s --check-prefix=ARRAY
// ARRAY-NOT: npu.padded

#image = affine_map<(o, h, w, i, y, x) -> (i, h + y, w + x)>
#weights = affine_map<(o, h, w, i, y, x) -> (o, i, y, x)>
#sums = affine_map<(o, h, w, i, y, x) -> (o, h, w)>

// CHECK: fold-padding.mlir:{{[0-9:]+}}: remark: [npuflow-fold-padding] 2 zeros on a side are inserted by transfers: a register holds up to 1 for a window of 3
// CHECK-NOT: remark
// CHECK-LABEL: func.func @convolution
// CHECK: linalg.generic {{.*}}attrs = {npu.padded = [array<i64: 0, 0, 1, 1, 1, 0>, array<i64>]}
func.func @convolution(%a: tensor<16x8x9xi8>, %b: tensor<32x16x3x3xi8>, %c: tensor<32x8x8xi32>) -> tensor<32x8x8xi32> {
  %zero = arith.constant 0 : i8
  %p = tensor.pad %a low[0, 1, 1] high[0, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : i8
  } : tensor<16x8x9xi8> to tensor<16x10x10xi8>
  %r = linalg.generic {indexing_maps = [#image, #weights, #sums],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %b : tensor<16x10x10xi8>, tensor<32x16x3x3xi8>) outs(%c : tensor<32x8x8xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<32x8x8xi32>
  return %r : tensor<32x8x8xi32>
}

// CHECK-LABEL: func.func @beyond_the_limit
// CHECK-NOT: npu.padded
func.func @beyond_the_limit(%a: tensor<16x7x9xi8>, %b: tensor<32x16x3x3xi8>, %c: tensor<32x8x8xi32>)
    -> tensor<32x8x8xi32> {
  %zero = arith.constant 0 : i8
  %p = tensor.pad %a low[0, 2, 1] high[0, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : i8
  } : tensor<16x7x9xi8> to tensor<16x10x10xi8>
  %r = linalg.generic {indexing_maps = [#image, #weights, #sums],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %b : tensor<16x10x10xi8>, tensor<32x16x3x3xi8>) outs(%c : tensor<32x8x8xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<32x8x8xi32>
  return %r : tensor<32x8x8xi32>
}

// f32 has no instruction on patches.
// CHECK-LABEL: func.func @other_engine
// CHECK-NOT: npu.padded
func.func @other_engine(%a: tensor<16x8x9xf32>, %b: tensor<32x16x3x3xf32>, %c: tensor<32x8x8xf32>)
    -> tensor<32x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[0, 1, 1] high[0, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<16x8x9xf32> to tensor<16x10x10xf32>
  %r = linalg.generic {indexing_maps = [#image, #weights, #sums],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %b : tensor<16x10x10xf32>, tensor<32x16x3x3xf32>) outs(%c : tensor<32x8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<32x8x8xf32>
  return %r : tensor<32x8x8xf32>
}

// A pool goes through windows of each channel alone.
// CHECK-LABEL: func.func @pool
// CHECK: linalg.generic {{.*}}attrs = {npu.padded = [array<i64: 0, 0, 1, 1, 1, 1>, array<i64>]}
func.func @pool(%a: tensor<16x8x8xi8>, %c: tensor<16x8x8xi8>) -> tensor<16x8x8xi8> {
  %zero = arith.constant 0 : i8
  %p = tensor.pad %a low[0, 1, 1] high[0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : i8
  } : tensor<16x8x8xi8> to tensor<16x10x10xi8>
  %window = tensor.empty() : tensor<3x3xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(i, h, w, y, x) -> (i, h + y, w + x)>,
                                        affine_map<(i, h, w, y, x) -> (y, x)>, affine_map<(i, h, w, y, x) -> (i, h, w)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %window : tensor<16x10x10xi8>, tensor<3x3xi8>) outs(%c : tensor<16x8x8xi8>) {
  ^bb0(%x: i8, %y: i8, %s: i8):
    %0 = arith.maxsi %s, %x : i8
    linalg.yield %0 : i8
  } -> tensor<16x8x8xi8>
  return %r : tensor<16x8x8xi8>
}
