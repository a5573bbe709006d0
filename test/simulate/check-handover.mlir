// What is handed over in order is accepted as it stands; what is no schedule is nobody's business.
// RUN: npuflow-opt %s --split-input-file --npuflow-check-handover | filecheck %s
// RUN: npuflow-opt %s --split-input-file --npuflow-check-handover --remarks=npuflow-check-handover 2>&1 >/dev/null | filecheck %s --check-prefix=REMARK

// One slot in L2, filled and emptied in turn: four tiles of x become y.
// CHECK-LABEL: module @in_turn
// CHECK:       func.func @memory_in(
// CHECK-NEXT:    arith.constant 0
// CHECK-NEXT:    arith.constant 1
// CHECK-NEXT:    arith.constant 4
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      "npu.acquire"{{.*}}@empty
// CHECK-NEXT:      "npu.receive"
// CHECK-NEXT:      "npu.release"{{.*}}@full
module @in_turn attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 1 : i64}} {
  "npu.buffer"() {sym_name = "x", contents = memref<64xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "argument"} : () -> ()
  "npu.buffer"() {sym_name = "y", contents = memref<64xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "result"} : () -> ()
  "npu.buffer"() {sym_name = "l2", contents = memref<16xi32, 1>, level = 2 : i64, span = ["column"], depth = 1 : i64, address = affine_map<(d0) -> (0)>, role = "internal"} : () -> ()
  "npu.semaphore"() {sym_name = "full", span = ["column"], initial = 0 : i64, maximum = 1 : i64, cause = "data"} : () -> ()
  "npu.semaphore"() {sym_name = "empty", span = ["column"], initial = 1 : i64, maximum = 1 : i64, cause = "space"} : () -> ()
  "npu.stream"() {sym_name = "in", span = ["column"], sender = @shim_out, receiver = @memory_in, multicast = []} : () -> ()
  "npu.stream"() {sym_name = "out", span = ["column"], sender = @result_out, receiver = @shim_in, multicast = []} : () -> ()
  func.func @shim_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_out", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      "npu.send"(%column, %i) {stream = @in, stream_at = affine_map<(d0, d1) -> (d0)>, buffer = @x, buffer_at = affine_map<(d0, d1) -> ()>, slot = affine_map<(d0, d1) -> (0)>, offset = affine_map<(d0, d1) -> (d1 * 16)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index, index) -> ()
    }
    return
  }
  func.func @memory_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "memory_in", lane = 1 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      "npu.acquire"(%column) {semaphore = @empty, at = affine_map<(d0) -> (d0)>} : (index) -> ()
      "npu.receive"(%column) {stream = @in, stream_at = affine_map<(d0) -> (d0)>, buffer = @l2, buffer_at = affine_map<(d0) -> (d0)>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
      "npu.release"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    }
    return
  }
  func.func @result_out(%column: index) attributes {npu.engine = #npu.engine<{stage = "result_out", lane = 0 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      "npu.acquire"(%column) {semaphore = @full, at = affine_map<(d0) -> (d0)>} : (index) -> ()
      "npu.send"(%column) {stream = @out, stream_at = affine_map<(d0) -> (d0)>, buffer = @l2, buffer_at = affine_map<(d0) -> (d0)>, slot = affine_map<(d0) -> (0)>, offset = affine_map<(d0) -> (0)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index) -> ()
      "npu.release"(%column) {semaphore = @empty, at = affine_map<(d0) -> (d0)>} : (index) -> ()
    }
    return
  }
  func.func @shim_in(%column: index) attributes {npu.engine = #npu.engine<{stage = "shim_in", lane = 0 : i64, span = ["column"]}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      "npu.receive"(%column, %i) {stream = @out, stream_at = affine_map<(d0, d1) -> (d0)>, buffer = @y, buffer_at = affine_map<(d0, d1) -> ()>, slot = affine_map<(d0, d1) -> (0)>, offset = affine_map<(d0, d1) -> (d1 * 16)>, sizes = [16], strides = [1], limits = [], zeros = false} : (index, index) -> ()
    }
    return
  }
}

// -----

// CHECK-LABEL: module @no_schedule
// CHECK-NEXT:    func.func @f
module @no_schedule {
  func.func @f(%x: memref<4xf32>) {
    return
  }
}

// -----

// Data that is too large to be moved in a check: deadlocks are still found, races are not looked for.
// CHECK-LABEL: module @large
// REMARK: :80:1: remark: [npuflow-check-handover] races are not looked for: 134217728 bytes of memory and 0 moved
module @large attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {}} {
  "npu.buffer"() {sym_name = "x", contents = memref<33554432xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "argument"} : () -> ()
  func.func @control() attributes {npu.engine = #npu.engine<{stage = "control", lane = 0 : i64, span = []}>} {
    return
  }
}
