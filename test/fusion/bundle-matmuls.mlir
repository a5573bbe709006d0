// A matmul becomes a bundle where that is faster with the pipelines of both played out, if nobody said how to map it.
// RUN: npuflow-opt %s --npuflow-bundle-matmuls=device=npu2 --remarks --split-input-file 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-stream-k="bundle-matmuls=true device=npu2" --stop-after=assign-strategy --split-input-file | filecheck %s --check-prefix=MAPPED
// RUN: npuflow-opt %s --npuflow-stream-k="bundle-matmuls=true grid=4,8 device=npu2" --stop-after=assign-strategy --split-input-file | filecheck %s --check-prefix=SAID

// CHECK: remark: [npuflow-bundle-matmuls] is mapped as a bundle: as a bundle it takes an estimated 0.{{[0-9]+}} of the time
// CHECK: remark: [npuflow-bundle-matmuls] stays a matmul: as a bundle it takes an estimated {{[0-9.]+}} of the time
// CHECK-NOT: remark

// SAID-NOT: npu.bundle

// Of a long left operand each block is held while all of the right one goes by.
// CHECK-LABEL: func.func @long
// CHECK-NOT:     linalg.matmul
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "reduction"]} ins(%arg0, %arg1 {{.*}}npu.bundle = 0
// CHECK:         linalg.generic {{.*}}"parallel", "parallel"]} {{.*}}npu.bundle = 0
// MAPPED-LABEL: func.func @long
// MAPPED-SAME:    k = 4096
// MAPPED:         linalg.generic {{.*}}"reduction"]} {{.*}}npu.bundle = 0 : i64, npu.strategy
func.func @long(%a: tensor<4096x4096xi8>, %b: tensor<4096x512xi8>) -> tensor<4096x512xi8> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4096x512xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<4096x512xi32>) -> tensor<4096x512xi32>
  %s = linalg.matmul ins(%a, %b : tensor<4096x4096xi8>, tensor<4096x512xi8>) outs(%f : tensor<4096x512xi32>) -> tensor<4096x512xi32>
  %g = tensor.empty() : tensor<4096x512xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4096x512xi32>) outs(%g : tensor<4096x512xi8>) {
  ^bb0(%x: i32, %o: i8):
    %t = arith.trunci %x : i32 to i8
    linalg.yield %t : i8
  } -> tensor<4096x512xi8>
  return %r : tensor<4096x512xi8>
}

// -----

// CHECK-LABEL: func.func @even
// CHECK:         linalg.matmul
// MAPPED-LABEL: func.func @even
// MAPPED:         linalg.matmul {{.*}}npu.strategy
func.func @even(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>) -> tensor<64x64xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %s = linalg.matmul ins(%a, %b : tensor<64x64xi8>, tensor<64x64xi8>) outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %s : tensor<64x64xi32>
}

// -----

// CHECK-LABEL: func.func @said
// CHECK:         linalg.matmul
func.func @said(%a: tensor<4096x4096xi8>, %b: tensor<4096x512xi8>) -> tensor<4096x512xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4096x512xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<4096x512xi32>) -> tensor<4096x512xi32>
  %s = linalg.matmul {npu.strategy = #npu.strategy<{depth_l2 = 2 : i64}>} ins(%a, %b : tensor<4096x4096xi8>, tensor<4096x512xi8>) outs(%f : tensor<4096x512xi32>) -> tensor<4096x512xi32>
  return %s : tensor<4096x512xi32>
}
