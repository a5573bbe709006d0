// What reads slices of a matmul's result together is done on the tiles of a matmul for one slice, and reads the others'.
// RUN: npuflow-opt %s --npuflow-fuse-slices=device=npu4.0 --remarks 2>&1 | filecheck %s

// CHECK:       remark: [npuflow-fuse-slices] is done on the tiles of one of 2 matmuls: that takes an estimated 0.{{[0-9]+}} of the time
// CHECK-NOT:   remark
// CHECK-LABEL: func.func @gate
// CHECK:         [[RIGHT:%.*]] = tensor.extract_slice %arg1[0, 2560] [640, 2560]
// CHECK:         [[SECOND:%.*]] = linalg.generic {{.*}}ins(%arg0, [[RIGHT]] {{.*}}outs({{.*}} {
// CHECK:         [[BIAS:%.*]] = tensor.extract_slice %arg2[2560] [2560]
// CHECK:         [[ROUNDED:%.*]] = linalg.generic {{.*}}ins([[SECOND]], [[BIAS]]
// CHECK:         [[LEFT:%.*]] = tensor.extract_slice %arg1[0, 0] [640, 2560]
// CHECK:         [[FIRST:%.*]] = linalg.generic {{.*}}ins(%arg0, [[LEFT]] {{.*}}npu.bundle = 0
// CHECK:         [[TAIL:%.*]] = linalg.generic {{.*}}ins([[FIRST]], {{.*}}npu.bundle = 0
// CHECK:         [[GATED:%.*]] = linalg.generic {{.*}}["parallel", "parallel"]} ins([[TAIL]], [[ROUNDED]] {{.*}}npu.bundle = 0
// CHECK-NOT:     linalg.generic
// CHECK:         tensor.expand_shape [[GATED]] {{.*}} into tensor<1x1024x2560xbf16>
#id = affine_map<(i, j) -> (i, j)>
#id3 = affine_map<(o, i, j) -> (o, i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @gate(%x: tensor<1024x640xbf16>, %w: tensor<640x5120xbf16>, %bias: tensor<5120xf32>) -> tensor<1x1024x2560xbf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x5120xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x5120xf32>) -> tensor<1024x5120xf32>
  %r = linalg.matmul ins(%x, %w : tensor<1024x640xbf16>, tensor<640x5120xbf16>) outs(%f : tensor<1024x5120xf32>) -> tensor<1024x5120xf32>
  %eb = tensor.empty() : tensor<1024x5120xbf16>
  %t = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias : tensor<1024x5120xf32>, tensor<5120xf32>) outs(%eb : tensor<1024x5120xbf16>) {
  ^bb0(%a: f32, %b: f32, %o: bf16):
    %s = arith.addf %a, %b : f32
    %c = arith.truncf %s : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<1024x5120xbf16>
  %u = tensor.expand_shape %t [[0, 1], [2]] output_shape [1, 1024, 5120] : tensor<1024x5120xbf16> into tensor<1x1024x5120xbf16>
  %left = tensor.extract_slice %u[0, 0, 0] [1, 1024, 2560] [1, 1, 1] : tensor<1x1024x5120xbf16> to tensor<1x1024x2560xbf16>
  %right = tensor.extract_slice %u[0, 0, 2560] [1, 1024, 2560] [1, 1, 1] : tensor<1x1024x5120xbf16> to tensor<1x1024x2560xbf16>
  %eg = tensor.empty() : tensor<1x1024x2560xbf16>
  %g = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%left, %right : tensor<1x1024x2560xbf16>, tensor<1x1024x2560xbf16>) outs(%eg : tensor<1x1024x2560xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %q = math.exp %b : bf16
    %s = arith.mulf %a, %q : bf16
    linalg.yield %s : bf16
  } -> tensor<1x1024x2560xbf16>
  return %g : tensor<1x1024x2560xbf16>
}

// A slice that somebody else reads keeps the result whole.
// CHECK-LABEL: func.func @read_twice
// CHECK-COUNT-1: linalg.matmul
// CHECK-NOT:     npu.bundle
func.func @read_twice(%x: tensor<1024x640xbf16>, %w: tensor<640x5120xbf16>, %f: tensor<1024x5120xf32>) -> (tensor<1024x2560xf32>, tensor<1024x2560xf32>) {
  %r = linalg.matmul ins(%x, %w : tensor<1024x640xbf16>, tensor<640x5120xbf16>) outs(%f : tensor<1024x5120xf32>) -> tensor<1024x5120xf32>
  %left = tensor.extract_slice %r[0, 0] [1024, 2560] [1, 1] : tensor<1024x5120xf32> to tensor<1024x2560xf32>
  %right = tensor.extract_slice %r[0, 2560] [1024, 2560] [1, 1] : tensor<1024x5120xf32> to tensor<1024x2560xf32>
  %e = tensor.empty() : tensor<1024x2560xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%left, %right : tensor<1024x2560xf32>, tensor<1024x2560xf32>) outs(%e : tensor<1024x2560xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1024x2560xf32>
  return %g, %left : tensor<1024x2560xf32>, tensor<1024x2560xf32>
}
