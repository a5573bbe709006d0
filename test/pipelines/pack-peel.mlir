// Packed in L2 and L1, the first and last step of K peeled: fill only in the first part, write-back only in the last.
// RUN: npuflow-opt %s --npuflow-pack-peel="grid=2,2 tile-l2=64,64,256 tile-l1=32,32,32 pack=4,8,8" | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK-NOT:     linalg.fill
// CHECK:         scf.forall (%{{.*}}, %{{.*}}) in (2, 2) {
// CHECK:           %[[ACC:.*]] = memref.alloc() {{.*}} : memref<8x4x4x8xi32, 2>

// The first step, from 0: both operands laid out in L2 tile by tile, and the fill right in front of the first sum.
// CHECK:           memref.subview %{{.*}}[0, 0] [64, 256] [1, 1]
// CHECK:           linalg.pack %{{.*}} inner_dims_pos = [0, 1] inner_tiles = [32, 32] into %[[A0:.*]] : memref<64x256xi32, {{.*}}> -> memref<2x8x32x32xi32, 1>
// CHECK:           linalg.pack %{{.*}} inner_dims_pos = [0, 1] inner_tiles = [32, 32] into %[[B0:.*]] : memref<256x64xi32, {{.*}}> -> memref<8x2x32x32xi32, 1>
// CHECK-NEXT:      linalg.fill ins(%c0_i32 : i32) outs(%[[ACC]] : memref<8x4x4x8xi32, 2>)
// CHECK-NEXT:      scf.for %{{.*}} = %c0 to %c256 step %c32 {
// CHECK-DAG:         memref.subview %[[A0]][%{{.*}}, %{{.*}}, 0, 0] [1, 1, 32, 32] [1, 1, 1, 1]
// CHECK-DAG:         memref.subview %[[B0]][%{{.*}}, %{{.*}}, 0, 0] [1, 1, 32, 32] [1, 1, 1, 1]
// CHECK:             linalg.generic {{.*}} outs(%[[ACC]] :
// CHECK-NOT:       linalg.fill
// CHECK-NOT:       linalg.unpack

// The steps between.
// CHECK:           scf.for %[[K:.*]] = %c256 to %c1792 step %c256 {
// CHECK-DAG:         memref.subview %{{.*}}[0, %[[K]]] [64, 256] [1, 1]
// CHECK-DAG:         memref.subview %{{.*}}[%[[K]], 0] [256, 64] [1, 1]
// CHECK:             scf.for %{{.*}} = %c0 to %c256 step %c32 {
// CHECK:               linalg.generic {{.*}} outs(%[[ACC]] :
// CHECK-NOT:       linalg.fill
// CHECK-NOT:       linalg.unpack

// The last step, from 1792, and the only way out.
// CHECK:           memref.subview %{{.*}}[0, 1792] [64, 256] [1, 1]
// CHECK:           memref.subview %{{.*}}[1792, 0] [256, 64] [1, 1]
// CHECK:           scf.for %{{.*}} = %c0 to %c256 step %c32 {
// CHECK:             linalg.generic {{.*}} outs(%[[ACC]] :
// CHECK:           linalg.unpack %[[ACC]] inner_dims_pos = [0, 1] inner_tiles = [4, 8] into
// CHECK-NOT:       linalg.generic
// CHECK:         } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
// CHECK:         memref.copy %{{.*}} : memref<64x64xi32, 1> to memref<64x64xi32, strided<[512, 1], offset: ?>>
// CHECK-NOT:     linalg.
func.func @matmul(%a: tensor<1024x2048xi32>, %b: tensor<2048x512xi32>) -> tensor<1024x512xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1024x512xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  %r = linalg.matmul ins(%a, %b : tensor<1024x2048xi32>, tensor<2048x512xi32>) outs(%f : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  return %r : tensor<1024x512xi32>
}
