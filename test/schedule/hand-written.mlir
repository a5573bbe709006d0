// A schedule by hand: one core of the toy squares 8 tiles of 64 numbers. Each hop has a buffer of two slots, so that
// all engines work at once; test_hand_written.py times it, executes it and breaks it.
// RUN: npuflow-opt %s --npuflow-check-schedule --npuflow-check-handover | filecheck %s

// CHECK: module @square
// CHECK: func.func @core(
module @square attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 1 : i64}} {
  "npu.buffer"() {sym_name = "x", contents = memref<512xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "argument"} : () -> ()
  "npu.buffer"() {sym_name = "y", contents = memref<512xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "result"} : () -> ()
  "npu.buffer"() {sym_name = "x2", contents = memref<64xi32, 1>, level = 2 : i64, span = ["column"], depth = 2 : i64, address = affine_map<(d0) -> (0)>, role = "internal"} : () -> ()
  "npu.buffer"() {sym_name = "y2", contents = memref<64xi32, 1>, level = 2 : i64, span = ["column"], depth = 2 : i64, address = affine_map<(d0) -> (512)>, role = "internal"} : () -> ()
  "npu.buffer"() {sym_name = "x1", contents = memref<64xi32, 2>, level = 1 : i64, span = ["row", "column"], depth = 2 : i64, address = affine_map<(d0, d1) -> (0)>, role = "internal"} : () -> ()
  "npu.buffer"() {sym_name = "y1", contents = memref<64xi32, 2>, level = 1 : i64, span = ["row", "column"], depth = 2 : i64, address = affine_map<(d0, d1) -> (512)>, role = "internal"} : () -> ()

  "npu.semaphore"() {sym_name = "x2_full", span = ["column"], initial = 0 : i64, maximum = 2 : i64, cause = "data"} : () -> ()
  "npu.semaphore"() {sym_name = "x2_empty", span = ["column"], initial = 2 : i64, maximum = 2 : i64, cause = "space"} : () -> ()
  "npu.semaphore"() {sym_name = "x1_full", span = ["row", "column"], initial = 0 : i64, maximum = 2 : i64, cause = "data"} : () -> ()
  "npu.semaphore"() {sym_name = "x1_empty", span = ["row", "column"], initial = 2 : i64, maximum = 2 : i64, cause = "space"} : () -> ()
  "npu.semaphore"() {sym_name = "y1_full", span = ["row", "column"], initial = 0 : i64, maximum = 2 : i64, cause = "data"} : () -> ()
  "npu.semaphore"() {sym_name = "y1_empty", span = ["row", "column"], initial = 2 : i64, maximum = 2 : i64, cause = "space"} : () -> ()
  "npu.semaphore"() {sym_name = "y2_full", span = ["row", "column"], initial = 0 : i64, maximum = 2 : i64, cause = "data"} : () -> ()
  "npu.semaphore"() {sym_name = "y2_empty", span = ["row", "column"], initial = 2 : i64, maximum = 2 : i64, cause = "space"} : () -> ()

  "npu.stream"() {sym_name = "x3_to_x2", span = ["column"], sender = @shim_out, receiver = @memory_in, multicast = []} : () -> ()
  "npu.stream"() {sym_name = "x2_to_x1", span = ["column"], sender = @memory_out, receiver = @core_in, multicast = ["row"]} : () -> ()
  "npu.stream"() {sym_name = "y1_to_y2", span = ["row", "column"], sender = @core_out, receiver = @result_in, multicast = []} : () -> ()
  "npu.stream"() {sym_name = "y2_to_y3", span = ["column"], sender = @result_out, receiver = @shim_in, multicast = []} : () -> ()

  func.func private @multiply(%x: memref<64xi32, 2>, %y: memref<64xi32, 2>) {
    linalg.mul ins(%x, %x : memref<64xi32, 2>, memref<64xi32, 2>) outs(%y : memref<64xi32, 2>)
    return
  }

  func.func @shim_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_out", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.send"(%column, %i) {stream = @x3_to_x2, stream_at = affine_map<(d0, d1) -> (d0)>, buffer = @x, buffer_at = affine_map<(d0, d1) -> ()>, slot = affine_map<(d0, d1) -> (0)>, offset = affine_map<(d0, d1) -> (d1 * 64)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index) -> ()
    }
    return
  }

  func.func @memory_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "memory_in", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.acquire"(%column) {semaphore = @x2_empty, at = affine_map<(d0) -> (d0)>} : (index) -> ()
      "npu.receive"(%column, %i) {stream = @x3_to_x2, stream_at = affine_map<(d0, d1) -> (d0)>, buffer = @x2, buffer_at = affine_map<(d0, d1) -> (d0)>, slot = affine_map<(d0, d1) -> (d1)>, offset = affine_map<(d0, d1) -> (0)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"(%column) {semaphore = @x2_full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    }
    return
  }

  func.func @memory_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "memory_out", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.acquire"(%column) {semaphore = @x2_full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
      "npu.send"(%column, %i) {stream = @x2_to_x1, stream_at = affine_map<(d0, d1) -> (d0)>, buffer = @x2, buffer_at = affine_map<(d0, d1) -> (d0)>, slot = affine_map<(d0, d1) -> (d1)>, offset = affine_map<(d0, d1) -> (0)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"(%column) {semaphore = @x2_empty, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    }
    return
  }

  func.func @core_in(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core_in", lane = 1 : i64, span = ["row", "column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.acquire"(%row, %column) {semaphore = @x1_empty, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
      "npu.receive"(%row, %column, %i) {stream = @x2_to_x1, stream_at = affine_map<(d0, d1, d2) -> (d1)>, buffer = @x1, buffer_at = affine_map<(d0, d1, d2) -> (d0, d1)>, slot = affine_map<(d0, d1, d2) -> (d2)>, offset = affine_map<(d0, d1, d2) -> (0)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index, index) -> ()
      "npu.release"(%row, %column) {semaphore = @x1_full, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
    }
    return
  }

  func.func @core(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.acquire"(%row, %column) {semaphore = @x1_full, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
      "npu.acquire"(%row, %column) {semaphore = @y1_empty, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
      "npu.compute"(%row, %column, %i) {kernel = @multiply, kind = "elementwise", cycles = 100 : i64, buffers = [@x1, @y1], at = affine_map<(d0, d1, d2) -> (d0, d1)>, slots = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>], effects = ["r", "w"]} : (index, index, index) -> ()
      "npu.release"(%row, %column) {semaphore = @x1_empty, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
      "npu.release"(%row, %column) {semaphore = @y1_full, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
    }
    return
  }

  func.func @core_out(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core_out", lane = 0 : i64, span = ["row", "column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.acquire"(%row, %column) {semaphore = @y1_full, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
      "npu.send"(%row, %column, %i) {stream = @y1_to_y2, stream_at = affine_map<(d0, d1, d2) -> (d0, d1)>, buffer = @y1, buffer_at = affine_map<(d0, d1, d2) -> (d0, d1)>, slot = affine_map<(d0, d1, d2) -> (d2)>, offset = affine_map<(d0, d1, d2) -> (0)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index, index) -> ()
      "npu.release"(%row, %column) {semaphore = @y1_empty, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
    }
    return
  }

  func.func @result_in(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "result_in", lane = 0 : i64, span = ["row", "column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.acquire"(%row, %column) {semaphore = @y2_empty, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
      "npu.receive"(%row, %column, %i) {stream = @y1_to_y2, stream_at = affine_map<(d0, d1, d2) -> (d0, d1)>, buffer = @y2, buffer_at = affine_map<(d0, d1, d2) -> (d1)>, slot = affine_map<(d0, d1, d2) -> (d2)>, offset = affine_map<(d0, d1, d2) -> (0)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index, index) -> ()
      "npu.release"(%row, %column) {semaphore = @y2_full, at = affine_map<(d0, d1) -> (d0, d1)>} : (index, index) -> ()
    }
    return
  }

  func.func @result_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "result_out", lane = 0 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.acquire"(%column) {semaphore = @y2_full, at = affine_map<(d0) -> (0, d0)>} : (index) -> ()
      "npu.send"(%column, %i) {stream = @y2_to_y3, stream_at = affine_map<(d0, d1) -> (d0)>, buffer = @y2, buffer_at = affine_map<(d0, d1) -> (d0)>, slot = affine_map<(d0, d1) -> (d1)>, offset = affine_map<(d0, d1) -> (0)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index) -> ()
      "npu.release"(%column) {semaphore = @y2_empty, at = affine_map<(d0) -> (0, d0)>} : (index) -> ()
    }
    return
  }

  func.func @shim_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_in", lane = 0 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      "npu.receive"(%column, %i) {stream = @y2_to_y3, stream_at = affine_map<(d0, d1) -> (d0)>, buffer = @y, buffer_at = affine_map<(d0, d1) -> ()>, slot = affine_map<(d0, d1) -> (0)>, offset = affine_map<(d0, d1) -> (d1 * 64)>, sizes = [64], strides = [1], limits = [], zeros = false} : (index, index) -> ()
    }
    return
  }
}
