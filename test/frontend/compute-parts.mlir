// What is computed of a concatenation that nobody else reads is computed of its parts, where numbers don't get wider so.
// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-compute-parts | filecheck %s

#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// A constant comes in parts as well, and so does what is turned.
// CHECK-LABEL: func.func @scaled
// CHECK:         [[A:%.*]] = linalg.generic {{.*}}ins(%arg0
// CHECK:         [[B:%.*]] = linalg.generic {{.*}}ins(%arg1
// CHECK:         [[FIRST:%.*]] = tensor.extract_slice [[S:%.*]][0] [3] [1] : tensor<8xf32> to tensor<3xf32>
// CHECK:         [[C:%.*]] = linalg.generic {{.*}}ins([[A]], [[FIRST]], %arg2 : {{.*}}) outs({{.*}} : tensor<3x4xbf16>)
// CHECK:         [[SECOND:%.*]] = tensor.extract_slice [[S]][3] [5] [1] : tensor<8xf32> to tensor<5xf32>
// CHECK:         [[D:%.*]] = linalg.generic {{.*}}ins([[B]], [[SECOND]], %arg2 : {{.*}}) outs({{.*}} : tensor<5x4xbf16>)
// CHECK:         tensor.concat dim(0) [[C]], [[D]] : (tensor<3x4xbf16>, tensor<5x4xbf16>) -> tensor<8x4xbf16>
func.func @scaled(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>, %c: tensor<4xf32>) -> tensor<8x4xbf16> {
  %s = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %ea = tensor.empty() : tensor<4x3xf32>
  %eb = tensor.empty() : tensor<4x5xf32>
  %a = linalg.exp ins(%x : tensor<4x3xf32>) outs(%ea : tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = linalg.exp ins(%y : tensor<4x5xf32>) outs(%eb : tensor<4x5xf32>) -> tensor<4x5xf32>
  %r = tensor.concat dim(1) %a, %b : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<8x4xbf16>
  %t = linalg.generic {indexing_maps = [#turned, #row, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%r, %s, %c : tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) outs(%e : tensor<8x4xbf16>) {
  ^bb0(%in: f32, %k: f32, %l: f32, %out: bf16):
    %p = arith.mulf %in, %k : f32
    %q = arith.addf %p, %l : f32
    %z = arith.truncf %q : f32 to bf16
    linalg.yield %z : bf16
  } -> tensor<8x4xbf16>
  return %t : tensor<8x4xbf16>
}

// What is read twice, gets wider, or is made of arguments alone, is computed behind.
// CHECK-LABEL: func.func @behind
// CHECK:         [[R:%.*]] = tensor.concat
// CHECK:         linalg.generic {{.*}}ins([[R]]
// CHECK:         [[T:%.*]] = tensor.concat
// CHECK:         linalg.generic {{.*}}ins([[T]]
func.func @behind(%x: tensor<3xbf16>, %y: tensor<5xbf16>) -> (tensor<8xf32>, tensor<8xbf16>) {
  %ea = tensor.empty() : tensor<3xbf16>
  %eb = tensor.empty() : tensor<5xbf16>
  %a = linalg.exp ins(%x : tensor<3xbf16>) outs(%ea : tensor<3xbf16>) -> tensor<3xbf16>
  %b = linalg.exp ins(%y : tensor<5xbf16>) outs(%eb : tensor<5xbf16>) -> tensor<5xbf16>
  %r = tensor.concat dim(0) %a, %b : (tensor<3xbf16>, tensor<5xbf16>) -> tensor<8xbf16>
  %e = tensor.empty() : tensor<8xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%r : tensor<8xbf16>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %p = arith.extf %in : bf16 to f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  %t = tensor.concat dim(0) %x, %y : (tensor<3xbf16>, tensor<5xbf16>) -> tensor<8xbf16>
  %et = tensor.empty() : tensor<8xbf16>
  %u = linalg.exp ins(%t : tensor<8xbf16>) outs(%et : tensor<8xbf16>) -> tensor<8xbf16>
  return %w, %u : tensor<8xf32>, tensor<8xbf16>
}
