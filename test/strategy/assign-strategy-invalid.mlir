// What is infeasible is refused with need, limit and lever, before anything is rewritten.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=toy --verify-diagnostics --split-input-file

func.func @types(%a: tensor<8x8xf64>, %b: tensor<8x8xi4>, %c: tensor<8x8xi8>, %d: tensor<8x8xi16>, %e: tensor<8x8xi32>) {
  // expected-error @below {{device 'toy' cannot multiply f64 x f64 -> f64; hint: it can multiply}}
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xf64>, tensor<8x8xf64>) outs(%a : tensor<8x8xf64>) -> tensor<8x8xf64>
  // expected-error @below {{device 'toy' cannot multiply i4 x i4 -> i32}}
  %1 = linalg.matmul ins(%b, %b : tensor<8x8xi4>, tensor<8x8xi4>) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{device 'toy' cannot multiply i8 x i16 -> i32}}
  %2 = linalg.matmul ins(%c, %d : tensor<8x8xi8>, tensor<8x8xi16>) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  return
}

// -----

func.func @grid(%a: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error @below {{grid 3x2 is larger than the 2x2 cores of toy; hint: use at most 2 rows and 2 columns}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [3, 2]}>} ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%a : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %0 : tensor<8x8xi32>
}

// -----

func.func @instruction(%a: tensor<8x8xi8>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error @below {{pack 4,4,8 is no matmul instruction of toy for i8 x i8 -> i32; hint: use pack=4,8,8}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{pack = [4, 4, 8]}>} ins(%a, %a : tensor<8x8xi8>, tensor<8x8xi8>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %0 : tensor<8x8xi32>
}

// -----

// Each size that doesn't fit into the next is named, all at once.
func.func @nesting(%a: tensor<64x64xi32>) -> tensor<64x64xi32> {
  // expected-error @below {{tile-l1 m=6 is no multiple of pack m=4; hint: use a multiple of 4, such as 8}}
  // expected-error @below {{tile-l1 n=12 is no multiple of pack n=8; hint: use a multiple of 8, such as 16}}
  // expected-error @below {{tile-l1 k=4 is no multiple of pack k=8; hint: use a multiple of 8, such as 8}}
  // expected-error @below {{tile-l2 m=16 is not 2 grid rows times tile-l1 m=6; hint: set tile-l2 m to 12 or tile-l1 m to 8}}
  // expected-error @below {{tile-l2 n=25 is not 2 grid columns times tile-l1 n=12; hint: set tile-l2 n to 24}}
  // expected-error @below {{tile-l2 k=30 is no multiple of tile-l1 k=4; hint: set tile-l2 k to 32}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [2, 2], pack = [4, 8, 8], tile_l1 = [6, 12, 4], tile_l2 = [16, 25, 30]}>}
      ins(%a, %a : tensor<64x64xi32>, tensor<64x64xi32>) outs(%a : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
}

// -----

// A block smaller than an instruction on every core.
func.func @small_block(%a: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error @below {{tile-l2 m=4 is not 2 grid rows times tile-l1 m=4; hint: set tile-l2 m to 8 or tile-l1 m to 2}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [2, 1], pack = [4, 8, 8], tile_l2 = [4, 8, 8]}>}
      ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%a : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %0 : tensor<8x8xi32>
}

// -----

// L1: 2 x 64 x 64 x 4 bytes of each operand, 64 x 64 x 4 of the sum; k = 16 leaves 2 x (4096 + 4096) + 16384 = 32768.
func.func @l1_k(%a: tensor<128x128xi32>) -> tensor<128x128xi32> {
  // expected-error @below {{L1 of a core needs 81920 bytes, has 32768 (lhs 2x16384, rhs 2x16384, acc 16384); hint: lower tile-l1 k from 64 to 16}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1], tile_l1 = [64, 64, 64], tile_l2 = [64, 64, 64], depth_l1 = 2}>}
      ins(%a, %a : tensor<128x128xi32>, tensor<128x128xi32>) outs(%a : tensor<128x128xi32>) -> tensor<128x128xi32>
  return %0 : tensor<128x128xi32>
}

// -----

// The sum alone takes 128 x 128 x 4 = 65536 bytes, so k doesn't help.
func.func @l1_mn(%a: tensor<128x128xi32>) -> tensor<128x128xi32> {
  // expected-error @below {{L1 of a core needs 81920 bytes, has 32768 (acc 65536, lhs 2x4096, rhs 2x4096); hint: lower tile-l1 m,n from 128,128 to 64,64}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1], tile_l1 = [128, 128, 8], tile_l2 = [128, 128, 8], depth_l1 = 2}>}
      ins(%a, %a : tensor<128x128xi32>, tensor<128x128xi32>) outs(%a : tensor<128x128xi32>) -> tensor<128x128xi32>
  return %0 : tensor<128x128xi32>
}

// -----

func.func @l1_depth(%a: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @below {{L1 of a core needs 384128 bytes, has 32768 (rhs 1000x256, lhs 1000x128, acc 128); hint: lower depth_l1 from 1000 to 1}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1], tile_l1 = [4, 8, 8], tile_l2 = [4, 8, 8], depth_l1 = 1000}>}
      ins(%a, %a : tensor<16x16xi32>, tensor<16x16xi32>) outs(%a : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %0 : tensor<16x16xi32>
}

// -----

// k = 992 leaves 2 x 64 x 992 x 4 + 16384 = 524288.
func.func @l2(%a: tensor<64x4096xi32>, %b: tensor<4096x64xi32>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  // expected-error @below {{L2 of 2 columns needs 2113536 bytes, has 524288 (lhs 1048576, rhs 1048576, result 16384); hint: lower tile-l2 k from 4096 to 992}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [2, 2], tile_l1 = [32, 32, 32], tile_l2 = [64, 64, 4096], depth_l2 = 1}>}
      ins(%a, %b : tensor<64x4096xi32>, tensor<4096x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
}

// -----

func.func @malformed(%a: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error-re @below {{npu.strategy is malformed: unknown field 'gird' (known: grid, tile_l2, {{.*}}); field 'pack' must be 3 positive integers, is [4, 8]; hint: for example #npu.strategy<{grid = [2, 2]}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{gird = [2, 2], pack = [4, 8]}>} ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%a : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{npu.strategy is malformed: field 'depth_l1' must be a positive integer, is 1.500000e+00 : f64; field 'grid' must be 2 positive integers, is [0, 2]}}
  %1 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [0, 2], depth_l1 = 1.5}>} ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%a : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{npu.strategy is malformed: expected #npu.strategy<{...}>, got "fast"}}
  %2 = linalg.matmul {npu.strategy = "fast"} ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%a : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %0 : tensor<8x8xi32>
}

// -----

// One bad matmul doesn't hide another.
func.func @two(%a: tensor<8x8xi8>, %c: tensor<8x8xi8>) -> (tensor<8x8xi8>, tensor<8x8xi8>) {
  // expected-error @below {{device 'toy' cannot multiply i8 x i8 -> i8}}
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xi8>, tensor<8x8xi8>) outs(%c : tensor<8x8xi8>) -> tensor<8x8xi8>
  // expected-error @below {{device 'toy' cannot multiply i8 x i8 -> i8}}
  %1 = linalg.matmul ins(%c, %c : tensor<8x8xi8>, tensor<8x8xi8>) outs(%a : tensor<8x8xi8>) -> tensor<8x8xi8>
  return %0, %1 : tensor<8x8xi8>, tensor<8x8xi8>
}

// -----

// Nobody said a block in L2: that its tiles are too large for a core is all there is to say.
func.func @l1_alone(%a: tensor<4096x4096xi32>) -> tensor<4096x4096xi32> {
  // expected-error @below {{L1 of a core needs 1572864 bytes, has 32768 (acc 1048576, lhs 262144, rhs 262144); hint: lower tile-l1 m,n from 512,512 to}}
  %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [2, 2], tile_l1 = [512, 512, 128], depth_l1 = 1}>}
      ins(%a, %a : tensor<4096x4096xi32>, tensor<4096x4096xi32>) outs(%a : tensor<4096x4096xi32>) -> tensor<4096x4096xi32>
  return %0 : tensor<4096x4096xi32>
}
