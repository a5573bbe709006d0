// A norm, a matmul and a softmax. That is more than an array holds side by side, so it runs as a sequence of three parts:
//   npuflow run examples/block.mlir --device=npu2
#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

func.func @block(%x: tensor<64x256xbf16>, %gain: tensor<256xbf16>, %w: tensor<256x512xbf16>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %columns = arith.constant 256.0 : f32

  // Every row divided by the root of its mean square, times a gain per column.
  %e0 = tensor.empty() : tensor<64xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64xf32>) -> tensor<64xf32>
  %squares = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x256xbf16>) outs(%f0 : tensor<64xf32>) {
  ^bb0(%a: bf16, %sum: f32):
    %b = arith.extf %a : bf16 to f32
    %c = arith.mulf %b, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  } -> tensor<64xf32>
  %e1 = tensor.empty() : tensor<64x256xbf16>
  %norm = linalg.generic {indexing_maps = [#same, #row, #column, #same], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %gain : tensor<64x256xbf16>, tensor<64xf32>, tensor<256xbf16>) outs(%e1 : tensor<64x256xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %g: bf16, %o: bf16):
    %mean = arith.divf %sum, %columns : f32
    %factor = math.rsqrt %mean : f32
    %b = arith.extf %a : bf16 to f32
    %h = arith.extf %g : bf16 to f32
    %c = arith.mulf %b, %factor : f32
    %d = arith.mulf %c, %h : f32
    %r = arith.truncf %d : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<64x256xbf16>

  %e2 = tensor.empty() : tensor<64x512xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %scores = linalg.matmul ins(%norm, %w : tensor<64x256xbf16>, tensor<256x512xbf16>) outs(%f2 : tensor<64x512xf32>) -> tensor<64x512xf32>

  %softmax = linalg.softmax dimension(1) ins(%scores : tensor<64x512xf32>) outs(%e2 : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %softmax : tensor<64x512xf32>
}
