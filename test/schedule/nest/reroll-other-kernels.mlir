// A peeled step that computes something else than its loop, as a sum that begins with a difference, is no step of it.
// RUN: npuflow-opt %s --npuflow-project-engines=device=toy | filecheck %s

#id = affine_map<(i) -> (i)>

// CHECK: func.func private @kernel1
// CHECK: arith.subf
// CHECK: func.func private @kernel2
// CHECK: arith.addf

// CHECK: func.func @core
// CHECK: kernel = @kernel1
// CHECK: scf.for
// CHECK: kernel = @kernel2
func.func @f(%x: memref<32xf32>) -> memref<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %out = memref.alloc() : memref<8xf32>
  %l2o = memref.alloc() : memref<8xf32, 1>
  scf.forall (%y, %xx) in (1, 1) {
    %acc = memref.alloc() : memref<8xf32, 2>
    linalg.fill ins(%zero : f32) outs(%acc : memref<8xf32, 2>)
    %l2a = memref.alloc() : memref<8xf32, 1>
    %s0 = memref.subview %x[0] [8] [1] : memref<32xf32> to memref<8xf32, strided<[1]>>
    memref.copy %s0, %l2a : memref<8xf32, strided<[1]>> to memref<8xf32, 1>
    %l1a = memref.alloc() : memref<8xf32, 2>
    memref.copy %l2a, %l1a : memref<8xf32, 1> to memref<8xf32, 2>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%l1a : memref<8xf32, 2>) outs(%acc : memref<8xf32, 2>) {
    ^bb0(%a: f32, %o: f32):
      %r = arith.subf %o, %a : f32
      linalg.yield %r : f32
    }
    scf.for %k = %c8 to %c32 step %c8 {
      %l2b = memref.alloc() : memref<8xf32, 1>
      %s = memref.subview %x[%k] [8] [1] : memref<32xf32> to memref<8xf32, strided<[1], offset: ?>>
      memref.copy %s, %l2b : memref<8xf32, strided<[1], offset: ?>> to memref<8xf32, 1>
      %l1b = memref.alloc() : memref<8xf32, 2>
      memref.copy %l2b, %l1b : memref<8xf32, 1> to memref<8xf32, 2>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%l1b : memref<8xf32, 2>) outs(%acc : memref<8xf32, 2>) {
      ^bb0(%a: f32, %o: f32):
        %r = arith.addf %o, %a : f32
        linalg.yield %r : f32
      }
    }
    memref.copy %acc, %l2o : memref<8xf32, 2> to memref<8xf32, 1>
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  memref.copy %l2o, %out : memref<8xf32, 1> to memref<8xf32>
  return %out : memref<8xf32>
}
