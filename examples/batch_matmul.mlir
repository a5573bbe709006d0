// Four independent products of 8-bit integers, accumulated in 32 bits.
func.func @batch_matmul(%a: tensor<4x128x256xi8>, %b: tensor<4x256x128xi8>) -> tensor<4x128x128xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<4x128x128xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<4x128x128xi32>) -> tensor<4x128x128xi32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<4x128x256xi8>, tensor<4x256x128xi8>)
                           outs(%init : tensor<4x128x128xi32>) -> tensor<4x128x128xi32>
  return %c : tensor<4x128x128xi32>
}
