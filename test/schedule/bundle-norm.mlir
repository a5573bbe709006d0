// Rows are summed and divided in one go: several kernels on one core, of which what lies between them stays in L1.
// RUN: npuflow-opt %s --npuflow-schedule=device=toy -o - | filecheck %s

// What is between two kernels has one slot, as has the row that all blocks need; what comes and goes has two.
// CHECK-DAG:   contents = memref<2x24xf32, 2>, depth = 1 : i64
// CHECK-DAG:   contents = memref<24xf32, 2>, depth = 1 : i64
// CHECK:       "npu.compute"{{.*}}effects = ["r", "rw"]{{.*}}kind = "reduction"
// CHECK:       "npu.compute"{{.*}}effects = ["r", "r", "rw", "w"]{{.*}}kind = "reduction"
// CHECK:       "npu.compute"{{.*}}effects = ["r", "r", "r", "w"]{{.*}}kind = "elementwise"

#id = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#col = affine_map<(r, c) -> (c)>
func.func @softmaxish(%x: memref<37x24xf32>, %g: memref<24xf32>) -> memref<37x24xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c37 = arith.constant 37 : index
  %zf = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %out = memref.alloc() : memref<37x24xf32>
  scf.for %b = %c0 to %c37 step %c8 {
    %cut = affine.min affine_map<(b) -> (8, 37 - b)>(%b)
    %l2 = memref.alloc() : memref<8x24xf32, 1>
    linalg.fill ins(%zf : f32) outs(%l2 : memref<8x24xf32, 1>)
    %src = memref.subview %x[%b, 0] [%cut, 24] [1, 1] : memref<37x24xf32> to memref<?x24xf32, strided<[24, 1], offset: ?>>
    %dst = memref.subview %l2[0, 0] [%cut, 24] [1, 1] : memref<8x24xf32, 1> to memref<?x24xf32, strided<[24, 1]>, 1>
    memref.copy %src, %dst : memref<?x24xf32, strided<[24, 1], offset: ?>> to memref<?x24xf32, strided<[24, 1]>, 1>
    %g2 = memref.alloc() : memref<24xf32, 1>
    memref.copy %g, %g2 : memref<24xf32> to memref<24xf32, 1>
    %l2_out = memref.alloc() : memref<8x24xf32, 1>
    scf.forall (%y, %xx) in (2, 2) {
      %p = affine.apply affine_map<(y, x) -> ((x * 2 + y) * 2)>(%y, %xx)
      %tile = memref.subview %l2[%p, 0] [2, 24] [1, 1] : memref<8x24xf32, 1> to memref<2x24xf32, strided<[24, 1], offset: ?>, 1>
      %l1 = memref.alloc() : memref<2x24xf32, 2>
      memref.copy %tile, %l1 : memref<2x24xf32, strided<[24, 1], offset: ?>, 1> to memref<2x24xf32, 2>
      %g1 = memref.alloc() : memref<24xf32, 2>
      memref.copy %g2, %g1 : memref<24xf32, 1> to memref<24xf32, 2>
      %max = memref.alloc() : memref<2xf32, 2>
      linalg.fill ins(%low : f32) outs(%max : memref<2xf32, 2>)
      linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%l1 : memref<2x24xf32, 2>) outs(%max : memref<2xf32, 2>) {
      ^bb0(%a: f32, %s: f32):
        %m = arith.maximumf %a, %s : f32
        linalg.yield %m : f32
      }
      %sum = memref.alloc() : memref<2xf32, 2>
      %e = memref.alloc() : memref<2x24xf32, 2>
      linalg.fill ins(%zf : f32) outs(%sum : memref<2xf32, 2>)
      linalg.generic {indexing_maps = [#id, #row, #id, #row], iterator_types = ["parallel", "reduction"]} ins(%l1, %max : memref<2x24xf32, 2>, memref<2xf32, 2>) outs(%e, %sum : memref<2x24xf32, 2>, memref<2xf32, 2>) {
      ^bb0(%a: f32, %m: f32, %o: f32, %s: f32):
        %d = arith.subf %a, %m : f32
        %ex = arith.mulf %d, %d : f32
        %t = arith.addf %s, %ex : f32
        linalg.yield %ex, %t : f32, f32
      }
      %l1_out = memref.alloc() : memref<2x24xf32, 2>
      linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %sum, %g1 : memref<2x24xf32, 2>, memref<2xf32, 2>, memref<24xf32, 2>) outs(%l1_out : memref<2x24xf32, 2>)
        attrs = {npu.strategy = #npu.strategy<{depth_l1 = 2, depth_l2 = 2, depth_result = 2}>} {
      ^bb0(%a: f32, %s: f32, %gg: f32, %o: f32):
        %q = arith.divf %a, %s : f32
        %w = arith.mulf %q, %gg : f32
        linalg.yield %w : f32
      }
      %place = memref.subview %l2_out[%p, 0] [2, 24] [1, 1] : memref<8x24xf32, 1> to memref<2x24xf32, strided<[24, 1], offset: ?>, 1>
      memref.copy %l1_out, %place : memref<2x24xf32, 2> to memref<2x24xf32, strided<[24, 1], offset: ?>, 1>
    } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
    %valid = memref.subview %l2_out[0, 0] [%cut, 24] [1, 1] : memref<8x24xf32, 1> to memref<?x24xf32, strided<[24, 1]>, 1>
    %res = memref.subview %out[%b, 0] [%cut, 24] [1, 1] : memref<37x24xf32> to memref<?x24xf32, strided<[24, 1], offset: ?>>
    memref.copy %valid, %res : memref<?x24xf32, strided<[24, 1]>, 1> to memref<?x24xf32, strided<[24, 1], offset: ?>>
  }
  return %out : memref<37x24xf32>
}
