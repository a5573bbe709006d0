// Buffers that fit pass unchanged: those of loops that follow each other never live at the same time.
// RUN: npuflow-opt %s --npuflow-check-memory=device=toy --mlir-print-ir-after-change 2>&1 | filecheck %s

// CHECK-NOT: IR Dump
// CHECK-NOT: error
// CHECK:     func.func @in_turn

// L1 has 32768 bytes: 24576 in each loop, 32768 with the one around both.
func.func @in_turn(%a: memref<2048xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %around = memref.alloc() : memref<2048xi32, 2>
  scf.for %i = %c0 to %n step %c1 {
    %first = memref.alloc() : memref<6144xi32, 2>
    linalg.fill ins(%zero : i32) outs(%first : memref<6144xi32, 2>)
  }
  scf.for %i = %c0 to %n step %c1 {
    %second = memref.alloc() : memref<24576xi8, 2>
    %byte = arith.constant 0 : i8
    linalg.fill ins(%byte : i8) outs(%second : memref<24576xi8, 2>)
  }
  memref.copy %around, %a : memref<2048xi32, 2> to memref<2048xi32>
  return
}

// A buffer that isn't used any more makes room, also when it was used through a view; DRAM isn't counted.
func.func @last_use(%n: index) {
  %zero = arith.constant 0 : i32
  %large = memref.alloc() : memref<1048576xi32>
  %first = memref.alloc() : memref<8192xi32, 2>
  %view = memref.subview %first[%n] [16] [1] : memref<8192xi32, 2> to memref<16xi32, strided<[1], offset: ?>, 2>
  linalg.fill ins(%zero : i32) outs(%view : memref<16xi32, strided<[1], offset: ?>, 2>)
  %second = memref.alloc() : memref<8192xi32, 2>
  linalg.fill ins(%zero : i32) outs(%second : memref<8192xi32, 2>)
  return
}

// Two columns have 524288 bytes of L2. Zeros around 512 rows of 1000 bytes take no room.
func.func @padded(%a: memref<512x1000xi8>) {
  %zero = arith.constant 0 : i8
  %l2 = memref.alloc() : memref<514x1024xi8, 1>
  linalg.fill ins(%zero : i8) outs(%l2 : memref<514x1024xi8, 1>)
  %part = memref.subview %l2[1, 0] [512, 1000] [1, 1] : memref<514x1024xi8, 1> to memref<512x1000xi8, strided<[1024, 1], offset: 1024>, 1>
  memref.copy %a, %part : memref<512x1000xi8> to memref<512x1000xi8, strided<[1024, 1], offset: 1024>, 1>
  return
}
