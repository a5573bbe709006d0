// A user's own schedule tiles the blocks, and the pipeline goes on from there with the grid, L1 and L2.
// RUN: npuflow-opt %s --npuflow-stream-k="grid=2,2 tile-l2=64,128,64 tile-l1=32,64,32 pack=4,8,8" --transform-schedule=%S/Inputs/blocks.mlir --resume-after=tile-blocks | filecheck %s

// CHECK:         scf.for %[[N:.*]] = %c0 to %c512 step %c128
// CHECK:           scf.for %[[M:.*]] = %c0 to %c256 step %c64
// CHECK:             scf.forall (%{{.*}}, %{{.*}}) in (2, 2) {
// CHECK:               linalg.pack {{.*}} into %[[ACC:.*]] : {{.*}} -> memref<8x8x4x8xi32, 2>
// CHECK:               scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK:                 scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK:                   linalg.generic {{.*}} outs(%[[ACC]] :
// CHECK:               linalg.unpack %[[ACC]]
// CHECK:             memref.copy
func.func @matmul(%a: tensor<256x128xi32>, %b: tensor<128x512xi32>, %c: tensor<256x512xi32>) -> tensor<256x512xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<256x128xi32>, tensor<128x512xi32>) outs(%c : tensor<256x512xi32>) -> tensor<256x512xi32>
  return %r : tensor<256x512xi32>
}
