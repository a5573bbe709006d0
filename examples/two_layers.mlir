// Two layers in a row, relu(X A) B: as one they run on tiles of rows, of which nothing in between is stored.
#id = affine_map<(m, n) -> (m, n)>

func.func @two_layers(%x: tensor<8192x64xbf16>, %a: tensor<64x128xbf16>, %b: tensor<128x64xbf16>) -> tensor<8192x64xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<8192x128xf32>
  %wide_init = linalg.fill ins(%zero : f32) outs(%wide : tensor<8192x128xf32>) -> tensor<8192x128xf32>
  %hidden = linalg.matmul ins(%x, %a : tensor<8192x64xbf16>, tensor<64x128xbf16>)
      outs(%wide_init : tensor<8192x128xf32>) -> tensor<8192x128xf32>
  %narrow = tensor.empty() : tensor<8192x128xbf16>
  %positive = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%hidden : tensor<8192x128xf32>) outs(%narrow : tensor<8192x128xbf16>) {
  ^bb0(%h: f32, %out: bf16):
    %relu = arith.maximumf %h, %zero : f32
    %short = arith.truncf %relu : f32 to bf16
    linalg.yield %short : bf16
  } -> tensor<8192x128xbf16>
  %empty = tensor.empty() : tensor<8192x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8192x64xf32>) -> tensor<8192x64xf32>
  %result = linalg.matmul ins(%positive, %b : tensor<8192x128xbf16>, tensor<128x64xbf16>)
      outs(%init : tensor<8192x64xf32>) -> tensor<8192x64xf32>
  return %result : tensor<8192x64xf32>
}
