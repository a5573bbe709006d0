// A 1x1 convolution of a column of 2048 pixels, 48 to 256 channels: a matmul in disguise.
func.func @column_conv(%image: tensor<1x2048x1x48xi8>, %weights: tensor<256x1x1x48xi8>) -> tensor<1x2048x1x256xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x2048x1x256xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x2048x1x256xi32>) -> tensor<1x2048x1x256xi32>
  %result = linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %weights : tensor<1x2048x1x48xi8>, tensor<256x1x1x48xi8>)
      outs(%init : tensor<1x2048x1x256xi32>) -> tensor<1x2048x1x256xi32>
  return %result : tensor<1x2048x1x256xi32>
}
