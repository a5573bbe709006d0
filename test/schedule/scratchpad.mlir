// A matmul and a relu behind it by hand, for a machine whose matrix engine, vector engine and two DMA ports share one
// scratchpad: C = max(A B, 0), A of 16x64, B of 64x32, two blocks of 16 columns, four steps of 16 of K each.
// test_scratchpad.py numbers, times and executes it, and breaks it.
// RUN: npuflow-opt %s --npuflow-check-schedule --npuflow-check-handover | filecheck %s

// CHECK: module @matmul
// CHECK: func.func @vector(

#only = affine_map<() -> ()>
#here = affine_map<(n, k) -> ()>
#step = affine_map<(n, k) -> (n * 4 + k)>       // of all steps, the how many-th: its slot is that modulo the depth
#block = affine_map<(n, k) -> (n)>
#zero = affine_map<(n, k) -> (0)>
#a_tile = affine_map<(n, k) -> (k * 16)>             // the same again for each block
#b_tile = affine_map<(n, k) -> (k * 512 + n * 16)>
#c_tile = affine_map<(n, k) -> (n * 16)>

#lhs = affine_map<(m, n, k, m0, n0, k0) -> (m, k, m0, k0)>
#rhs = affine_map<(m, n, k, m0, n0, k0) -> (k, n, k0, n0)>
#acc = affine_map<(m, n, k, m0, n0, k0) -> (m, n, m0, n0)>

module @matmul attributes {npu.device = #npu.device<"toy-scratchpad", {}>, npu.extents = {}} {
  "npu.buffer"() {sym_name = "a", role = "argument", level = 3 : i64, contents = memref<16x64xi8>, depth = 1 : i64, address = affine_map<() -> (0)>, span = []} : () -> ()
  "npu.buffer"() {sym_name = "b", role = "argument", level = 3 : i64, contents = memref<64x32xi8>, depth = 1 : i64, address = affine_map<() -> (0)>, span = []} : () -> ()
  "npu.buffer"() {sym_name = "c", role = "result", level = 3 : i64, contents = memref<16x32xi32>, depth = 1 : i64, address = affine_map<() -> (0)>, span = []} : () -> ()
  "npu.buffer"() {sym_name = "a1", role = "internal", level = 1 : i64, contents = memref<4x2x4x8xi8, 2>, depth = 2 : i64, address = affine_map<() -> (0)>, span = []} : () -> ()
  "npu.buffer"() {sym_name = "b1", role = "internal", level = 1 : i64, contents = memref<2x2x8x8xi8, 2>, depth = 2 : i64, address = affine_map<() -> (512)>, span = []} : () -> ()
  "npu.buffer"() {sym_name = "sum", role = "internal", level = 1 : i64, contents = memref<4x2x4x8xi32, 2>, depth = 2 : i64, address = affine_map<() -> (1024)>, span = []} : () -> ()
  "npu.buffer"() {sym_name = "r1", role = "internal", level = 1 : i64, contents = memref<4x2x4x8xi32, 2>, depth = 1 : i64, address = affine_map<() -> (3072)>, span = []} : () -> ()

  "npu.semaphore"() {sym_name = "a1_full", cause = "data", initial = 0 : i64, maximum = 2 : i64, span = []} : () -> ()
  "npu.semaphore"() {sym_name = "a1_empty", cause = "space", initial = 2 : i64, maximum = 2 : i64, span = []} : () -> ()
  "npu.semaphore"() {sym_name = "b1_full", cause = "data", initial = 0 : i64, maximum = 2 : i64, span = []} : () -> ()
  "npu.semaphore"() {sym_name = "b1_empty", cause = "space", initial = 2 : i64, maximum = 2 : i64, span = []} : () -> ()
  "npu.semaphore"() {sym_name = "sum_full", cause = "data", initial = 0 : i64, maximum = 2 : i64, span = []} : () -> ()
  "npu.semaphore"() {sym_name = "sum_empty", cause = "space", initial = 2 : i64, maximum = 2 : i64, span = []} : () -> ()
  "npu.semaphore"() {sym_name = "r1_full", cause = "data", initial = 0 : i64, maximum = 1 : i64, span = []} : () -> ()
  "npu.semaphore"() {sym_name = "r1_empty", cause = "space", initial = 1 : i64, maximum = 1 : i64, span = []} : () -> ()

  "npu.stream"() {sym_name = "a_in", sender = @port_out_a, receiver = @scratchpad_in_a, span = [], multicast = []} : () -> ()
  "npu.stream"() {sym_name = "b_in", sender = @port_out_b, receiver = @scratchpad_in_b, span = [], multicast = []} : () -> ()
  "npu.stream"() {sym_name = "c_out", sender = @scratchpad_out, receiver = @port_in, span = [], multicast = []} : () -> ()

  func.func private @zero(%c: memref<4x2x4x8xi32, 2>) attributes {npu.class = "matrix"} {
    %zero = arith.constant 0 : i32
    linalg.fill ins(%zero : i32) outs(%c : memref<4x2x4x8xi32, 2>)
    return
  }
  func.func private @multiply(%a: memref<4x2x4x8xi8, 2>, %b: memref<2x2x8x8xi8, 2>, %c: memref<4x2x4x8xi32, 2>) attributes {npu.class = "matrix"} {
    linalg.generic {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<4x2x4x8xi8, 2>, memref<2x2x8x8xi8, 2>) outs(%c : memref<4x2x4x8xi32, 2>) {
    ^bb0(%x: i8, %y: i8, %sum: i32):
      %wide_x = arith.extsi %x : i8 to i32
      %wide_y = arith.extsi %y : i8 to i32
      %product = arith.muli %wide_x, %wide_y : i32
      %next = arith.addi %sum, %product : i32
      linalg.yield %next : i32
    }
    return
  }
  func.func private @relu(%x: memref<4x2x4x8xi32, 2>, %y: memref<4x2x4x8xi32, 2>) attributes {npu.class = "vector"} {
    linalg.map ins(%x : memref<4x2x4x8xi32, 2>) outs(%y : memref<4x2x4x8xi32, 2>)
      (%in: i32, %init: i32) {
        %c0 = arith.constant 0 : i32
        %max = arith.maxsi %in, %c0 : i32
        linalg.yield %max : i32
      }
    return
  }

  // Instructions' operands are packed as they leave DRAM: 4x8 of A and 8x8 of B, one after the other.
  func.func @port_out_a() attributes {npu.engine = #npu.engine<{stage = "port_out", lane = 0 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      scf.for %k = %c0 to %c4 step %c1 {
        "npu.send"(%n, %k) {stream = @a_in, stream_at = #here, buffer = @a, buffer_at = #here, slot = #zero, offset = #a_tile, sizes = [4, 2, 4, 8], strides = [256, 8, 64, 1], limits = [], zeros = false} : (index, index) -> ()
      }
    }
    return
  }
  func.func @scratchpad_in_a() attributes {npu.engine = #npu.engine<{stage = "scratchpad_in", lane = 0 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      scf.for %k = %c0 to %c4 step %c1 {
        "npu.acquire"() {semaphore = @a1_empty, at = #only} : () -> ()
        "npu.receive"(%n, %k) {stream = @a_in, stream_at = #here, buffer = @a1, buffer_at = #here, slot = #step, offset = #zero, sizes = [256], strides = [1], limits = [], zeros = false} : (index, index) -> ()
        "npu.release"() {semaphore = @a1_full, at = #only} : () -> ()
      }
    }
    return
  }
  func.func @port_out_b() attributes {npu.engine = #npu.engine<{stage = "port_out", lane = 1 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      scf.for %k = %c0 to %c4 step %c1 {
        "npu.send"(%n, %k) {stream = @b_in, stream_at = #here, buffer = @b, buffer_at = #here, slot = #zero, offset = #b_tile, sizes = [2, 2, 8, 8], strides = [256, 8, 32, 1], limits = [], zeros = false} : (index, index) -> ()
      }
    }
    return
  }
  func.func @scratchpad_in_b() attributes {npu.engine = #npu.engine<{stage = "scratchpad_in", lane = 1 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      scf.for %k = %c0 to %c4 step %c1 {
        "npu.acquire"() {semaphore = @b1_empty, at = #only} : () -> ()
        "npu.receive"(%n, %k) {stream = @b_in, stream_at = #here, buffer = @b1, buffer_at = #here, slot = #step, offset = #zero, sizes = [256], strides = [1], limits = [], zeros = false} : (index, index) -> ()
        "npu.release"() {semaphore = @b1_full, at = #only} : () -> ()
      }
    }
    return
  }

  // The matrix engine fills and sums up, and hands sums to the vector engine.
  func.func @matrix() attributes {npu.engine = #npu.engine<{stage = "matrix", lane = 0 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      "npu.acquire"() {semaphore = @sum_empty, at = #only} : () -> ()
      "npu.compute"(%n, %n) {kernel = @zero, kind = "fill", cycles = 10 : i64, buffers = [@sum], at = #here, slots = [#block], effects = ["w"]} : (index, index) -> ()
      scf.for %k = %c0 to %c4 step %c1 {
        "npu.acquire"() {semaphore = @a1_full, at = #only} : () -> ()
        "npu.acquire"() {semaphore = @b1_full, at = #only} : () -> ()
        "npu.compute"(%n, %k) {kernel = @multiply, kind = "matmul", cycles = 100 : i64, buffers = [@a1, @b1, @sum], at = #here, slots = [#step, #step, #block], effects = ["r", "r", "rw"]} : (index, index) -> ()
        "npu.release"() {semaphore = @a1_empty, at = #only} : () -> ()
        "npu.release"() {semaphore = @b1_empty, at = #only} : () -> ()
      }
      "npu.release"() {semaphore = @sum_full, at = #only} : () -> ()
    }
    return
  }
  func.func @vector() attributes {npu.engine = #npu.engine<{stage = "vector", lane = 0 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      "npu.acquire"() {semaphore = @sum_full, at = #only} : () -> ()
      "npu.acquire"() {semaphore = @r1_empty, at = #only} : () -> ()
      "npu.compute"(%n, %n) {kernel = @relu, kind = "elementwise", cycles = 50 : i64, buffers = [@sum, @r1], at = #here, slots = [#block, #block], effects = ["r", "w"]} : (index, index) -> ()
      "npu.release"() {semaphore = @sum_empty, at = #only} : () -> ()
      "npu.release"() {semaphore = @r1_full, at = #only} : () -> ()
    }
    return
  }

  // Unpacked on the way back to DRAM.
  func.func @scratchpad_out() attributes {npu.engine = #npu.engine<{stage = "scratchpad_out", lane = 0 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      "npu.acquire"() {semaphore = @r1_full, at = #only} : () -> ()
      "npu.send"(%n, %n) {stream = @c_out, stream_at = #here, buffer = @r1, buffer_at = #here, slot = #block, offset = #zero, sizes = [256], strides = [1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"() {semaphore = @r1_empty, at = #only} : () -> ()
    }
    return
  }
  func.func @port_in() attributes {npu.engine = #npu.engine<{stage = "port_in", lane = 0 : i64, span = []}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %n = %c0 to %c2 step %c1 {
      "npu.receive"(%n, %n) {stream = @c_out, stream_at = #here, buffer = @c, buffer_at = #here, slot = #zero, offset = #c_tile, sizes = [4, 2, 4, 8], strides = [128, 8, 32, 1], limits = [], zeros = false} : (index, index) -> ()
    }
    return
  }
}
