// Dynamic shapes of arguments become static, and what follows from them as well.
// RUN: npuflow-opt %s --npuflow-specialize-shapes="shapes=@matmul:%arg0=128x256,@matmul:%arg1=?x64,@conv:%arg0=2x18x18x8,@partly:%arg0=4" --remarks 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix=REMARK --input-file=%t
// RUN: npuflow-opt %s --specialize=@matmul:%arg0=128x256 --specialize=@matmul:%arg1=256x64 | filecheck %s --check-prefix=FLAG

// CHECK-LABEL: func.func @matmul
// CHECK-SAME:    (%[[A:.*]]: tensor<128x256xf32>, %[[B:.*]]: tensor<256x64xf32>) -> tensor<128x64xf32>
// CHECK-NOT:     tensor.{{cast|dim}}
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<128x64xf32>
// CHECK:         linalg.fill {{.*}} outs(%[[E]] : tensor<128x64xf32>)
// CHECK:         linalg.matmul ins(%[[A]], %[[B]] : tensor<128x256xf32>, tensor<256x64xf32>)
// CHECK:         return %{{.*}} : tensor<128x64xf32>
// FLAG-LABEL:  func.func @matmul
// FLAG-SAME:     (%{{.*}}: tensor<128x256xf32>, %{{.*}}: tensor<256x64xf32>) -> tensor<128x64xf32>
func.func @matmul(%a: tensor<?x256xf32>, %b: tensor<256x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x256xf32>
  %n = tensor.dim %b, %c1 : tensor<256x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x256xf32>, tensor<256x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @conv
// CHECK-SAME:    tensor<2x18x18x8xf32>{{.*}} -> tensor<2x16x16x4xf32>
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} -> tensor<2x16x16x4xf32>
func.func @conv(%x: tensor<?x18x18x8xf32>, %w: tensor<3x3x8x4xf32>) -> tensor<?x16x16x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x18x18x8xf32>
  %e = tensor.empty(%n) : tensor<?x16x16x4xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<?x18x18x8xf32>, tensor<3x3x8x4xf32>) outs(%e : tensor<?x16x16x4xf32>) -> tensor<?x16x16x4xf32>
  return %r : tensor<?x16x16x4xf32>
}

// What stays dynamic is named.
// CHECK-LABEL: func.func @partly
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<?xf32>) -> (tensor<4xf32>, tensor<?xf32>)
// REMARK:      specialize-shapes.mlir:{{[0-9]+}}:38: remark: [npuflow-specialize-shapes] %arg1 is still dynamic (tensor<?xf32>)
// REMARK:      specialize-shapes.mlir:{{[0-9]+}}:8: remark: [npuflow-specialize-shapes] the result of linalg.generic is still dynamic (tensor<?xf32>)
func.func @partly(%a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %r = math.absf %a : tensor<?xf32>
  %s = math.absf %b : tensor<?xf32>
  return %r, %s : tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @untouched
// CHECK-SAME:    tensor<?xf32>
func.func @untouched(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}
