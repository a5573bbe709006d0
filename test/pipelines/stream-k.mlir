// The whole pipeline on 1024x512x2048: blocks of 64x64 on a 2x2 grid of cores, K by 256 through L2 and by 32 through L1.
// RUN: npuflow-opt %s --npuflow-stream-k="grid=2,2 tile-l2=64,64,256 tile-l1=32,32,32 pack=4,8,8" --mlir-print-local-scope | filecheck %s

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:.*]]: memref<1024x2048xi32>, %[[B:.*]]: memref<2048x512xi32>) -> memref<1024x512xi32>
// CHECK:         %[[C:.*]] = memref.alloc() {{.*}} : memref<1024x512xi32>

// 16 x 8 blocks, one after the other.
// CHECK:         scf.for %[[M:.*]] = %c0 to %c1024 step %c64 {
// CHECK-NEXT:      scf.for %[[N:.*]] = %c0 to %c512 step %c64 {
// CHECK-DAG:         %[[A_ROWS:.*]] = memref.subview %[[A]][%[[M]], 0] [64, 2048] [1, 1]
// CHECK-DAG:         %[[B_COLUMNS:.*]] = memref.subview %[[B]][0, %[[N]]] [2048, 64] [1, 1]
// CHECK-DAG:         %[[C_L2:.*]] = memref.alloc() {{.*}} : memref<64x64xi32, 1>

// Per core one accumulator in L1, in its packed shape, filled once outside of both K loops.
// CHECK:             scf.forall (%{{.*}}, %{{.*}}) in (2, 2) {
// CHECK:               %[[ACC:.*]] = memref.alloc() {{.*}} : memref<8x4x4x8xi32, 2>
// CHECK-NEXT:          linalg.fill ins(%c0_i32 : i32) outs(%[[ACC]] : memref<8x4x4x8xi32, 2>)

// Two movements from L3 to L2 per 256 of K, shared by the cores.
// CHECK-NEXT:          scf.for %[[K2:.*]] = %c0 to %c2048 step %c256 {
// CHECK-NEXT:            %[[A_L3:.*]] = memref.subview %[[A_ROWS]][0, %[[K2]]] [64, 256] [1, 1]
// CHECK-NEXT:            %[[A_L2:.*]] = memref.alloc() {{.*}} : memref<64x256xi32, 1>
// CHECK-NEXT:            memref.copy %[[A_L3]], %[[A_L2]]
// CHECK-NEXT:            memref.subview %[[A_L2]][%{{.*}}, 0] [32, 256] [1, 1]
// CHECK-NEXT:            %[[B_L3:.*]] = memref.subview %[[B_COLUMNS]][%[[K2]], 0] [256, 64] [1, 1]
// CHECK-NEXT:            %[[B_L2:.*]] = memref.alloc() {{.*}} : memref<256x64xi32, 1>
// CHECK-NEXT:            memref.copy %[[B_L3]], %[[B_L2]]
// CHECK-NEXT:            memref.subview %[[B_L2]][0, %{{.*}}] [256, 32] [1, 1]

// Two packs from L2 to L1 per 32 of K, and one matmul of inner shape 4x8x8.
// CHECK-NEXT:            scf.for %{{.*}} = %c0 to %c256 step %c32 {
// CHECK-NOT:               linalg.unpack
// CHECK-NOT:               memref.copy
// CHECK:                   linalg.pack %{{.*}} inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %[[A_L1:.*]] : memref<32x32xi32, {{.*}}, 1> -> memref<8x4x4x8xi32, 2>
// CHECK-NOT:               linalg.unpack
// CHECK-NOT:               memref.copy
// CHECK:                   linalg.pack %{{.*}} inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %[[B_L1:.*]] : memref<32x32xi32, {{.*}}, 1> -> memref<4x4x8x8xi32, 2>
// CHECK-NEXT:              linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d1, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4)>]
// CHECK-SAME:                ins(%[[A_L1]], %[[B_L1]] : memref<8x4x4x8xi32, 2>, memref<4x4x8x8xi32, 2>) outs(%[[ACC]] : memref<8x4x4x8xi32, 2>)
// CHECK:                     linalg.yield
// CHECK-NEXT:              }
// CHECK-NEXT:            }
// CHECK-NEXT:          }

// The result leaves L1 once per core, and L2 once per block.
// CHECK-NEXT:          %[[PART:.*]] = memref.subview %[[C_L2]]
// CHECK-NEXT:          linalg.unpack %[[ACC]] inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %[[PART]]
// CHECK-NEXT:        } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
// CHECK-NEXT:        %[[C_L3:.*]] = memref.subview %[[C]][%[[M]], %[[N]]] [64, 64] [1, 1]
// CHECK-NEXT:        memref.copy %[[C_L2]], %[[C_L3]]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[C]]
func.func @matmul(%a: tensor<1024x2048xi32>, %b: tensor<2048x512xi32>) -> tensor<1024x512xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1024x512xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  %r = linalg.matmul ins(%a, %b : tensor<1024x2048xi32>, tensor<2048x512xi32>) outs(%f : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  return %r : tensor<1024x512xi32>
}
