// Lines of single pixels may be read as images where instructions take patches; windows, and other devices, stay.
// RUN: npuflow-opt %s --npuflow-reshape-lines=device=npu4.0 --remarks 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-reshape-lines=device=npu2 | filecheck %s --check-prefix=ARRAY

// CHECK: remark: [npuflow-reshape-lines] 2048x1 pixels are read as 128x16: 128 patches of 4x4 instead of 512
// CHECK-NOT: remark
// CHECK-LABEL: func.func @matmul
// CHECK: linalg.matmul {npu.reshaped}
// ARRAY-NOT: npu.reshaped
func.func @matmul(%a: tensor<2048x48xi8>, %b: tensor<48x256xi8>, %c: tensor<2048x256xi32>) -> tensor<2048x256xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<2048x48xi8>, tensor<48x256xi8>)
      outs(%c : tensor<2048x256xi32>) -> tensor<2048x256xi32>
  return %r : tensor<2048x256xi32>
}

// What fills patches as it lies may still be cut into lines.
// CHECK-LABEL: func.func @image
// CHECK: linalg.generic {{.*}}attrs = {npu.reshaped}
func.func @image(%a: tensor<16x16x32xi8>, %b: tensor<32x64xi8>, %c: tensor<16x16x64xi32>) -> tensor<16x16x64xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(h, w, o, i) -> (h, w, i)>, affine_map<(h, w, o, i) -> (i, o)>,
                                        affine_map<(h, w, o, i) -> (h, w, o)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x16x32xi8>, tensor<32x64xi8>) outs(%c : tensor<16x16x64xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<16x16x64xi32>
  return %r : tensor<16x16x64xi32>
}

// CHECK-LABEL: func.func @window
// CHECK-NOT: npu.reshaped
func.func @window(%a: tensor<18x18x32xi8>, %b: tensor<3x3x32x64xi8>, %c: tensor<16x16x64xi32>) -> tensor<16x16x64xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(h, w, o, y, x, i) -> (h + y, w + x, i)>,
                                        affine_map<(h, w, o, y, x, i) -> (y, x, i, o)>,
                                        affine_map<(h, w, o, y, x, i) -> (h, w, o)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<18x18x32xi8>, tensor<3x3x32x64xi8>) outs(%c : tensor<16x16x64xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<16x16x64xi32>
  return %r : tensor<16x16x64xi32>
}
