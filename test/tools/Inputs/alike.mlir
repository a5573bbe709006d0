// Two functions that are alike but for their names.

func.func @first(%a: tensor<16x32xi8>, %b: tensor<32x16xi8>) -> tensor<16x16xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x16xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x16xi32>) -> tensor<16x16xi32>
  %sum = linalg.matmul
    ins(%a, %b : tensor<16x32xi8>, tensor<32x16xi8>) outs(%fill : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %sum : tensor<16x16xi32>
}

func.func @second(%left: tensor<16x32xi8>, %right: tensor<32x16xi8>) -> tensor<16x16xi32> {
  %none = arith.constant 0 : i32
  %made = tensor.empty() : tensor<16x16xi32>
  %start = linalg.fill ins(%none : i32) outs(%made : tensor<16x16xi32>) -> tensor<16x16xi32>
  %product = linalg.matmul
    ins(%left, %right : tensor<16x32xi8>, tensor<32x16xi8>) outs(%start : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %product : tensor<16x16xi32>
}
