// Windows are copied out on their way into L1, by an op that only moves elements: its maps are the access patterns.
// RUN: npuflow-opt %s --npuflow-schedule=device=toy -o - | filecheck %s

// Rows and columns of windows step by 2 and overlap; kernels see what was gathered.
// CHECK:       func.func @memory_out
// CHECK:       "npu.send"{{.*}}sizes = [3, 3, 2, 2, 8]{{.*}}strides = [72, 8, 144, 16, 1]
// CHECK:       func.func @core(
// CHECK:       "npu.compute"{{.*}}effects = ["r", "w"]{{.*}}kind = "elementwise"

#in = affine_map<(oh, ow, kh, kw, c) -> (oh * 2 + kh, ow * 2 + kw, c)>
#out = affine_map<(oh, ow, kh, kw, c) -> (kh, kw, oh, ow, c)>
#t = affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>
func.func @gather(%x: memref<9x9x8xi8>) -> memref<3x3x4x4x8xi8> {
  %out = memref.alloc() : memref<3x3x4x4x8xi8>
  %c1 = arith.constant 1 : i8
    %l2 = memref.alloc() : memref<9x9x8xi8, 1>
    memref.copy %x, %l2 : memref<9x9x8xi8> to memref<9x9x8xi8, 1>
    %l2_out = memref.alloc() : memref<3x3x4x4x8xi8, 1>
    scf.forall (%y, %xx) in (2, 2) {
      %p = affine.apply affine_map<(y, x) -> (x * 4)>(%y, %xx)
      %q = affine.apply affine_map<(y, x) -> (y * 4)>(%y, %xx)
      %p2 = affine.apply affine_map<(y, x) -> (x * 2)>(%y, %xx)
      %q2 = affine.apply affine_map<(y, x) -> (y * 2)>(%y, %xx)
      %tile = memref.subview %l2[%p, %q, 0] [5, 5, 8] [1, 1, 1] : memref<9x9x8xi8, 1> to memref<5x5x8xi8, strided<[72, 8, 1], offset: ?>, 1>
      %l1 = memref.alloc() : memref<3x3x2x2x8xi8, 2>
      linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%tile : memref<5x5x8xi8, strided<[72, 8, 1], offset: ?>, 1>) outs(%l1 : memref<3x3x2x2x8xi8, 2>) {
      ^bb0(%a: i8, %o: i8):
        linalg.yield %a : i8
      }
      %l1_out = memref.alloc() : memref<3x3x2x2x8xi8, 2>
      linalg.generic {indexing_maps = [#t, #t], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%l1 : memref<3x3x2x2x8xi8, 2>) outs(%l1_out : memref<3x3x2x2x8xi8, 2>) {
      ^bb0(%a: i8, %o: i8):
        %n = arith.addi %a, %c1 : i8
        linalg.yield %n : i8
      }
      %place = memref.subview %l2_out[0, 0, %p2, %q2, 0] [3, 3, 2, 2, 8] [1, 1, 1, 1, 1] : memref<3x3x4x4x8xi8, 1> to memref<3x3x2x2x8xi8, strided<[384, 128, 32, 8, 1], offset: ?>, 1>
      memref.copy %l1_out, %place : memref<3x3x2x2x8xi8, 2> to memref<3x3x2x2x8xi8, strided<[384, 128, 32, 8, 1], offset: ?>, 1>
    } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  memref.copy %l2_out, %out : memref<3x3x4x4x8xi8, 1> to memref<3x3x4x4x8xi8>
  return %out : memref<3x3x4x4x8xi8>
}
