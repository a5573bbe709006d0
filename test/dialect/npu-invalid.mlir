// What each op of the dialect refuses by itself, whatever is around it.
// RUN: npuflow-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{has depth 0, below 1}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32, 2>, level = 1 : i64, span = ["row", "column"], depth = 0 : i64, address = affine_map<(d0, d1) -> (0)>, role = "internal"} : () -> ()

// -----

// expected-error @+1 {{has level 0, below 1}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32>, level = 0 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "internal"} : () -> ()

// -----

// expected-error @+1 {{spans 'floor', which is none of row, column, tile, part}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32, 1>, level = 2 : i64, span = ["floor"], depth = 1 : i64, address = affine_map<(d0) -> (0)>, role = "internal"} : () -> ()

// -----

// expected-error @+1 {{map 'address' takes 0 values, but there are 1 indices}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32, 1>, level = 2 : i64, span = ["row"], depth = 1 : i64, address = affine_map<() -> (0)>, role = "internal"} : () -> ()

// -----

// expected-error @+1 {{map 'address' gives 2 values instead of 1}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32, 1>, level = 2 : i64, span = ["row"], depth = 1 : i64, address = affine_map<(d0) -> (0, 0)>, role = "internal"} : () -> ()

// -----

// expected-error @+1 {{has role 'input', which is none of argument, result, constant, internal}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "input"} : () -> ()

// -----

// expected-error @+1 {{which is no memref of static shape}}
"npu.buffer"() {sym_name = "b", contents = tensor<4xi32>, level = 3 : i64, span = [], depth = 1 : i64, address = affine_map<() -> (0)>, role = "internal"} : () -> ()

// -----

// expected-error @+1 {{starts at 3, above its maximum of 2}}
"npu.semaphore"() {sym_name = "s", span = [], initial = 3 : i64, maximum = 2 : i64, cause = "data"} : () -> ()

// -----

// expected-error @+1 {{has initial -1, below 0}}
"npu.semaphore"() {sym_name = "s", span = [], initial = -1 : i64, maximum = 2 : i64, cause = "data"} : () -> ()

// -----

// expected-error @+1 {{has cause 'boredom', which is none of data, space, task, other}}
"npu.semaphore"() {sym_name = "s", span = [], initial = 0 : i64, maximum = 2 : i64, cause = "boredom"} : () -> ()

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{map 'at' takes 2 values, but there are 1 indices}}
  "npu.acquire"(%i) {semaphore = @s, at = affine_map<(d0, d1) -> (d0)>} : (index) -> ()
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{map 'at' takes 0 values, but there are 1 indices}}
  "npu.release"(%i) {semaphore = @s, at = affine_map<() -> ()>} : (index) -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has 1 sizes and 2 strides; one of each per dimension, at least one}}
  "npu.send"() {stream = @s, stream_at = affine_map<() -> ()>, buffer = @b, buffer_at = affine_map<() -> ()>, slot = affine_map<() -> (0)>, offset = affine_map<() -> (0)>, sizes = [4], strides = [4, 1], limits = [], zeros = false} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has a size below 1 in [4, 0]}}
  "npu.receive"() {stream = @s, stream_at = affine_map<() -> ()>, buffer = @b, buffer_at = affine_map<() -> ()>, slot = affine_map<() -> (0)>, offset = affine_map<() -> (0)>, sizes = [4, 0], strides = [4, 1], limits = [], zeros = false} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+2 {{has a limit with 1 weights for 2 dimensions}}
  // expected-error @+1 {{has a limit whose bound (d0) -> (d0) is no map from 0 indices to one value}}
  "npu.send"() {stream = @s, stream_at = affine_map<() -> ()>, buffer = @b, buffer_at = affine_map<() -> ()>, slot = affine_map<() -> (0)>, offset = affine_map<() -> (0)>, sizes = [4, 4], strides = [4, 1], limits = [[[1], affine_map<(d0) -> (d0)>]], zeros = false} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has a limit 7 : i64, which is not [weights, bound]}}
  "npu.send"() {stream = @s, stream_at = affine_map<() -> ()>, buffer = @b, buffer_at = affine_map<() -> ()>, slot = affine_map<() -> (0)>, offset = affine_map<() -> (0)>, sizes = [4], strides = [1], limits = [7], zeros = false} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+2 {{has 1 buffers, 0 slots and 1 effects}}
  // expected-error @+1 {{has effect 'x', which is none of r, w, rw}}
  "npu.compute"() {kernel = @k, kind = "fill", cycles = 1 : i64, buffers = [@b], at = affine_map<() -> ()>, slots = [], effects = ["x"]} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has cycles -1, below 0}}
  "npu.compute"() {kernel = @k, kind = "fill", cycles = -1 : i64, buffers = [], at = affine_map<() -> ()>, slots = [], effects = []} : () -> ()
  return
}

// -----

// expected-error @+1 {{is in level 2 and holds memref<4xi32>, whose memory space is none instead of 1 : i64}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32>, level = 2 : i64, span = ["row"], depth = 1 : i64, address = affine_map<(d0) -> (0)>, role = "internal"} : () -> ()

// -----

// expected-error @+1 {{is result in level 2; arguments, results and constants are in level 3}}
"npu.buffer"() {sym_name = "b", contents = memref<4xi32, 1>, level = 2 : i64, span = ["row"], depth = 1 : i64, address = affine_map<(d0) -> (0)>, role = "result"} : () -> ()

// -----

// expected-error @+1 {{spans 'column' twice}}
"npu.stream"() {sym_name = "s", span = ["column"], sender = @a, receiver = @b, multicast = ["column"]} : () -> ()
