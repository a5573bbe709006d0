// Groups become one whatever is estimated where a function says so; what is estimated stands on the function.
// RUN: npuflow-opt %s --npuflow-fuse-windows=device=npu2 --remarks 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-fuse-windows=device=npu2 --npuflow-assign-strategy=device=npu2 | filecheck %s --check-prefix=BEHIND

// CHECK: remark: [npuflow-fuse-windows] groups three_0, three_1 are one, as parts took less time so: in tiles of
// CHECK-LABEL: func.func @three
// CHECK-SAME: npu.estimated = [{groups = ["three_0"], ns = [{{[0-9]+}}, {{[0-9]+}}]}, {{.*}}{groups = ["three_0", "three_1"], ns = [{{[0-9]+}}, {{[0-9]+}}]}
// CHECK: linalg.generic {{.*}}npu.made_of = ["three_0", "three_1"]
// CHECK: linalg.generic {{.*}}npu.made_of = ["three_2"]
// BEHIND-LABEL: func.func @three
// BEHIND-NOT: npu.estimated


#image = affine_map<(n, h, w, c, y, x, i) -> (n, h + y, w + x, i)>
#weights = affine_map<(n, h, w, c, y, x, i) -> (y, x, i, c)>
#made = affine_map<(n, h, w, c, y, x, i) -> (n, h, w, c)>

func.func @three(%x: tensor<1x34x34x16xf32>, %v: tensor<3x3x16x16xf32>) -> tensor<1x28x28x16xf32>
    attributes {npu.together = [["three_0", "three_1"]]} {
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
