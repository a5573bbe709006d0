// C = A * B on 32-bit integers, the example of the README.
func.func @matmul(%a: tensor<1024x2048xi32>, %b: tensor<2048x512xi32>) -> tensor<1024x512xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1024x512xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  %c = linalg.matmul ins(%a, %b : tensor<1024x2048xi32>, tensor<2048x512xi32>)
                     outs(%init : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  return %c : tensor<1024x512xi32>
}
