// With all of a row's scores on a core, the division is made behind the second matmul, and the maximum in the scores' type.
// Where two engines work side by side, the matrix engine sums up the weights: it multiplies them by ones.
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu2 | filecheck %s --check-prefixes=BOTH,ONE
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu4.0 | filecheck %s --check-prefixes=BOTH,TWO

// BOTH-LABEL: func.func @attention
// BOTH:         [[SCORES:%.*]] = linalg.generic {{.*}} : tensor<8x128x77xf32>) outs({{.*}}npu.bundle = 0
// BOTH-NEXT:    ^bb0
// BOTH-NEXT:      arith.truncf
// BOTH:         [[LOWEST:%.*]] = arith.constant -3.38{{.*}} : bf16
// BOTH:         [[START:%.*]] = linalg.fill ins([[LOWEST]]
// BOTH:         [[LARGEST:%.*]] = linalg.generic {{.*}}ins([[SCORES]] {{.*}}outs([[START]] : tensor<8x128xbf16>){{.*}}npu.bundle = 0
// BOTH:         [[EXTENDED:%.*]] = linalg.generic {{.*}}ins([[LARGEST]] {{.*}}npu.bundle = 0
// BOTH:         [[WEIGHTS:%.*]] = linalg.generic {{.*}}ins([[SCORES]], [[EXTENDED]] {{.*}}npu.bundle = 0
// BOTH:           math.exp
// BOTH-NEXT:      arith.truncf
// ONE:          [[TOTAL:%.*]] = linalg.generic {{.*}}ins([[WEIGHTS]] : tensor<8x128x77xbf16>) {{.*}}npu.bundle = 0
// TWO:          [[ONES:%.*]] = arith.constant dense<1.0{{.*}}> : tensor<77x1xbf16>
// TWO:          [[TOTAL:%.*]] = linalg.generic {{.*}}ins([[WEIGHTS]], [[ONES]] {{.*}}npu.bundle = 0
// BOTH:         [[INVERSE:%.*]] = linalg.generic {{.*}}ins([[TOTAL]] {{.*}}npu.bundle = 0
// BOTH:           arith.divf
// BOTH:         [[SUMS:%.*]] = linalg.generic {{.*}}ins([[WEIGHTS]], %arg2 {{.*}}npu.bundle = 0
// BOTH:         linalg.generic {{.*}}ins([[SUMS]], [[INVERSE]] {{.*}}npu.bundle = 0
// BOTH:           arith.mulf
// BOTH-NOT:     npu.running
#q = affine_map<(b, m, n, k) -> (b, m, k)>
#k = affine_map<(b, m, n, k) -> (b, n, k)>
#s = affine_map<(b, m, n, k) -> (b, m, n)>
#whole = affine_map<(b, i, j) -> (b, i, j)>
#rows = affine_map<(b, i, j) -> (b, i)>
func.func @attention(%q: tensor<8x128x64xbf16>, %k: tensor<8x77x64xbf16>, %v: tensor<8x77x64xbf16>)
    -> tensor<8x128x64xbf16> {
  %z = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<8x128x77xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<8x128x77xf32>) -> tensor<8x128x77xf32>
  %t = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<8x128x64xbf16>, tensor<8x77x64xbf16>)
      outs(%f0 : tensor<8x128x77xf32>) -> tensor<8x128x77xf32>
  %eh = tensor.empty() : tensor<8x128x77xbf16>
  %scores = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<8x128x77xf32>) outs(%eh : tensor<8x128x77xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<8x128x77xbf16>
  %er = tensor.empty() : tensor<8x128xf32>
  %fm = linalg.fill ins(%least : f32) outs(%er : tensor<8x128xf32>) -> tensor<8x128xf32>
  %m = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%scores : tensor<8x128x77xbf16>) outs(%fm : tensor<8x128xf32>) {
  ^bb0(%h: bf16, %o: f32):
    %x = arith.extf %h : bf16 to f32
    %y = arith.maximumf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<8x128xf32>
  %p = linalg.generic {indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores, %m : tensor<8x128x77xbf16>, tensor<8x128xf32>) outs(%e0 : tensor<8x128x77xf32>) {
  ^bb0(%h: bf16, %l: f32, %o: f32):
    %x = arith.extf %h : bf16 to f32
    %d = arith.subf %x, %l : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  } -> tensor<8x128x77xf32>
  %fl = linalg.fill ins(%z : f32) outs(%er : tensor<8x128xf32>) -> tensor<8x128xf32>
  %l = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p : tensor<8x128x77xf32>) outs(%fl : tensor<8x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<8x128xf32>
  %eb = tensor.empty() : tensor<8x128x77xbf16>
  %w = linalg.generic {indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %l : tensor<8x128x77xf32>, tensor<8x128xf32>) outs(%eb : tensor<8x128x77xbf16>) {
  ^bb0(%x: f32, %n: f32, %o: bf16):
    %d = arith.divf %x, %n : f32
    %y = arith.truncf %d : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<8x128x77xbf16>
  %eo = tensor.empty() : tensor<8x128x64xf32>
  %fo = linalg.fill ins(%z : f32) outs(%eo : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
  %r = linalg.batch_matmul ins(%w, %v : tensor<8x128x77xbf16>, tensor<8x77x64xbf16>)
      outs(%fo : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
  %en = tensor.empty() : tensor<8x128x64xbf16>
  %n = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r : tensor<8x128x64xf32>) outs(%en : tensor<8x128x64xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<8x128x64xbf16>
  return %n : tensor<8x128x64xbf16>
}
