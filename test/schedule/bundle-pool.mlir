// Pooling behind a transposition: the transposition is a transfer, and the shape of a window takes no memory.
// RUN: npuflow-opt %s --npuflow-schedule=device=toy -o - | filecheck %s

// CHECK-NOT:   contents = memref<2x2xi32, 2>
// CHECK:       func.func private @kernel2(%{{.*}}: memref<4x8x16xi32, 2>, %{{.*}}: memref<4x4x8xi32, 2>, %{{.*}}: memref<4x4x8xi32, 2>)
// CHECK:       "npu.compute"{{.*}}effects = ["r", "rw", "rw"]{{.*}}kind = "window"

#in = affine_map<(c, h, w, kh, kw) -> (c, h * 2 + kh, w * 2 + kw)>
#shape = affine_map<(c, h, w, kh, kw) -> (kh, kw)>
#out = affine_map<(c, h, w, kh, kw) -> (c, h, w)>
func.func @pool(%x: memref<16x16x8xi32>) -> (memref<8x8x8xi32>, memref<8x8x8xi32>) {
  %smallest = arith.constant -2147483648 : i32
  %out = memref.alloc() : memref<8x8x8xi32>
  %arg = memref.alloc() : memref<8x8x8xi32>
  %l2 = memref.alloc() : memref<8x16x16xi32, 1>
  linalg.transpose ins(%x : memref<16x16x8xi32>) outs(%l2 : memref<8x16x16xi32, 1>) permutation = [2, 0, 1]
  %l2_out = memref.alloc() : memref<8x8x8xi32, 1>
  %l2_low = memref.alloc() : memref<8x8x8xi32, 1>
  scf.forall (%y, %xx) in (2, 2) {
    %p = affine.apply affine_map<(y) -> (y * 4)>(%y)
    %q = affine.apply affine_map<(x) -> (x * 4)>(%xx)
    %q2 = affine.apply affine_map<(x) -> (x * 8)>(%xx)
    %tile = memref.subview %l2[%p, %q2, 0] [4, 8, 16] [1, 1, 1] : memref<8x16x16xi32, 1> to memref<4x8x16xi32, strided<[256, 16, 1], offset: ?>, 1>
    %l1 = memref.alloc() : memref<4x8x16xi32, 2>
    memref.copy %tile, %l1 : memref<4x8x16xi32, strided<[256, 16, 1], offset: ?>, 1> to memref<4x8x16xi32, 2>
    %window = memref.alloc() : memref<2x2xi32, 2>
    %l1_out = memref.alloc() : memref<4x4x8xi32, 2>
    %l1_low = memref.alloc() : memref<4x4x8xi32, 2>
    linalg.fill ins(%smallest : i32) outs(%l1_out : memref<4x4x8xi32, 2>)
    linalg.fill ins(%smallest : i32) outs(%l1_low : memref<4x4x8xi32, 2>)
    linalg.generic {indexing_maps = [#in, #shape, #out, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%l1, %window : memref<4x8x16xi32, 2>, memref<2x2xi32, 2>) outs(%l1_out, %l1_low : memref<4x4x8xi32, 2>, memref<4x4x8xi32, 2>) {
    ^bb0(%a: i32, %w: i32, %m: i32, %n: i32):
      %most = arith.maxsi %a, %m : i32
      %sum = arith.addi %a, %n : i32
      linalg.yield %most, %sum : i32, i32
    }
    %place = memref.subview %l2_out[%p, %q, 0] [4, 4, 8] [1, 1, 1] : memref<8x8x8xi32, 1> to memref<4x4x8xi32, strided<[64, 8, 1], offset: ?>, 1>
    memref.copy %l1_out, %place : memref<4x4x8xi32, 2> to memref<4x4x8xi32, strided<[64, 8, 1], offset: ?>, 1>
    %place2 = memref.subview %l2_low[%p, %q, 0] [4, 4, 8] [1, 1, 1] : memref<8x8x8xi32, 1> to memref<4x4x8xi32, strided<[64, 8, 1], offset: ?>, 1>
    memref.copy %l1_low, %place2 : memref<4x4x8xi32, 2> to memref<4x4x8xi32, strided<[64, 8, 1], offset: ?>, 1>
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  memref.copy %l2_out, %out : memref<8x8x8xi32, 1> to memref<8x8x8xi32>
  memref.copy %l2_low, %arg : memref<8x8x8xi32, 1> to memref<8x8x8xi32>
  return %out, %arg : memref<8x8x8xi32>, memref<8x8x8xi32>
}
