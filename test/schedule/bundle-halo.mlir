// Two blocks of a padded depthwise convolution: parts with halos, zeros at the edges alone, a filter that is a constant.
// RUN: npuflow-opt %s --npuflow-schedule=device=toy -o - | filecheck %s

// The filter's values stand beside its buffer; each column has 10 of a block's 18 rows, of which neighbours share 2, and
// the 16 columns of the image that exist.
// CHECK-DAG:   contents = memref<3x3x8xi8>, {{.*}}npu.value = @filter_value, role = "constant", {{.*}}sym_name = "filter"
// CHECK-DAG:   memref.global "private" constant @filter_value
// CHECK-DAG:   contents = memref<1x10x16x8xi8, 1>, {{.*}}span = ["column"]

// The shim sends the rows that exist. Zeros go in on the way out of L2, where rows or columns end, on either side.
// CHECK:       func.func @shim_out
// CHECK:       "npu.send"{{.*}}buffer = @arg0{{.*}}limits = {{\[\[}}[{{.*}}zeros = false
// CHECK:       func.func @memory_out
// CHECK:       "npu.send"{{.*}}buffer = @l2_0{{.*}}zeros = true
// CHECK:       "npu.compute"{{.*}}effects = ["r", "r", "rw"]{{.*}}kind = "window"

#in = affine_map<(n,h,w,c,kh,kw) -> (n, h + kh, w + kw, c)>
#flt = affine_map<(n,h,w,c,kh,kw) -> (kh, kw, c)>
#out = affine_map<(n,h,w,c,kh,kw) -> (n, h, w, c)>
memref.global "private" constant @filter : memref<3x3x8xi8> = dense<[[[1, 9, 5, 2, 0, -4, -1, -4], [7, 0, 6, 1, -6, -4, -1, 6], [-1, 5, 9, 0, -4, 8, -7, 6]], [[-6, 7, -9, -8, -2, -5, 4, -3], [8, 4, -2, 9, -2, -9, -5, -7], [-1, 1, 6, 5, 2, 0, 6, 7]], [[8, -8, 2, 2, 1, -3, 4, 3], [-3, 2, 7, -9, -7, 1, -9, 0], [-6, 4, -5, -7, 9, 2, -1, -1]]]>
func.func @dw(%x: memref<1x32x16x8xi8>) -> memref<1x32x16x8xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0 : i8
  %zero32 = arith.constant 0 : i32
  %w = memref.get_global @filter : memref<3x3x8xi8>
  %out = memref.alloc() : memref<1x32x16x8xi32>
  scf.for %b = %c0 to %c2 step %c1 {
    %o = affine.apply affine_map<(b) -> (b * 16 - 1)>(%b)
    %begin = affine.max affine_map<(o) -> (0, o)>(%o)
    %end = affine.min affine_map<(o) -> (32, o + 18)>(%o)
    %size = affine.apply affine_map<(e, b) -> (e - b)>(%end, %begin)
    %low = affine.apply affine_map<(e, b) -> (e - b)>(%begin, %o)
    %l2 = memref.alloc() : memref<1x18x18x8xi8, 1>
    linalg.fill ins(%zero : i8) outs(%l2 : memref<1x18x18x8xi8, 1>)
    %src = memref.subview %x[0, %begin, 0, 0] [1, %size, 16, 8] [1, 1, 1, 1] : memref<1x32x16x8xi8> to memref<1x?x16x8xi8, strided<[4096, 128, 8, 1], offset: ?>>
    %dst = memref.subview %l2[0, %low, 1, 0] [1, %size, 16, 8] [1, 1, 1, 1] : memref<1x18x18x8xi8, 1> to memref<1x?x16x8xi8, strided<[2592, 144, 8, 1], offset: ?>, 1>
    memref.copy %src, %dst : memref<1x?x16x8xi8, strided<[4096, 128, 8, 1], offset: ?>> to memref<1x?x16x8xi8, strided<[2592, 144, 8, 1], offset: ?>, 1>
    %w2 = memref.alloc() : memref<3x3x8xi8, 1>
    memref.copy %w, %w2 : memref<3x3x8xi8> to memref<3x3x8xi8, 1>
    %l2_out = memref.alloc() : memref<1x16x16x8xi32, 1>
    scf.forall (%y, %xx) in (2, 2) {
      %p = affine.apply affine_map<(y, x) -> ((x * 2 + y) * 4)>(%y, %xx)
      %tile = memref.subview %l2[0, %p, 0, 0] [1, 6, 18, 8] [1, 1, 1, 1] : memref<1x18x18x8xi8, 1> to memref<1x6x18x8xi8, strided<[2592, 144, 8, 1], offset: ?>, 1>
      %l1 = memref.alloc() : memref<1x6x18x8xi8, 2>
      memref.copy %tile, %l1 : memref<1x6x18x8xi8, strided<[2592, 144, 8, 1], offset: ?>, 1> to memref<1x6x18x8xi8, 2>
      %w1 = memref.alloc() : memref<3x3x8xi8, 2>
      memref.copy %w2, %w1 : memref<3x3x8xi8, 1> to memref<3x3x8xi8, 2>
      %l1_out = memref.alloc() : memref<1x4x16x8xi32, 2>
      linalg.fill ins(%zero32 : i32) outs(%l1_out : memref<1x4x16x8xi32, 2>)
      linalg.generic {indexing_maps = [#in, #flt, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%l1, %w1 : memref<1x6x18x8xi8, 2>, memref<3x3x8xi8, 2>) outs(%l1_out : memref<1x4x16x8xi32, 2>) {
      ^bb0(%a: i8, %f: i8, %s: i32):
        %ae = arith.extsi %a : i8 to i32
        %fe = arith.extsi %f : i8 to i32
        %m = arith.muli %ae, %fe : i32
        %r = arith.addi %s, %m : i32
        linalg.yield %r : i32
      }
      %place = memref.subview %l2_out[0, %p, 0, 0] [1, 4, 16, 8] [1, 1, 1, 1] : memref<1x16x16x8xi32, 1> to memref<1x4x16x8xi32, strided<[2048, 128, 8, 1], offset: ?>, 1>
      memref.copy %l1_out, %place : memref<1x4x16x8xi32, 2> to memref<1x4x16x8xi32, strided<[2048, 128, 8, 1], offset: ?>, 1>
    } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
    %ob = affine.apply affine_map<(b) -> (b * 16)>(%b)
    %res = memref.subview %out[0, %ob, 0, 0] [1, 16, 16, 8] [1, 1, 1, 1] : memref<1x32x16x8xi32> to memref<1x16x16x8xi32, strided<[4096, 128, 8, 1], offset: ?>>
    memref.copy %l2_out, %res : memref<1x16x16x8xi32, 1> to memref<1x16x16x8xi32, strided<[4096, 128, 8, 1], offset: ?>>
  }
  return %out : memref<1x32x16x8xi32>
}
