// Sizes that no tile divides, and B stored transposed (its rows are columns of the product).
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#acc = affine_map<(m, n, k) -> (m, n)>

func.func @odd_shapes(%a: tensor<127x263xi16>, %b: tensor<61x263xi16>) -> tensor<127x61xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<127x61xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<127x61xi32>) -> tensor<127x61xi32>
  %c = linalg.matmul indexing_maps = [#lhs, #rhs, #acc]
                     ins(%a, %b : tensor<127x263xi16>, tensor<61x263xi16>)
                     outs(%init : tensor<127x61xi32>) -> tensor<127x61xi32>
  return %c : tensor<127x61xi32>
}
