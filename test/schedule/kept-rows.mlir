// A core keeps the last two numbers of a step for the next one. What writes a part of a buffer leaves the rest as it was,
// so it counts as reading the buffer: nothing may come between, and what was written before is not lost.
// RUN: npuflow-opt %s --npuflow-schedule | filecheck %s

// CHECK:      func.func @core(
// CHECK:      "npu.compute"{{.*}}effects = ["w"]{{.*}}kind = "fill"
// CHECK:      scf.for
// CHECK:        "npu.compute"{{.*}}effects = ["r", "rw"]{{.*}}kind = "elementwise"
// CHECK:        "npu.compute"{{.*}}effects = ["r", "w"]{{.*}}kind = "window"
// CHECK:        "npu.compute"{{.*}}effects = ["rw"]{{.*}}kind = "elementwise"
#same = affine_map<(d0) -> (d0)>
#next = affine_map<(d0) -> (d0 + 2)>
module attributes {npu.device = #npu.device<"toy", {}>} {
  func.func @differences(%x: memref<64xi32>) -> memref<64xi32> {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c16 = arith.constant 16 : index
    %x2 = memref.alloc() : memref<64xi32, 1>
    memref.copy %x, %x2 : memref<64xi32> to memref<64xi32, 1>
    %y2 = memref.alloc() : memref<64xi32, 1>
    scf.forall (%row, %column) in (1, 1) {
      %line = memref.alloc() : memref<18xi32, 2>
      linalg.fill ins(%zero : i32) outs(%line : memref<18xi32, 2>)
      %new = memref.subview %line[2] [16] [1] : memref<18xi32, 2> to memref<16xi32, strided<[1], offset: 2>, 2>
      %before = memref.subview %line[0] [16] [1] : memref<18xi32, 2> to memref<16xi32, strided<[1]>, 2>
      %first = memref.subview %line[0] [2] [1] : memref<18xi32, 2> to memref<2xi32, strided<[1]>, 2>
      %last = memref.subview %line[16] [2] [1] : memref<18xi32, 2> to memref<2xi32, strided<[1], offset: 16>, 2>
      scf.for %t = %c0 to %c64 step %c16 {
        %part = memref.subview %x2[%t] [16] [1] : memref<64xi32, 1> to memref<16xi32, strided<[1], offset: ?>, 1>
        %x1 = memref.alloc() : memref<16xi32, 2>
        memref.copy %part, %x1 : memref<16xi32, strided<[1], offset: ?>, 1> to memref<16xi32, 2>
        linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
            ins(%x1 : memref<16xi32, 2>) outs(%new : memref<16xi32, strided<[1], offset: 2>, 2>) {
        ^bb0(%a: i32, %o: i32):
          %twice = arith.addi %a, %a : i32
          linalg.yield %twice : i32
        }
        %y1 = memref.alloc() : memref<16xi32, 2>
        linalg.generic {indexing_maps = [#same, #next, #same], iterator_types = ["parallel"]}
            ins(%before, %line : memref<16xi32, strided<[1]>, 2>, memref<18xi32, 2>) outs(%y1 : memref<16xi32, 2>) {
        ^bb0(%a: i32, %b: i32, %o: i32):
          %difference = arith.subi %b, %a : i32
          linalg.yield %difference : i32
        }
        %target = memref.subview %y2[%t] [16] [1] : memref<64xi32, 1> to memref<16xi32, strided<[1], offset: ?>, 1>
        memref.copy %y1, %target : memref<16xi32, 2> to memref<16xi32, strided<[1], offset: ?>, 1>
        linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
            ins(%last : memref<2xi32, strided<[1], offset: 16>, 2>) outs(%first : memref<2xi32, strided<[1]>, 2>) {
        ^bb0(%a: i32, %o: i32):
          linalg.yield %a : i32
        }
      }
    } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
    %y = memref.alloc() : memref<64xi32>
    memref.copy %y2, %y : memref<64xi32, 1> to memref<64xi32>
    return %y : memref<64xi32>
  }
}
