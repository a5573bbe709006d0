// Two sums of products that one op reads are one bundle, whose steps go through both; of loops of two sizes there are as
// many parts as divide both.
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu2 --remarks --split-input-file 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu2 --npuflow-assign-strategy=device=npu2 --npuflow-tile-bundles --split-input-file | filecheck %s --check-prefix=TILED

#id = affine_map<(i, j) -> (i, j)>

// CHECK: remark: [npuflow-fuse-matmuls] two sums of products side by side hand over 524288 bytes in L1: as one they take an estimated 0.{{[0-9]+}} of the time
// CHECK: remark: [npuflow-fuse-matmuls] two sums of products side by side hand over 524288 bytes in L1
// CHECK: remark: [npuflow-fuse-matmuls] two sums of products side by side have no steps in common
// CHECK-NOT: remark
// CHECK-LABEL: func.func @gate
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%arg0, %arg1 {{.*}}npu.bundle = 0 : i64, npu.made_of = ["gate_0", "gate_1"], npu.step_loop = 2
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%arg0, %arg2 {{.*}}npu.bundle = 0 {{.*}}npu.step_loop = 2
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} {{.*}}npu.bundle = 0
// TILED-LABEL: func.func @gate
// TILED: scf.forall
// TILED: scf.for {{.*}} -> (tensor<[[M:[0-9]+]]x[[N:[0-9]+]]xf32>, tensor<[[M]]x[[N]]xf32>)
func.func @gate(%x: tensor<128x256xbf16>, %a: tensor<256x512xbf16>, %b: tensor<256x512xbf16>) -> tensor<128x512xbf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x512xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x512xf32>) -> tensor<128x512xf32>
  %g = linalg.matmul ins(%x, %a : tensor<128x256xbf16>, tensor<256x512xbf16>)
      outs(%f : tensor<128x512xf32>) -> tensor<128x512xf32>
  %u = linalg.matmul ins(%x, %b : tensor<128x256xbf16>, tensor<256x512xbf16>)
      outs(%f : tensor<128x512xf32>) -> tensor<128x512xf32>
  %o = tensor.empty() : tensor<128x512xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %u : tensor<128x512xf32>, tensor<128x512xf32>) outs(%o : tensor<128x512xbf16>) {
  ^bb0(%p: f32, %q: f32, %s: bf16):
    %m = arith.maximumf %p, %z : f32
    %n = arith.mulf %m, %q : f32
    %t = arith.truncf %n : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<128x512xbf16>
  return %r : tensor<128x512xbf16>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// 256 and 64 go in two parts: of 128, and of 32.
// CHECK-LABEL: func.func @branches
// CHECK: tensor.expand_shape %arg0 {{\[}}[0], [1, 2]] output_shape [128, 2, 128]
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction", "reduction"]} {{.*}}npu.step_loop = 2
// CHECK: tensor.expand_shape %arg2 {{\[}}[0], [1, 2]] output_shape [128, 2, 32]
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction", "reduction"]} {{.*}}npu.step_loop = 2
func.func @branches(%x: tensor<128x256xi8>, %a: tensor<256x512xi8>, %y: tensor<128x64xi8>, %b: tensor<64x512xi8>)
    -> tensor<128x512xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<128x512xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<128x512xi32>) -> tensor<128x512xi32>
  %g = linalg.matmul ins(%x, %a : tensor<128x256xi8>, tensor<256x512xi8>)
      outs(%f : tensor<128x512xi32>) -> tensor<128x512xi32>
  %u = linalg.matmul ins(%y, %b : tensor<128x64xi8>, tensor<64x512xi8>)
      outs(%f : tensor<128x512xi32>) -> tensor<128x512xi32>
  %o = tensor.empty() : tensor<128x512xi32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %u : tensor<128x512xi32>, tensor<128x512xi32>) outs(%o : tensor<128x512xi32>) {
  ^bb0(%p: i32, %q: i32, %s: i32):
    %m = arith.addi %p, %q : i32
    linalg.yield %m : i32
  } -> tensor<128x512xi32>
  return %r : tensor<128x512xi32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// 64 and 45 have no divisor in common.
// CHECK-LABEL: func.func @no_steps
// CHECK-COUNT-2: linalg.matmul
func.func @no_steps(%x: tensor<64x64xi8>, %a: tensor<64x64xi8>, %y: tensor<64x45xi8>, %b: tensor<45x64xi8>)
    -> tensor<64x64xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %g = linalg.matmul ins(%x, %a : tensor<64x64xi8>, tensor<64x64xi8>)
      outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  %u = linalg.matmul ins(%y, %b : tensor<64x45xi8>, tensor<45x64xi8>)
      outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  %o = tensor.empty() : tensor<64x64xi32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %u : tensor<64x64xi32>, tensor<64x64xi32>) outs(%o : tensor<64x64xi32>) {
  ^bb0(%p: i32, %q: i32, %s: i32):
    %m = arith.addi %p, %q : i32
    linalg.yield %m : i32
  } -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// One of the sums is returned as well, so it has to be in L3 anyway.
// CHECK-LABEL: func.func @used_twice
// CHECK-COUNT-2: linalg.matmul
func.func @used_twice(%x: tensor<64x64xi8>, %a: tensor<64x64xi8>, %b: tensor<64x64xi8>)
    -> (tensor<64x64xi32>, tensor<64x64xi32>) {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %g = linalg.matmul ins(%x, %a : tensor<64x64xi8>, tensor<64x64xi8>)
      outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  %u = linalg.matmul ins(%x, %b : tensor<64x64xi8>, tensor<64x64xi8>)
      outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  %o = tensor.empty() : tensor<64x64xi32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %u : tensor<64x64xi32>, tensor<64x64xi32>) outs(%o : tensor<64x64xi32>) {
  ^bb0(%p: i32, %q: i32, %s: i32):
    %m = arith.addi %p, %q : i32
    linalg.yield %m : i32
  } -> tensor<64x64xi32>
  return %r, %u : tensor<64x64xi32>, tensor<64x64xi32>
}
