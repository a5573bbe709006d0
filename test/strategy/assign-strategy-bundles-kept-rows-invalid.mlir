// RUN: npuflow-opt %s --npuflow-assign-strategy=device=npu2 --verify-diagnostics --split-input-file

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @not_all(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{npu.row_loop names no loop of 1 of 2 ops that keep rows; hint: leave out npu.row_loop, which npuflow-fuse-windows writes}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// -----

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @no_loop(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{npu.row_loop names no loop of 1 of 2 ops that keep rows; hint: leave out npu.row_loop, which npuflow-fuse-windows writes}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 9} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// -----

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @another(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{linalg.generic keeps rows that are read by something else than a window of stride 1; hint: leave out npu.row_loop, which npuflow-fuse-windows writes}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 2} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// -----

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @summed(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{linalg.generic keeps rows along a loop that its result doesn't follow; hint: leave out npu.row_loop, which npuflow-fuse-windows writes}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 3} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// -----

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @no_steps(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{rows are kept, and nothing says how many of a tile's 8 a step makes; hint: say stream = [4]}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// -----

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @all_at_once(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [8], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{stream says steps of 8 rows, of which several have to make up 8; hint: use 4}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [8], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// -----

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @uneven(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [3], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{stream says steps of 3 rows, of which several have to make up 8; hint: use 2}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [3], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// -----

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

func.func @part_in_l2(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [2], stream_l2 = [4], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  // expected-error @below {{stream_l2 says 4 rows, and where rows are kept L2 has all 8 of a tile; hint: leave stream_l2 out}}
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [2], stream_l2 = [4], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}
