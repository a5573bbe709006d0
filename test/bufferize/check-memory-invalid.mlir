// RUN: npuflow-opt %s --npuflow-check-memory=device=toy --verify-diagnostics --split-input-file

// L1 has 32768 bytes per core, L2 262144 in each of two columns; both levels are reported.
func.func @both_levels(%a: memref<8192xi32>) {
  // expected-error @below {{L1 of a core needs 36864 bytes, has 32768 (32768: memref<8192xi32, 2>, 4096: memref<1024xi32, 2>); hint: choose smaller tiles for L1}}
  %large = memref.alloc() : memref<8192xi32, 2>
  %small = memref.alloc() : memref<1024xi32, 2>
  // expected-error @below {{L2 of 2 columns needs 524292 bytes, has 524288 (524292: memref<131073xi32, 1>); hint: choose smaller tiles for L2}}
  %l2 = memref.alloc() : memref<131073xi32, 1>
  %view = memref.subview %small[0] [16] [1] : memref<1024xi32, 2> to memref<16xi32, strided<[1]>, 2>
  memref.copy %a, %large : memref<8192xi32> to memref<8192xi32, 2>
  memref.copy %view, %view : memref<16xi32, strided<[1]>, 2> to memref<16xi32, strided<[1]>, 2>
  return
}

// -----

// A buffer that is written through a view is alive until then.
func.func @view(%a: memref<16xi32>) {
  // expected-error @below {{L1 of a core needs 65536 bytes, has 32768 (32768: memref<8192xi32, 2>, 32768: memref<8192xi32, 2>)}}
  %first = memref.alloc() : memref<8192xi32, 2>
  %view = memref.subview %first[0] [16] [1] : memref<8192xi32, 2> to memref<16xi32, strided<[1]>, 2>
  %second = memref.alloc() : memref<8192xi32, 2>
  memref.copy %a, %view : memref<16xi32> to memref<16xi32, strided<[1]>, 2>
  return
}

// -----

// What a loop holds adds to what lives around it.
func.func @nested(%a: memref<4096xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{L1 of a core needs 36864 bytes, has 32768 (20480: memref<5120xi32, 2>, 16384: memref<4096xi32, 2>)}}
  %around = memref.alloc() : memref<5120xi32, 2>
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %n step %c1 {
    %inside = memref.alloc() : memref<4096xi32, 2>
    memref.copy %a, %inside : memref<4096xi32> to memref<4096xi32, 2>
  }
  linalg.fill ins(%zero : i32) outs(%around : memref<5120xi32, 2>)
  return
}

// -----

// Zeros take no room, what they surround does.
func.func @padded(%a: memref<512x1025xi8>) {
  %zero = arith.constant 0 : i8
  // expected-error @below {{L2 of 2 columns needs 524800 bytes, has 524288}}
  %l2 = memref.alloc() : memref<514x1027xi8, 1>
  linalg.fill ins(%zero : i8) outs(%l2 : memref<514x1027xi8, 1>)
  %part = memref.subview %l2[1, 1] [512, 1025] [1, 1] : memref<514x1027xi8, 1> to memref<512x1025xi8, strided<[1027, 1], offset: 1028>, 1>
  memref.copy %a, %part : memref<512x1025xi8> to memref<512x1025xi8, strided<[1027, 1], offset: 1028>, 1>
  return
}
