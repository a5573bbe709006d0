// The i8 GEMM of arXiv:2512.13282 on npu2, B by columns, sums cut to i8: with its published tiles,
// and with nothing said (docs/designs.md).

func.func @published(%a: tensor<4032x4320xi8>, %b: tensor<4608x4320xi8>) -> tensor<4032x4608xi8> {
  %zero = arith.constant 0 : i8
  %empty = tensor.empty() : tensor<4032x4608xi8>
  %filled = linalg.fill ins(%zero : i8) outs(%empty : tensor<4032x4608xi8>) -> tensor<4032x4608xi8>
  %sum = linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    {npu.strategy = #npu.strategy<{grid = [4, 8], tile_l2 = [576, 1152, 432], tile_l1 = [144, 144, 72], pack = [8, 8, 8], depth_result = 1}>}
    ins(%a, %b : tensor<4032x4320xi8>, tensor<4608x4320xi8>) outs(%filled : tensor<4032x4608xi8>) -> tensor<4032x4608xi8>
  return %sum : tensor<4032x4608xi8>
}

func.func @default(%a: tensor<4032x4320xi8>, %b: tensor<4608x4320xi8>) -> tensor<4032x4608xi8> {
  %zero = arith.constant 0 : i8
  %empty = tensor.empty() : tensor<4032x4608xi8>
  %filled = linalg.fill ins(%zero : i8) outs(%empty : tensor<4032x4608xi8>) -> tensor<4032x4608xi8>
  %sum = linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : tensor<4032x4320xi8>, tensor<4608x4320xi8>) outs(%filled : tensor<4032x4608xi8>) -> tensor<4032x4608xi8>
  return %sum : tensor<4032x4608xi8>
}
