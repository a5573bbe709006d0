// Two matmuls in a row are one bundle where no result between them is used elsewhere and nobody said how to map them.
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu1 --remarks --split-input-file 2>&1 | filecheck %s

#id = affine_map<(i, j) -> (i, j)>

// CHECK: remark: [npuflow-fuse-matmuls] two matmuls in a row hand over {{[0-9]+}} bytes in L1: as one they take an estimated 0.{{[0-9]+}} of the time that they take apart
// CHECK: remark: [npuflow-fuse-matmuls] two matmuls in a row hand over {{[0-9]+}} bytes in L1
// CHECK-NOT: remark
// CHECK-LABEL: func.func @chain
// CHECK-NOT: linalg.matmul
// CHECK: linalg.generic {{.*}}"parallel", "parallel", "reduction"]} ins(%arg0, %arg1 {{.*}}npu.bundle = 0
// CHECK: linalg.generic {{.*}}"parallel", "parallel"]} {{.*}}npu.bundle = 0
// CHECK: linalg.generic {{.*}}"parallel", "parallel", "reduction"]} {{.*}}%arg2 {{.*}}npu.bundle = 0
func.func @chain(%a: tensor<4096x32xbf16>, %b: tensor<32x512xbf16>, %d: tensor<512x48xbf16>) -> tensor<4096x48xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4096x512xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %s = linalg.matmul ins(%a, %b : tensor<4096x32xbf16>, tensor<32x512xbf16>)
      outs(%f0 : tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %e1 = tensor.empty() : tensor<4096x512xbf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4096x512xf32>) outs(%e1 : tensor<4096x512xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %m = arith.maximumf %x, %z : f32
    %c = arith.truncf %m : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<4096x512xbf16>
  %e2 = tensor.empty() : tensor<4096x48xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<4096x48xf32>) -> tensor<4096x48xf32>
  %r = linalg.matmul ins(%t, %d : tensor<4096x512xbf16>, tensor<512x48xbf16>)
      outs(%f2 : tensor<4096x48xf32>) -> tensor<4096x48xf32>
  return %r : tensor<4096x48xf32>
}

// -----

// What lies between the matmuls is returned as well, so it has to be in L3 anyway.
// CHECK-LABEL: func.func @used_twice
// CHECK-COUNT-2: linalg.matmul
func.func @used_twice(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%s, %s : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %s, %r : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Who says how a matmul is mapped means a matmul.
// CHECK-LABEL: func.func @said
// CHECK-COUNT-2: linalg.matmul
func.func @said(%a: tensor<64x32xbf16>, %b: tensor<32x64xf32>, %d: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = linalg.matmul {npu.strategy = #npu.strategy<{tile_l1 = [8, 8, 8]}>}
      ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%s, %d : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// A softmax between them has a running maximum, a running total and running sums; the division comes last.
// CHECK-LABEL: func.func @attention
// CHECK-NOT: batch_matmul
// CHECK: [[SUM:%.*]] = linalg.generic {{.*}}ins(%arg0, %arg1 {{.*}}npu.bundle = 0
// CHECK: [[START:%.*]]:3 = linalg.generic {{.*}}npu.bundle = 0
// CHECK: [[LARGEST:%.*]] = linalg.generic {{.*}}ins([[SUM]] {{.*}}outs([[START]]#0 {{.*}}npu.running
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.maximumf
// CHECK: [[UPDATE:%.*]]:3 = linalg.generic {{.*}}ins([[LARGEST]] {{.*}}outs([[START]]#1, {{.*}}, [[START]]#2 {{.*}}npu.running
// CHECK: arith.mulf
// CHECK-NEXT: arith.maximumf
// CHECK: [[POWERS:%.*]] = linalg.generic {{.*}}ins([[SUM]], [[UPDATE]]#0
// CHECK: math.exp
// CHECK: ins([[POWERS]] {{.*}}outs([[UPDATE]]#2
// CHECK: [[SCALED:%.*]] = linalg.generic {{.*}}ins([[UPDATE]]#1 {{.*}}npu.running
// CHECK: ins([[POWERS]], %arg2 {{.*}}outs([[SCALED]]
// CHECK: arith.divf
// CHECK-NEXT: arith.truncf
#q = affine_map<(b, m, n, k) -> (b, m, k)>
#k = affine_map<(b, m, n, k) -> (b, n, k)>
#s = affine_map<(b, m, n, k) -> (b, m, n)>
#whole = affine_map<(b, i, j) -> (b, i, j)>
#rows = affine_map<(b, i, j) -> (b, i)>
func.func @attention(%q: tensor<2x64x32xbf16>, %k: tensor<2x512x32xbf16>, %v: tensor<2x512x32xbf16>)
    -> tensor<2x64x32xbf16> {
  %z = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<2x64x512xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  %t = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x64x32xbf16>, tensor<2x512x32xbf16>)
      outs(%f0 : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  %scores = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<2x64x512xf32>) outs(%e0 : tensor<2x64x512xf32>) {
  ^bb0(%x: f32, %o: f32):
    %half = arith.constant 0.5 : f32
    %y = arith.mulf %x, %half : f32
    linalg.yield %y : f32
  } -> tensor<2x64x512xf32>
  %er = tensor.empty() : tensor<2x64xf32>
  %fm = linalg.fill ins(%least : f32) outs(%er : tensor<2x64xf32>) -> tensor<2x64xf32>
  %m = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%scores : tensor<2x64x512xf32>) outs(%fm : tensor<2x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.maximumf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<2x64xf32>
  %p = linalg.generic {indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores, %m : tensor<2x64x512xf32>, tensor<2x64xf32>) outs(%e0 : tensor<2x64x512xf32>) {
  ^bb0(%x: f32, %l: f32, %o: f32):
    %d = arith.subf %x, %l : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  } -> tensor<2x64x512xf32>
  %fl = linalg.fill ins(%z : f32) outs(%er : tensor<2x64xf32>) -> tensor<2x64xf32>
  %l = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p : tensor<2x64x512xf32>) outs(%fl : tensor<2x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<2x64xf32>
  %eb = tensor.empty() : tensor<2x64x512xbf16>
  %w = linalg.generic {indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %l : tensor<2x64x512xf32>, tensor<2x64xf32>) outs(%eb : tensor<2x64x512xbf16>) {
  ^bb0(%x: f32, %n: f32, %o: bf16):
    %d = arith.divf %x, %n : f32
    %y = arith.truncf %d : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<2x64x512xbf16>
  %eo = tensor.empty() : tensor<2x64x32xf32>
  %fo = linalg.fill ins(%z : f32) outs(%eo : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %r = linalg.batch_matmul ins(%w, %v : tensor<2x64x512xbf16>, tensor<2x512x32xbf16>)
      outs(%fo : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %en = tensor.empty() : tensor<2x64x32xbf16>
  %n = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r : tensor<2x64x32xf32>) outs(%en : tensor<2x64x32xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<2x64x32xbf16>
  return %n : tensor<2x64x32xbf16>
}
