// A schedule by hand: two cores of the toy device multiply a matrix A of 16x64 by a matrix B of 64x32, in four steps of K.
//   npuflow run examples/two_cores.mlir --reference=examples/two_cores_reference.mlir
//
// Both cores need the same tile of A, which is sent to both at once; each has a tile of B and of C of its own:
//
//              DRAM      memory tiles         cores
//   A 16x64    a   ---->  a2 (tile 0)  --+-->  a1 of core 0,  a1 of core 1
//   B 64x32    b   ---->  b2 (tile c)  ----->  b1 of core c        for c = 0, 1
//   C 16x32    c   <----  c2 (tile c)  <-----  c1 of core c
//
// Every engine runs a program of its own. Engines agree by semaphores only: who fills a buffer acquires an empty slot and
// releases a full one, who drains it the other way round. With two slots, one is filled while the other is drained.
//
// How long it takes, on paper. A step of K brings three tiles of 256 bytes. DRAM gives 8 bytes a cycle, so they take 96
// cycles; a hop from a memory tile to a core takes 64, at 4 bytes a cycle; a core works 128 cycles on a step (4096
// multiply-accumulates at 64 a cycle, and 2 * 1024 bytes of sums in and out of registers at 32 a cycle), so cores are
// the slowest: the first step's way in (96 + 64), four steps (4 * 128), and C's way out, 1024 bytes at 4 a cycle, twice
// (2 * 256), are 1184 cycles. No control processor is described: the channels to DRAM begin by themselves.
// `npuflow-opt --npuflow-stream-k --npuflow-schedule` makes schedules that have it.

// Places and counters, as the ops below use them. A step that belongs to a place `p` and a step `k` of K:
#p = affine_map<(p, k) -> (p)>
#k = affine_map<(p, k) -> (k)>
#first = affine_map<(p, k) -> (0)>
#only = affine_map<(p, k) -> ()>
#a_tile = affine_map<(p, k) -> (k * 16)>            // 16 columns of A further on
#b_tile = affine_map<(p, k) -> (k * 512 + p * 16)>  // 16 rows of B further down, 16 columns for each core
// One that belongs to a core, at row `r` and column `c`:
#core = affine_map<(r, c, k) -> (r, c)>
#core_row = affine_map<(r, c, k) -> (r)>
#core_column = affine_map<(r, c, k) -> (c)>
#core_k = affine_map<(r, c, k) -> (k)>
#core_first = affine_map<(r, c, k) -> (0)>
// And those behind the loop over K:
#once_core = affine_map<(r, c) -> (r, c)>
#once_column = affine_map<(r, c) -> (c)>
#once_first = affine_map<(r, c) -> (0)>
#c_core = affine_map<(c) -> (0, c)>
#c_column = affine_map<(c) -> (c)>
#c_tile = affine_map<(c) -> (c * 16)>
#c_first = affine_map<(c) -> (0)>
#c_only = affine_map<(c) -> ()>
#fixed = affine_map<() -> (0)>

// How a kernel walks through packed tiles: rows and columns of instructions of 4x8x8, then within one of them.
#lhs = affine_map<(m, n, k, m0, n0, k0) -> (m, k, m0, k0)>
#rhs = affine_map<(m, n, k, m0, n0, k0) -> (k, n, k0, n0)>
#acc = affine_map<(m, n, k, m0, n0, k0) -> (m, n, m0, n0)>

// How many there are of each: one row of two columns.
module @matmul attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 2 : i64}} {
  // Buffers. In DRAM: whole tensors. On chip: `depth` slots from an address on, once for every place that `span` names.
  "npu.buffer"() {sym_name = "a", role = "argument", level = 3 : i64, contents = memref<16x64xi8>, depth = 1 : i64, address = #fixed, span = []} : () -> ()
  "npu.buffer"() {sym_name = "b", role = "argument", level = 3 : i64, contents = memref<64x32xi8>, depth = 1 : i64, address = #fixed, span = []} : () -> ()
  "npu.buffer"() {sym_name = "c", role = "result", level = 3 : i64, contents = memref<16x32xi32>, depth = 1 : i64, address = #fixed, span = []} : () -> ()
  "npu.buffer"() {sym_name = "c2", role = "internal", level = 2 : i64, contents = memref<16x16xi32, 1>, depth = 1 : i64, address = affine_map<(p) -> (0)>, span = ["column"]} : () -> ()
  "npu.buffer"() {sym_name = "a2", role = "internal", level = 2 : i64, contents = memref<16x16xi8, 1>, depth = 2 : i64, address = affine_map<(p) -> (1024)>, span = ["row"]} : () -> ()
  "npu.buffer"() {sym_name = "b2", role = "internal", level = 2 : i64, contents = memref<16x16xi8, 1>, depth = 2 : i64, address = affine_map<(p) -> (1536)>, span = ["column"]} : () -> ()
  "npu.buffer"() {sym_name = "c1", role = "internal", level = 1 : i64, contents = memref<4x2x4x8xi32, 2>, depth = 1 : i64, address = affine_map<(r, c) -> (0)>, span = ["row", "column"]} : () -> ()
  "npu.buffer"() {sym_name = "a1", role = "internal", level = 1 : i64, contents = memref<4x2x4x8xi8, 2>, depth = 2 : i64, address = affine_map<(r, c) -> (1024)>, span = ["row", "column"]} : () -> ()
  "npu.buffer"() {sym_name = "b1", role = "internal", level = 1 : i64, contents = memref<2x2x8x8xi8, 2>, depth = 2 : i64, address = affine_map<(r, c) -> (1536)>, span = ["row", "column"]} : () -> ()

  // Semaphores: full slots (from the start, none) and empty ones (all).
  "npu.semaphore"() {sym_name = "a2_full", cause = "data", initial = 0 : i64, maximum = 2 : i64, span = ["row"]} : () -> ()
  "npu.semaphore"() {sym_name = "a2_empty", cause = "space", initial = 2 : i64, maximum = 2 : i64, span = ["row"]} : () -> ()
  "npu.semaphore"() {sym_name = "b2_full", cause = "data", initial = 0 : i64, maximum = 2 : i64, span = ["column"]} : () -> ()
  "npu.semaphore"() {sym_name = "b2_empty", cause = "space", initial = 2 : i64, maximum = 2 : i64, span = ["column"]} : () -> ()
  "npu.semaphore"() {sym_name = "a1_full", cause = "data", initial = 0 : i64, maximum = 2 : i64, span = ["row", "column"]} : () -> ()
  "npu.semaphore"() {sym_name = "a1_empty", cause = "space", initial = 2 : i64, maximum = 2 : i64, span = ["row", "column"]} : () -> ()
  "npu.semaphore"() {sym_name = "b1_full", cause = "data", initial = 0 : i64, maximum = 2 : i64, span = ["row", "column"]} : () -> ()
  "npu.semaphore"() {sym_name = "b1_empty", cause = "space", initial = 2 : i64, maximum = 2 : i64, span = ["row", "column"]} : () -> ()
  "npu.semaphore"() {sym_name = "c1_full", cause = "data", initial = 0 : i64, maximum = 1 : i64, span = ["row", "column"]} : () -> ()
  "npu.semaphore"() {sym_name = "c1_empty", cause = "space", initial = 1 : i64, maximum = 1 : i64, span = ["row", "column"]} : () -> ()
  "npu.semaphore"() {sym_name = "c2_full", cause = "data", initial = 0 : i64, maximum = 1 : i64, span = ["row", "column"]} : () -> ()
  "npu.semaphore"() {sym_name = "c2_empty", cause = "space", initial = 1 : i64, maximum = 1 : i64, span = ["row", "column"]} : () -> ()

  // Streams: wires from one engine to another, or to all that differ in the coordinates of `multicast` only.
  "npu.stream"() {sym_name = "a_to_a2", sender = @shim_out_a, receiver = @memory_in_a, span = ["row"], multicast = []} : () -> ()
  "npu.stream"() {sym_name = "b_to_b2", sender = @shim_out_b, receiver = @memory_in_b, span = ["column"], multicast = []} : () -> ()
  "npu.stream"() {sym_name = "a2_to_a1", sender = @memory_out_a, receiver = @core_in_a, span = ["row"], multicast = ["column"]} : () -> ()
  "npu.stream"() {sym_name = "b2_to_b1", sender = @memory_out_b, receiver = @core_in_b, span = ["column"], multicast = ["row"]} : () -> ()
  "npu.stream"() {sym_name = "c1_to_c2", sender = @core_out, receiver = @result_in, span = ["row", "column"], multicast = []} : () -> ()
  "npu.stream"() {sym_name = "c2_to_c", sender = @result_out, receiver = @shim_in, span = ["column"], multicast = []} : () -> ()

  // Kernels: what a core computes on its buffers in L1.
  func.func private @zero(%c: memref<4x2x4x8xi32, 2>) {
    %zero = arith.constant 0 : i32
    linalg.fill ins(%zero : i32) outs(%c : memref<4x2x4x8xi32, 2>)
    return
  }
  func.func private @multiply(%a: memref<4x2x4x8xi8, 2>, %b: memref<2x2x8x8xi8, 2>, %c: memref<4x2x4x8xi32, 2>) {
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

  // A from DRAM to a memory tile: 16 rows of 16 bytes, which lie 64 apart in A and next to each other in the tile.
  func.func @shim_out_a(%row: index) attributes {npu.engine = #npu.engine<{stage = "shim_out", lane = 0 : i64, span = ["row"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.send"(%row, %k) {stream = @a_to_a2, stream_at = #p, buffer = @a, buffer_at = #only, slot = #first, offset = #a_tile, sizes = [16, 16], strides = [64, 1], limits = [], zeros = false} : (index, index) -> ()
    }
    return
  }
  func.func @memory_in_a(%row: index) attributes {npu.engine = #npu.engine<{stage = "memory_in", lane = 0 : i64, span = ["row"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.acquire"(%row, %k) {semaphore = @a2_empty, at = #p} : (index, index) -> ()
      "npu.receive"(%row, %k) {stream = @a_to_a2, stream_at = #p, buffer = @a2, buffer_at = #p, slot = #k, offset = #first, sizes = [16, 16], strides = [16, 1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"(%row, %k) {semaphore = @a2_full, at = #p} : (index, index) -> ()
    }
    return
  }

  // From there to both cores, packed on the way: instructions of 4x8 one after the other, each with its rows together.
  func.func @memory_out_a(%row: index) attributes {npu.engine = #npu.engine<{stage = "memory_out", lane = 0 : i64, span = ["row"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.acquire"(%row, %k) {semaphore = @a2_full, at = #p} : (index, index) -> ()
      "npu.send"(%row, %k) {stream = @a2_to_a1, stream_at = #p, buffer = @a2, buffer_at = #p, slot = #k, offset = #first, sizes = [4, 2, 4, 8], strides = [64, 8, 16, 1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"(%row, %k) {semaphore = @a2_empty, at = #p} : (index, index) -> ()
    }
    return
  }
  func.func @core_in_a(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core_in", lane = 0 : i64, span = ["row", "column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.acquire"(%row, %column, %k) {semaphore = @a1_empty, at = #core} : (index, index, index) -> ()
      "npu.receive"(%row, %column, %k) {stream = @a2_to_a1, stream_at = #core_row, buffer = @a1, buffer_at = #core, slot = #core_k, offset = #core_first, sizes = [256], strides = [1], limits = [], zeros = false} : (index, index, index) -> ()
      "npu.release"(%row, %column, %k) {semaphore = @a1_full, at = #core} : (index, index, index) -> ()
    }
    return
  }

  // The same for B, whose way belongs to a column, in the other lane of a core.
  func.func @shim_out_b(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_out", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.send"(%column, %k) {stream = @b_to_b2, stream_at = #p, buffer = @b, buffer_at = #only, slot = #first, offset = #b_tile, sizes = [16, 16], strides = [32, 1], limits = [], zeros = false} : (index, index) -> ()
    }
    return
  }
  func.func @memory_in_b(%column: index) attributes {npu.engine = #npu.engine<{stage = "memory_in", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.acquire"(%column, %k) {semaphore = @b2_empty, at = #p} : (index, index) -> ()
      "npu.receive"(%column, %k) {stream = @b_to_b2, stream_at = #p, buffer = @b2, buffer_at = #p, slot = #k, offset = #first, sizes = [16, 16], strides = [16, 1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"(%column, %k) {semaphore = @b2_full, at = #p} : (index, index) -> ()
    }
    return
  }
  func.func @memory_out_b(%column: index) attributes {npu.engine = #npu.engine<{stage = "memory_out", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.acquire"(%column, %k) {semaphore = @b2_full, at = #p} : (index, index) -> ()
      "npu.send"(%column, %k) {stream = @b2_to_b1, stream_at = #p, buffer = @b2, buffer_at = #p, slot = #k, offset = #first, sizes = [2, 2, 8, 8], strides = [128, 8, 16, 1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"(%column, %k) {semaphore = @b2_empty, at = #p} : (index, index) -> ()
    }
    return
  }
  func.func @core_in_b(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core_in", lane = 1 : i64, span = ["row", "column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.acquire"(%row, %column, %k) {semaphore = @b1_empty, at = #core} : (index, index, index) -> ()
      "npu.receive"(%row, %column, %k) {stream = @b2_to_b1, stream_at = #core_column, buffer = @b1, buffer_at = #core, slot = #core_k, offset = #core_first, sizes = [256], strides = [1], limits = [], zeros = false} : (index, index, index) -> ()
      "npu.release"(%row, %column, %k) {semaphore = @b1_full, at = #core} : (index, index, index) -> ()
    }
    return
  }

  // The cores: C stays in L1 through all of K. While they clear it, the first tiles are under way.
  func.func @core(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    "npu.acquire"(%row, %column) {semaphore = @c1_empty, at = #once_core} : (index, index) -> ()
    "npu.compute"(%row, %column) {kernel = @zero, kind = "fill", cycles = 32 : i64, buffers = [@c1], at = #once_core, slots = [#once_first], effects = ["w"]} : (index, index) -> ()
    scf.for %k = %c0 to %c4 step %c1 {
      "npu.acquire"(%row, %column, %k) {semaphore = @a1_full, at = #core} : (index, index, index) -> ()
      "npu.acquire"(%row, %column, %k) {semaphore = @b1_full, at = #core} : (index, index, index) -> ()
      "npu.compute"(%row, %column, %k) {kernel = @multiply, kind = "matmul", cycles = 128 : i64, buffers = [@a1, @b1, @c1], at = #core, slots = [#core_k, #core_k, #core_first], effects = ["r", "r", "rw"]} : (index, index, index) -> ()
      "npu.release"(%row, %column, %k) {semaphore = @a1_empty, at = #core} : (index, index, index) -> ()
      "npu.release"(%row, %column, %k) {semaphore = @b1_empty, at = #core} : (index, index, index) -> ()
    }
    "npu.release"(%row, %column) {semaphore = @c1_full, at = #once_core} : (index, index) -> ()
    return
  }

  // C on its way back: unpacked into rows in the memory tile, then to its columns in DRAM.
  func.func @core_out(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core_out", lane = 0 : i64, span = ["row", "column"]}>} {
    "npu.acquire"(%row, %column) {semaphore = @c1_full, at = #once_core} : (index, index) -> ()
    "npu.send"(%row, %column) {stream = @c1_to_c2, stream_at = #once_core, buffer = @c1, buffer_at = #once_core, slot = #once_first, offset = #once_first, sizes = [256], strides = [1], limits = [], zeros = false} : (index, index) -> ()
    "npu.release"(%row, %column) {semaphore = @c1_empty, at = #once_core} : (index, index) -> ()
    return
  }
  func.func @result_in(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "result_in", lane = 0 : i64, span = ["row", "column"]}>} {
    "npu.acquire"(%row, %column) {semaphore = @c2_empty, at = #once_core} : (index, index) -> ()
    "npu.receive"(%row, %column) {stream = @c1_to_c2, stream_at = #once_core, buffer = @c2, buffer_at = #once_column, slot = #once_first, offset = #once_first, sizes = [4, 2, 4, 8], strides = [64, 8, 16, 1], limits = [], zeros = false} : (index, index) -> ()
    "npu.release"(%row, %column) {semaphore = @c2_full, at = #once_core} : (index, index) -> ()
    return
  }
  func.func @result_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "result_out", lane = 0 : i64, span = ["column"]}>} {
    "npu.acquire"(%column) {semaphore = @c2_full, at = #c_core} : (index) -> ()
    "npu.send"(%column) {stream = @c2_to_c, stream_at = #c_column, buffer = @c2, buffer_at = #c_column, slot = #c_first, offset = #c_first, sizes = [16, 16], strides = [16, 1], limits = [], zeros = false} : (index) -> ()
    "npu.release"(%column) {semaphore = @c2_empty, at = #c_core} : (index) -> ()
    return
  }
  func.func @shim_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_in", lane = 0 : i64, span = ["column"]}>} {
    "npu.receive"(%column) {stream = @c2_to_c, stream_at = #c_column, buffer = @c, buffer_at = #c_only, slot = #c_first, offset = #c_tile, sizes = [16, 16], strides = [32, 1], limits = [], zeros = false} : (index) -> ()
    return
  }
}
