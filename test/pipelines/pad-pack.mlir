// Whole-K operands in L2, brought there by tiled copies once per block; K streamed from L2 to L1 only.
// RUN: npuflow-opt %s --npuflow-pad-pack="grid=2,2 tile-l2=32,64,256 tile-l1=16,32,32 pack=4,8,8" | filecheck %s

// With blocks of 64x64 the operands don't fit.
// RUN: not npuflow-opt %s --npuflow-pad-pack="grid=2,2 tile-l2=64,64,256 tile-l1=32,32,32 pack=4,8,8" 2>&1 | filecheck %s --check-prefix=LARGE
// LARGE: pad-pack.mlir:{{[0-9]+}}:8: error: L2 of 2 columns needs 1064960 bytes, has 1048576 (lhs 524288, rhs 524288, result 16384); hint: lower tile-l2 m,n from 64,64 to 32,64
// LARGE-NOT: error

// CHECK-LABEL: func.func @matmul
// CHECK:         scf.for %{{.*}} = %c0 to %c1024 step %c32 {
// CHECK-NEXT:      scf.for %{{.*}} = %c0 to %c512 step %c64 {
// CHECK:             %[[A_L2:.*]] = memref.alloc() {{.*}} : memref<32x2048xi32, 1>
// CHECK-NEXT:        scf.for %[[K:.*]] = %c0 to %c2048 step %c256 {
// CHECK:               memref.subview %[[A_L2]][0, %[[K]]] [32, 256] [1, 1]
// CHECK-NEXT:          memref.copy
// CHECK-NEXT:        }
// CHECK:             %[[B_L2:.*]] = memref.alloc() {{.*}} : memref<2048x64xi32, 1>
// CHECK-NEXT:        scf.for %[[K:.*]] = %c0 to %c2048 step %c256 {
// CHECK:               memref.subview %[[B_L2]][%[[K]], 0] [256, 64] [1, 1]
// CHECK-NEXT:          memref.copy
// CHECK-NEXT:        }
// CHECK:             scf.forall (%{{.*}}, %{{.*}}) in (2, 2) {
// CHECK-NOT:           memref.copy
// CHECK-DAG:           memref.subview %[[A_L2]][%{{.*}}, 0] [16, 2048] [1, 1]
// CHECK-DAG:           memref.subview %[[B_L2]][0, %{{.*}}] [2048, 32] [1, 1]
// CHECK:               linalg.fill ins(%c0_i32 : i32) outs(%[[ACC:.*]] : memref<4x4x4x8xi32, 2>)
// CHECK-NEXT:          scf.for %{{.*}} = %c0 to %c2048 step %c32 {
// CHECK-NOT:             memref.copy
// CHECK-COUNT-2:         linalg.pack
// CHECK-NEXT:            linalg.generic {{.*}} outs(%[[ACC]] :
// CHECK-NOT:             memref.copy
// CHECK:               linalg.unpack %[[ACC]]
// CHECK:             memref.copy %{{.*}} : memref<32x64xi32, 1> to memref<32x64xi32, strided<[512, 1], offset: ?>>
func.func @matmul(%a: tensor<1024x2048xi32>, %b: tensor<2048x512xi32>) -> tensor<1024x512xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1024x512xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  %r = linalg.matmul ins(%a, %b : tensor<1024x2048xi32>, tensor<2048x512xi32>) outs(%f : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  return %r : tensor<1024x512xi32>
}
