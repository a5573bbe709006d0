// relu(A * B + bias) in bf16 with f32 accumulation, truncated back to bf16: a layer of a network.
#row = affine_map<(m, n) -> (m, n)>
#bias = affine_map<(m, n) -> (n)>

func.func @linear_relu(%a: tensor<256x512xbf16>, %b: tensor<512x256xbf16>, %bias: tensor<256xf32>)
    -> tensor<256x256xbf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x512xbf16>, tensor<512x256xbf16>)
                     outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  %out = tensor.empty() : tensor<256x256xbf16>
  %relu = linalg.generic
      {indexing_maps = [#row, #bias, #row], iterator_types = ["parallel", "parallel"]}
      ins(%c, %bias : tensor<256x256xf32>, tensor<256xf32>) outs(%out : tensor<256x256xbf16>) {
    ^bb0(%acc: f32, %shift: f32, %unused: bf16):
      %sum = arith.addf %acc, %shift : f32
      %positive = arith.maximumf %sum, %zero : f32
      %short = arith.truncf %positive : f32 to bf16
      linalg.yield %short : bf16
  } -> tensor<256x256xbf16>
  return %relu : tensor<256x256xbf16>
}
