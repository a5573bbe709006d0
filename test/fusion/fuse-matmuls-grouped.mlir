// Three heads of queries share keys and values, and a row without any score but -inf is one whose weights have the sum 0.
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu1 | filecheck %s

// CHECK-LABEL: func.func @grouped
// CHECK: [[SUM:%.*]] = linalg.generic {{.*}}ins(%arg0, %arg1 {{.*}}npu.bundle = 0
// CHECK: [[START:%.*]]:3 = linalg.generic {{.*}}npu.bundle = 0
// CHECK: linalg.generic {{.*}}ins([[SUM]] {{.*}}outs([[START]]#0 {{.*}}npu.running
// CHECK-NOT: arith.andi
// CHECK: arith.cmpf oeq
// CHECK-NEXT: arith.divf
// CHECK-NEXT: arith.select
#gq = affine_map<(b, g, m, n, k) -> (b, g, m, k)>
#gk = affine_map<(b, g, m, n, k) -> (b, n, k)>
#gv = affine_map<(b, g, m, n, k) -> (b, k, n)>
#gs = affine_map<(b, g, m, n, k) -> (b, g, m, n)>
#gw = affine_map<(b, g, i, j) -> (b, g, i, j)>
#gr = affine_map<(b, g, i, j) -> (b, g, i)>
func.func @grouped(%q: tensor<2x3x64x32xbf16>, %k: tensor<2x512x32xbf16>, %v: tensor<2x512x32xbf16>)
    -> tensor<2x3x64x32xf32> {
  %z = arith.constant 0.0 : f32
  %true = arith.constant true
  %least = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x3x64x512xf32>
  %fs = linalg.fill ins(%z : f32) outs(%es : tensor<2x3x64x512xf32>) -> tensor<2x3x64x512xf32>
  %s = linalg.generic {indexing_maps = [#gq, #gk, #gs], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x64x32xbf16>, tensor<2x512x32xbf16>) outs(%fs : tensor<2x3x64x512xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x3x64x512xf32>
  %er = tensor.empty() : tensor<2x3x64xf32>
  %fm = linalg.fill ins(%least : f32) outs(%er : tensor<2x3x64xf32>) -> tensor<2x3x64xf32>
  %m = linalg.generic {indexing_maps = [#gw, #gr], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x3x64x512xf32>) outs(%fm : tensor<2x3x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.maximumf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<2x3x64xf32>
  %p = linalg.generic {indexing_maps = [#gw, #gr, #gw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x3x64x512xf32>, tensor<2x3x64xf32>) outs(%es : tensor<2x3x64x512xf32>) {
  ^bb0(%x: f32, %l: f32, %o: f32):
    %d = arith.subf %x, %l : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  } -> tensor<2x3x64x512xf32>
  %fl = linalg.fill ins(%z : f32) outs(%er : tensor<2x3x64xf32>) -> tensor<2x3x64xf32>
  %l = linalg.generic {indexing_maps = [#gw, #gr], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p : tensor<2x3x64x512xf32>) outs(%fl : tensor<2x3x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<2x3x64xf32>
  %ee = tensor.empty() : tensor<2x3x64xi1>
  %fe = linalg.fill ins(%true : i1) outs(%ee : tensor<2x3x64xi1>) -> tensor<2x3x64xi1>
  %e = linalg.generic {indexing_maps = [#gw, #gr], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x3x64x512xf32>) outs(%fe : tensor<2x3x64xi1>) {
  ^bb0(%x: f32, %o: i1):
    %is = arith.cmpf oeq, %x, %least : f32
    %y = arith.andi %is, %o : i1
    linalg.yield %y : i1
  } -> tensor<2x3x64xi1>
  %eb = tensor.empty() : tensor<2x3x64x512xbf16>
  %w = linalg.generic {indexing_maps = [#gw, #gr, #gr, #gw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p, %l, %e : tensor<2x3x64x512xf32>, tensor<2x3x64xf32>, tensor<2x3x64xi1>) outs(%eb : tensor<2x3x64x512xbf16>) {
  ^bb0(%x: f32, %n: f32, %is: i1, %o: bf16):
    %d = arith.divf %x, %n : f32
    %c = arith.select %is, %z, %d : f32
    %y = arith.truncf %c : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<2x3x64x512xbf16>
  %eo = tensor.empty() : tensor<2x3x64x32xf32>
  %fo = linalg.fill ins(%z : f32) outs(%eo : tensor<2x3x64x32xf32>) -> tensor<2x3x64x32xf32>
  %r = linalg.generic {indexing_maps = [#gq, #gv, #gs], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %v : tensor<2x3x64x512xbf16>, tensor<2x512x32xbf16>) outs(%fo : tensor<2x3x64x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %a = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<2x3x64x32xf32>
  return %r : tensor<2x3x64x32xf32>
}
