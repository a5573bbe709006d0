// RUN: npuflow-opt %s --split-input-file --verify-diagnostics --npuflow-check-handover

module @uneven attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {}} {
  // expected-error @+1 {{semaphore 'a' is acquired 1 times and released 0 times (acquired by 'control', released by nobody)}}
  "npu.semaphore"() {sym_name = "a", span = [], initial = 1 : i64, maximum = 1 : i64, cause = "data"} : () -> ()
  func.func @control() attributes {npu.engine = #npu.engine<{stage = "control", lane = 0 : i64, span = []}>} {
    "npu.acquire"() {semaphore = @a, at = affine_map<() -> ()>} : () -> ()
    return
  }
}

// -----

module @circle attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {}} {
  "npu.semaphore"() {sym_name = "a", span = [], initial = 0 : i64, maximum = 1 : i64, cause = "data"} : () -> ()
  "npu.semaphore"() {sym_name = "b", span = [], initial = 0 : i64, maximum = 1 : i64, cause = "data"} : () -> ()
  func.func @core(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>} {
    // expected-error @+1 {{a circle of 2: 'core' (row 0, column 0) waits at 'acquire a' for 1 of semaphore 'a' (has 0), which 'control' can still release; 'control' waits at 'acquire b'}}
    "npu.acquire"() {semaphore = @a, at = affine_map<() -> ()>} : () -> ()
    "npu.release"() {semaphore = @b, at = affine_map<() -> ()>} : () -> ()
    return
  }
  func.func @control() attributes {npu.engine = #npu.engine<{stage = "control", lane = 0 : i64, span = []}>} {
    "npu.acquire"() {semaphore = @b, at = affine_map<() -> ()>} : () -> ()
    "npu.release"() {semaphore = @a, at = affine_map<() -> ()>} : () -> ()
    return
  }
}

// -----

module @flood attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {}} {
  // expected-error @+1 {{semaphore 'a' can grow without a bound, above its maximum of 1; hint: let 'core' (row 0, column 0) wait for room}}
  "npu.semaphore"() {sym_name = "a", span = [], initial = 0 : i64, maximum = 1 : i64, cause = "data"} : () -> ()
  func.func @core(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>} {
    "npu.release"() {semaphore = @a, at = affine_map<() -> ()>} : () -> ()
    "npu.release"() {semaphore = @a, at = affine_map<() -> ()>} : () -> ()
    return
  }
  func.func @control() attributes {npu.engine = #npu.engine<{stage = "control", lane = 0 : i64, span = []}>} {
    "npu.acquire"() {semaphore = @a, at = affine_map<() -> ()>} : () -> ()
    "npu.acquire"() {semaphore = @a, at = affine_map<() -> ()>} : () -> ()
    return
  }
}

// -----

// Nobody waits for what comes in.
module @race attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 1 : i64}} {
  "npu.buffer"() {sym_name = "x", contents = memref<32xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "argument"} : () -> ()
  "npu.buffer"() {sym_name = "y", contents = memref<16xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "result"} : () -> ()
  "npu.buffer"() {sym_name = "l2", contents = memref<16xi32, 1>, level = 2 : i64, span = ["column"], depth = 1 : i64, address = affine_map<(d0) -> (0)>, role = "internal"} : () -> ()
  "npu.stream"() {sym_name = "in", span = ["column"], sender = @shim_out, receiver = @memory_in, multicast = []} : () -> ()
  "npu.stream"() {sym_name = "out", span = ["column"], sender = @result_out, receiver = @shim_in, multicast = []} : () -> ()
  func.func @shim_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_out", lane = 1 : i64, span = ["column"]}>} {
    "npu.send"(%column) {stream = @in, stream_at = affine_map<(d0) -> (d0)>, buffer = @x, buffer_at = affine_map<(d0) -> ()>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    return
  }
  func.func @memory_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "memory_in", lane = 1 : i64, span = ["column"]}>} {
    "npu.receive"(%column) {stream = @in, stream_at = affine_map<(d0) -> (d0)>, buffer = @l2, buffer_at = affine_map<(d0) -> (d0)>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    return
  }
  func.func @result_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "result_out", lane = 0 : i64, span = ["column"]}>} {
    // expected-error @+1 {{race: 'send out[0]' of 'result_out' (column 0) touches bytes 0 to 63 of 'L2 0' at cycle 16 without having waited for 'receive in[0]' of 'memory_in' (column 0); hint: acquire what the other one releases}}
    "npu.send"(%column) {stream = @out, stream_at = affine_map<(d0) -> (d0)>, buffer = @l2, buffer_at = affine_map<(d0) -> (d0)>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    return
  }
  func.func @shim_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_in", lane = 0 : i64, span = ["column"]}>} {
    "npu.receive"(%column) {stream = @out, stream_at = affine_map<(d0) -> (d0)>, buffer = @y, buffer_at = affine_map<(d0) -> ()>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    return
  }
}

// -----
// Nobody fills what the kernel reads.
module @unwritten attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 1 : i64}} {
  "npu.buffer"() {sym_name = "a", contents = memref<16xi32, 2>, level = 1 : i64, span = ["row", "column"], depth = 1 : i64, address = affine_map<(d0, d1) -> (0)>, role = "internal"} : () -> ()
  "npu.buffer"() {sym_name = "b", contents = memref<16xi32, 2>, level = 1 : i64, span = ["row", "column"], depth = 1 : i64, address = affine_map<(d0, d1) -> (64)>, role = "internal"} : () -> ()
  func.func private @square(%x: memref<16xi32, 2>, %y: memref<16xi32, 2>) {
    linalg.mul ins(%x, %x : memref<16xi32, 2>, memref<16xi32, 2>) outs(%y : memref<16xi32, 2>)
    return
  }
  func.func @core(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>} {
    // expected-error @+1 {{'elementwise' of 'core' (row 0, column 0) reads bytes 0 to 63 of 'L1 (0,0)' at cycle 0, which nothing has written; hint: check the slots and offsets of what writes there}}
    "npu.compute"(%row, %column) {kernel = @square, kind = "elementwise", cycles = 10 : i64, buffers = [@a, @b], at = affine_map<(d0, d1) -> (d0, d1)>, slots = [affine_map<(d0, d1) -> (0)>, affine_map<(d0, d1) -> (0)>], effects = ["r", "w"]} : (index, index) -> ()
    return
  }
}

// -----

// The first of two tiles is overwritten before anybody has read it.
module @lost attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 1 : i64}} {
  "npu.buffer"() {sym_name = "x", contents = memref<32xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "argument"} : () -> ()
  "npu.buffer"() {sym_name = "y", contents = memref<16xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "result"} : () -> ()
  "npu.buffer"() {sym_name = "l2", contents = memref<16xi32, 1>, level = 2 : i64, span = ["column"], depth = 1 : i64, address = affine_map<(d0) -> (0)>, role = "internal"} : () -> ()
  "npu.semaphore"() {sym_name = "full", span = ["column"], initial = 0 : i64, maximum = 1 : i64, cause = "data"} : () -> ()
  "npu.stream"() {sym_name = "in", span = ["column"], sender = @shim_out, receiver = @memory_in, multicast = []} : () -> ()
  "npu.stream"() {sym_name = "out", span = ["column"], sender = @result_out, receiver = @shim_in, multicast = []} : () -> ()
  func.func @shim_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_out", lane = 1 : i64, span = ["column"]}>} {
    "npu.send"(%column) {stream = @in, stream_at = affine_map<(d0) -> (d0)>, buffer = @x, buffer_at = affine_map<(d0) -> ()>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    "npu.send"(%column) {stream = @in, stream_at = affine_map<(d0) -> (d0)>, buffer = @x, buffer_at = affine_map<(d0) -> ()>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (16)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    return
  }
  func.func @memory_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "memory_in", lane = 1 : i64, span = ["column"]}>} {
    // expected-error @+1 {{'receive in[0]' of 'memory_in' (column 0) overwrites bytes 0 to 63 of 'L2 0' at cycle 32 before anything has read them; hint: wait until the slot has been read}}
    "npu.receive"(%column) {stream = @in, stream_at = affine_map<(d0) -> (d0)>, buffer = @l2, buffer_at = affine_map<(d0) -> (d0)>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    "npu.receive"(%column) {stream = @in, stream_at = affine_map<(d0) -> (d0)>, buffer = @l2, buffer_at = affine_map<(d0) -> (d0)>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    "npu.release"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    return
  }
  func.func @result_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "result_out", lane = 0 : i64, span = ["column"]}>} {
    "npu.acquire"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    "npu.send"(%column) {stream = @out, stream_at = affine_map<(d0) -> (d0)>, buffer = @l2, buffer_at = affine_map<(d0) -> (d0)>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    return
  }
  func.func @shim_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_in", lane = 0 : i64, span = ["column"]}>} {
    "npu.receive"(%column) {stream = @out, stream_at = affine_map<(d0) -> (d0)>, buffer = @y, buffer_at = affine_map<(d0) -> ()>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
    return
  }
}

// -----

// Who of the two comes first would depend on their speed.
module @either attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {column = 1 : i64}} {
  // expected-error @+1 {{semaphore 'full[0]' is acquired by 'shim_out' (column 0) and 'shim_in' (column 0); who comes first depends on their speed; hint: give each engine a semaphore of its own}}
  "npu.semaphore"() {sym_name = "full", span = ["column"], initial = 1 : i64, maximum = 2 : i64, cause = "data"} : () -> ()
  func.func @shim_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_out", lane = 1 : i64, span = ["column"]}>} {
    "npu.acquire"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    "npu.release"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    return
  }
  func.func @shim_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_in", lane = 0 : i64, span = ["column"]}>} {
    "npu.acquire"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    "npu.release"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    return
  }
}
