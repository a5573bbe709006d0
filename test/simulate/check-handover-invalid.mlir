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
