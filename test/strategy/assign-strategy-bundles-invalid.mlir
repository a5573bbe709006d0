// What a strategy says wrongly of a bundle, and what fits no core.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=toy --verify-diagnostics --split-input-file

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @malformed(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = tensor.empty() : tensor<64x32xf32>
  // expected-error @below {{npu.strategy is malformed: unknown field 'tile_l3' (known: grid, spread, tile_l1, order, stream}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%o : tensor<64x32xf32>) attrs = {npu.strategy = #npu.strategy<{tile_l3 = [1, 1]}>} {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @a_number_for_a_list(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = tensor.empty() : tensor<64x32xf32>
  // expected-error @below {{npu.strategy is malformed: field 'grid' must be positive integers, is 4 : i64; field 'tile_l1' must be positive integers, is [4, -8]; hint: for example #npu.strategy<{grid = [2, 2], spread = [0, 1], tile_l1 = [16, 64], order = [0, 1]}>}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%o : tensor<64x32xf32>) attrs = {npu.strategy = #npu.strategy<{grid = 4, tile_l1 = [4, -8]}>} {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @lengths(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = tensor.empty() : tensor<64x32xf32>
  // expected-error @below {{grid has 3 numbers, this bundle needs 2; hint: give 2}}
  // expected-error @below {{spread has 1 numbers, this bundle needs 2; hint: give 2}}
  // expected-error @below {{tile_l1 has 1 numbers, this bundle needs 2; hint: give 2}}
  // expected-error @below {{order has 3 numbers, this bundle needs 2; hint: give 2}}
  // expected-error @below {{stream has 1 numbers, this bundle needs 0; hint: give 0}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%o : tensor<64x32xf32>) attrs = {npu.strategy = #npu.strategy<{grid = [1, 1, 1], spread = [0], tile_l1 = [8], order = [0, 1, 2], stream = [4]}>} {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @values(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = tensor.empty() : tensor<64x32xf32>
  // expected-error @below {{grid 3x2 is larger than the 2x2 cores of toy; hint: use at most 2 rows and 2 columns}}
  // expected-error @below {{spread names loop 2; hint: this bundle's space has loops 0 to 1}}
  // expected-error @below {{order [1, 1] is no order of 2 loops; hint: name each loop once}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%o : tensor<64x32xf32>) attrs = {npu.strategy = #npu.strategy<{grid = [3, 2], spread = [0, 2], tile_l1 = [8, 8], order = [1, 1]}>} {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @stream(%x: tensor<64x32xf32>, %s: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @below {{npu.strategy is malformed: field 'stream' must be positive integers, is [0]; hint: for example #npu.strategy<{grid = [2, 2], spread = [0, 1], tile_l1 = [16, 64], order = [0, 1]}>}}
  %q = linalg.generic {indexing_maps = [#same, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x32xf32>) outs(%s : tensor<64xf32>) attrs = {npu.strategy = #npu.strategy<{stream = [0]}>} {
  ^bb0(%a: f32, %sum: f32):
    %r = arith.addf %sum, %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %q : tensor<64xf32>
}

// -----

// 64 x 128 x 4 bytes in and out; the message names what is largest.
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @too_large(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %o = tensor.empty() : tensor<64x128xf32>
  // expected-error @below {{L1 of a core needs 65536 bytes, has 32768 (in0 32768, out1 32768); hint: lower tile_l1 from 64,128 to 64,64}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x128xf32>) outs(%o : tensor<64x128xf32>) attrs = {npu.strategy = #npu.strategy<{tile_l1 = [64, 128]}>} {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  return %q : tensor<64x128xf32>
}

// -----

// A piece of the summed dimension that is too large: 80000 bytes and the sum.
#same = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @piece(%x: tensor<4x20000xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{L1 of a core needs 80032 bytes, has 32768 (in0 80000, out1 4); hint: lower stream from 20000 to 6666}}
  %q = linalg.generic {indexing_maps = [#same, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x20000xf32>) outs(%f : tensor<4xf32>) attrs = {npu.strategy = #npu.strategy<{stream = [20000]}>} {
  ^bb0(%a: f32, %sum: f32):
    %r = arith.addf %sum, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %q : tensor<4xf32>
}

// -----

#lhs = affine_map<(m, n, i, j) -> (i, m, j)>
#rhs = affine_map<(m, n, i, j) -> (i, j, n)>
#sum = affine_map<(m, n, i, j) -> (m, n)>
func.func @pieces_in_l2(%a: tensor<4x8x16xi8>, %b: tensor<4x16x8xi8>) -> tensor<8x8xi32> {
  %zero = arith.constant 0 : i32
  %o = tensor.empty() : tensor<8x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%o : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{stream_l2 has 10 at place 1, which is no multiple of stream's 4; hint: use 12}}
  %q = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<4x8x16xi8>, tensor<4x16x8xi8>) outs(%f : tensor<8x8xi32>) attrs = {npu.strategy = #npu.strategy<{stream = [1, 4], stream_l2 = [2, 10]}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %p = arith.extsi %x : i8 to i32
    %r = arith.extsi %y : i8 to i32
    %t = arith.muli %p, %r : i32
    %u = arith.addi %s, %t : i32
    linalg.yield %u : i32
  } -> tensor<8x8xi32>
  return %q : tensor<8x8xi32>
}

// -----

// The largest element isn't what it was with zeros behind the others.
#row = affine_map<(d0, d1) -> (d0, d1)>
#top = affine_map<(d0, d1) -> (d0)>
func.func @no_sum(%x: tensor<8x40xf32>) -> tensor<8xf32> {
  %least = arith.constant 0xFF800000 : f32
  %o = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%least : f32) outs(%o : tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{stream_l2 is larger than stream, and zeros may fill up sums of products only; hint: leave stream_l2 out}}
  %q = linalg.generic {indexing_maps = [#row, #top], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x40xf32>) outs(%f : tensor<8xf32>) attrs = {npu.strategy = #npu.strategy<{stream = [8], stream_l2 = [16]}>} {
  ^bb0(%a: f32, %m: f32):
    %r = arith.maximumf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %q : tensor<8xf32>
}
