// Groups that a schedule refused as one stay apart, and bundles that it refused in parts of their rows whole; others become one.
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu1 --remarks --split-input-file 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-fuse-windows=device=npu2 --remarks --split-input-file -o %t 2>&1 | filecheck %s --check-prefix=WINDOWS
// RUN: filecheck %s --input-file=%t --check-prefix=NAMED
// RUN: npuflow-opt %s --npuflow-skip-masked="device=npu2 parts=2" --remarks --split-input-file -o %t 2>&1 | filecheck %s --check-prefix=ROWS

// What becomes one has the names of its groups, whichever others do.
// CHECK: remark: [npuflow-fuse-matmuls] two matmuls in a row hand over {{[0-9]+}} bytes in L1
// CHECK: remark: [npuflow-fuse-matmuls] groups chains_0, chains_1 stay apart: as one, it is too long
// CHECK-LABEL: func.func @chains
// CHECK: linalg.matmul {npu.made_of = ["chains_0"]}
// CHECK: linalg.matmul {npu.made_of = ["chains_1"]}
// CHECK: linalg.generic {{.*}}attrs = {npu.bundle = 0 : i64, npu.made_of = ["chains_2", "chains_3"]}
// CHECK: linalg.generic {{.*}}attrs = {npu.bundle = 0 : i64, npu.made_of = ["chains_2", "chains_3"]}
func.func @chains(%a: tensor<4096x32xbf16>, %b: tensor<32x512xbf16>, %d: tensor<512x48xbf16>) -> (tensor<4096x48xf32>, tensor<4096x48xf32>)
    attributes {npu.refused = [{made_of = ["chains_0", "chains_1"], why = "it is too long"}]} {
  %z = arith.constant 0.0 : f32
  %n = arith.constant 0.0 : bf16
  %e0 = tensor.empty() : tensor<4096x512xbf16>
  %f0 = linalg.fill ins(%n : bf16) outs(%e0 : tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
  %e2 = tensor.empty() : tensor<4096x48xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<4096x48xf32>) -> tensor<4096x48xf32>
  %s = linalg.matmul ins(%a, %b : tensor<4096x32xbf16>, tensor<32x512xbf16>) outs(%f0 : tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
  %r = linalg.matmul ins(%s, %d : tensor<4096x512xbf16>, tensor<512x48xbf16>) outs(%f2 : tensor<4096x48xf32>) -> tensor<4096x48xf32>
  %t = linalg.matmul ins(%a, %b : tensor<4096x32xbf16>, tensor<32x512xbf16>) outs(%f0 : tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
  %u = linalg.matmul ins(%t, %d : tensor<4096x512xbf16>, tensor<512x48xbf16>) outs(%f2 : tensor<4096x48xf32>) -> tensor<4096x48xf32>
  return %r, %u : tensor<4096x48xf32>, tensor<4096x48xf32>
}

// -----

#image = affine_map<(n, h, w, c, y, x, i) -> (n, h + y, w + x, i)>
#weights = affine_map<(n, h, w, c, y, x, i) -> (y, x, i, c)>
#made = affine_map<(n, h, w, c, y, x, i) -> (n, h, w, c)>

// What has all of the groups that were refused, and more, stays apart as well.
// WINDOWS: remark: [npuflow-fuse-windows] groups three_0, three_1, three_2 stay apart: as one, it is too long
// WINDOWS: remark: [npuflow-fuse-windows] groups three_1, three_2 stay apart: as one, it is too long
// WINDOWS: remark: [npuflow-fuse-windows] groups three_0, three_1 stay apart: in tiles of
// What stays apart so is known by its name as well.
// NAMED-LABEL: func.func @three
// NAMED: linalg.generic {{.*}}npu.made_of = ["three_0"]
// NAMED: linalg.generic {{.*}}npu.made_of = ["three_1"]
// NAMED: linalg.generic {{.*}}npu.made_of = ["three_2"]
func.func @three(%x: tensor<1x34x34x16xf32>, %v: tensor<3x3x16x16xf32>) -> tensor<1x28x28x16xf32>
    attributes {npu.refused = [{made_of = ["three_1", "three_2"], why = "it is too long"}]} {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x32x32x16xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xf32>
  %r0 = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %v : tensor<1x34x34x16xf32>, tensor<3x3x16x16xf32>) outs(%f0 : tensor<1x32x32x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x32x32x16xf32>
  %e1 = tensor.empty() : tensor<1x30x30x16xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<1x30x30x16xf32>) -> tensor<1x30x30x16xf32>
  %r1 = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%r0, %v : tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) outs(%f1 : tensor<1x30x30x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x30x30x16xf32>
  %e2 = tensor.empty() : tensor<1x28x28x16xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<1x28x28x16xf32>) -> tensor<1x28x28x16xf32>
  %r2 = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%r1, %v : tensor<1x30x30x16xf32>, tensor<3x3x16x16xf32>) outs(%f2 : tensor<1x28x28x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x28x28x16xf32>
  return %r2 : tensor<1x28x28x16xf32>
}

// -----

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// ROWS: remark: [npuflow-skip-masked] 6 of 16 scores are masked, and computed nevertheless: in parts without it, it is too long
func.func @causal(%x: tensor<4x4xf32>) -> tensor<4xf32>
    attributes {npu.refused = [{made_of = ["causal_0", "rows"], why = "it is too long"}]} {
  %mask = arith.constant dense<[[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]> : tensor<4x4xi8>
  %zero = arith.constant 0.0 : f32
  %ew = tensor.empty() : tensor<4x4xf32>
  %w = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mask : tensor<4x4xf32>, tensor<4x4xi8>) outs(%ew : tensor<4x4xf32>) attrs = {npu.bundle = 0, npu.made_of = ["causal_0"]} {
  ^bb0(%a: f32, %m: i8, %o: f32):
    %least = arith.constant 0xFF800000 : f32
    %none = arith.constant 0 : i8
    %is = arith.cmpi ne, %m, %none : i8
    %s = arith.select %is, %a, %least : f32
    %e = math.exp %s : f32
    linalg.yield %e : f32
  } -> tensor<4x4xf32>
  %es = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<4x4xf32>) outs(%fs : tensor<4xf32>) attrs = {npu.bundle = 0, npu.made_of = ["causal_0"]} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
