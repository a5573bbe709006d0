// The 3x3 convolutions of ResNet-50 that a batch of 16 makes compute-bound: what `table.py --text` writes of them.

func.func @conv3(%x: tensor<16x28x28x128xi8>, %w: tensor<3x3x128x128xi8>, %bias: tensor<128xi32>) -> tensor<16x28x28x128xi8> {
  %none = arith.constant 0 : i8
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %none : i8
  } : tensor<16x28x28x128xi8> to tensor<16x30x30x128xi8>
  %init_zero = arith.constant 0 : i32
  %init_empty = tensor.empty() : tensor<16x28x28x128xi32>
  %init = linalg.fill ins(%init_zero : i32) outs(%init_empty : tensor<16x28x28x128xi32>) -> tensor<16x28x28x128xi32>
  %sum = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%padded, %w : tensor<16x30x30x128xi8>, tensor<3x3x128x128xi8>)
      outs(%init : tensor<16x28x28x128xi32>) -> tensor<16x28x28x128xi32>
  %shift = arith.constant 12 : i32
  %half = arith.constant 2048 : i32
  %lowest = arith.constant 0 : i32
  %highest = arith.constant 127 : i32
  %result_empty = tensor.empty() : tensor<16x28x28x128xi8>
  %result = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sum, %bias : tensor<16x28x28x128xi32>, tensor<128xi32>) outs(%result_empty : tensor<16x28x28x128xi8>) {
  ^bb0(%s: i32, %b: i32, %o: i8):
    %biased = arith.addi %s, %b : i32
    %rounded = arith.addi %biased, %half : i32
    %shifted = arith.shrsi %rounded, %shift : i32
    %above = arith.maxsi %shifted, %lowest : i32
    %within = arith.minsi %above, %highest : i32
    %narrow = arith.trunci %within : i32 to i8
    linalg.yield %narrow : i8
  } -> tensor<16x28x28x128xi8>
  return %result : tensor<16x28x28x128xi8>
}

func.func @conv4(%x: tensor<16x14x14x256xi8>, %w: tensor<3x3x256x256xi8>, %bias: tensor<256xi32>) -> tensor<16x14x14x256xi8> {
  %none = arith.constant 0 : i8
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %none : i8
  } : tensor<16x14x14x256xi8> to tensor<16x16x16x256xi8>
  %init_zero = arith.constant 0 : i32
  %init_empty = tensor.empty() : tensor<16x14x14x256xi32>
  %init = linalg.fill ins(%init_zero : i32) outs(%init_empty : tensor<16x14x14x256xi32>) -> tensor<16x14x14x256xi32>
  %sum = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%padded, %w : tensor<16x16x16x256xi8>, tensor<3x3x256x256xi8>)
      outs(%init : tensor<16x14x14x256xi32>) -> tensor<16x14x14x256xi32>
  %shift = arith.constant 12 : i32
  %half = arith.constant 2048 : i32
  %lowest = arith.constant 0 : i32
  %highest = arith.constant 127 : i32
  %result_empty = tensor.empty() : tensor<16x14x14x256xi8>
  %result = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sum, %bias : tensor<16x14x14x256xi32>, tensor<256xi32>) outs(%result_empty : tensor<16x14x14x256xi8>) {
  ^bb0(%s: i32, %b: i32, %o: i8):
    %biased = arith.addi %s, %b : i32
    %rounded = arith.addi %biased, %half : i32
    %shifted = arith.shrsi %rounded, %shift : i32
    %above = arith.maxsi %shifted, %lowest : i32
    %within = arith.minsi %above, %highest : i32
    %narrow = arith.trunci %within : i32 to i8
    linalg.yield %narrow : i8
  } -> tensor<16x14x14x256xi8>
  return %result : tensor<16x14x14x256xi8>
}

func.func @conv5(%x: tensor<16x7x7x512xi8>, %w: tensor<3x3x512x512xi8>, %bias: tensor<512xi32>) -> tensor<16x7x7x512xi8> {
  %none = arith.constant 0 : i8
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %none : i8
  } : tensor<16x7x7x512xi8> to tensor<16x9x9x512xi8>
  %init_zero = arith.constant 0 : i32
  %init_empty = tensor.empty() : tensor<16x7x7x512xi32>
  %init = linalg.fill ins(%init_zero : i32) outs(%init_empty : tensor<16x7x7x512xi32>) -> tensor<16x7x7x512xi32>
  %sum = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%padded, %w : tensor<16x9x9x512xi8>, tensor<3x3x512x512xi8>)
      outs(%init : tensor<16x7x7x512xi32>) -> tensor<16x7x7x512xi32>
  %shift = arith.constant 13 : i32
  %half = arith.constant 4096 : i32
  %lowest = arith.constant 0 : i32
  %highest = arith.constant 127 : i32
  %result_empty = tensor.empty() : tensor<16x7x7x512xi8>
  %result = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sum, %bias : tensor<16x7x7x512xi32>, tensor<512xi32>) outs(%result_empty : tensor<16x7x7x512xi8>) {
  ^bb0(%s: i32, %b: i32, %o: i8):
    %biased = arith.addi %s, %b : i32
    %rounded = arith.addi %biased, %half : i32
    %shifted = arith.shrsi %rounded, %shift : i32
    %above = arith.maxsi %shifted, %lowest : i32
    %within = arith.minsi %above, %highest : i32
    %narrow = arith.trunci %within : i32 to i8
    linalg.yield %narrow : i8
  } -> tensor<16x7x7x512xi8>
  return %result : tensor<16x7x7x512xi8>
}
