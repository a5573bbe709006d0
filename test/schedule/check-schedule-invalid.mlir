// RUN: npuflow-opt %s --split-input-file --verify-diagnostics --npuflow-check-schedule

// expected-error @+1 {{schedule 'empty' has no engines; hint: give functions an npu.engine}}
module @empty attributes {npu.extents = {}} {}

// -----

// All that is wrong with a schedule is said at once.
module @large attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 1 : i64}} {
  // expected-error @+1 {{L1 of core (0,0) needs 262144 bytes, has 32768 (acc 262144); hint: use smaller tiles or fewer slots}}
  "npu.buffer"() {sym_name = "acc", contents = memref<256x256xi32, 2>, level = 1 : i64, span = ["row", "column"], depth = 1 : i64, address = affine_map<(d0, d1) -> (0)>, role = "internal"} : () -> ()
  // expected-error @+1 {{buffer 'odd' lies at a multiple of 20 bytes, level 2 needs 32}}
  "npu.buffer"() {sym_name = "odd", contents = memref<4xi32, 1>, level = 2 : i64, span = ["column"], depth = 1 : i64, address = affine_map<(d0) -> (20)>, role = "internal"} : () -> ()
  // expected-error @+1 {{semaphore 'free' counts to 64, a lock of level 1 to 63; hint: use fewer slots}}
  "npu.semaphore"() {sym_name = "free", span = [], initial = 0 : i64, maximum = 64 : i64, cause = "other"} : () -> ()
  func.func @core(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>} {
    "npu.release"() {semaphore = @free, at = affine_map<() -> ()>} : () -> ()
    return
  }
}

// -----

module @wide attributes {npu.device = #npu.device<"toy", {}>, npu.extents = {row = 1 : i64, column = 3 : i64}} {
  // expected-error @+1 {{the schedule needs 3 of coordinate 'column', device 'toy' has 2; hint: use a grid of at most 2x2}}
  func.func @core(%row: index, %column: index) attributes {npu.engine = #npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>} {
    return
  }
}
