// C = A * B in words of 16 bits, as a small systolic array has them.
func.func @matmul(%a: tensor<256x256xi16>, %b: tensor<256x256xi16>) -> tensor<256x256xi16> {
  %zero = arith.constant 0 : i16
  %empty = tensor.empty() : tensor<256x256xi16>
  %init = linalg.fill ins(%zero : i16) outs(%empty : tensor<256x256xi16>) -> tensor<256x256xi16>
  %c = linalg.matmul ins(%a, %b : tensor<256x256xi16>, tensor<256x256xi16>)
                     outs(%init : tensor<256x256xi16>) -> tensor<256x256xi16>
  return %c : tensor<256x256xi16>
}
