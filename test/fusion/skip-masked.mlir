// Rows of a bundle in parts, each with the columns that any of its rows needs, written where they belong.
// RUN: npuflow-opt %s --npuflow-skip-masked="device=npu2 parts=2" --split-input-file | filecheck %s
// RUN: npuflow-opt %s --npuflow-skip-masked="device=npu2 parts=2" --remarks --split-input-file 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: npuflow-opt %s --npuflow-skip-masked="device=npu2 parts=1" --split-input-file | filecheck %s --check-prefix=NONE
// RUN: npuflow-opt %s --npuflow-skip-masked=device=npu2 --remarks --split-input-file 2>&1 | filecheck %s --check-prefix=BEST

// NONE-NOT: tensor.insert_slice
// BEST: remark: [npuflow-skip-masked] 6 of 16 scores are masked, and computed nevertheless: parts that leave any out take an estimated {{[0-9.]+}} of the time at best

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#rows = affine_map<(i) -> (i)>

// REMARK: remark: [npuflow-skip-masked] 6 of 16 scores are masked: 2 parts of 2 rows leave out 25% of all scores
// CHECK-LABEL: func.func @causal
// CHECK: %[[INTO:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: %[[X0:.*]] = tensor.extract_slice %arg0[0, 0] [2, 2] [1, 1]
// CHECK: %[[MASK0:.*]] = tensor.extract_slice %[[MASK:.*]][0, 0] [2, 2] [1, 1]
// CHECK: linalg.generic {{.*}}ins(%[[X0]], %[[MASK0]] {{.*}}npu.bundle = 1
// CHECK: %[[R0:.*]] = tensor.insert_slice %{{.*}} into %[[INTO]][0] [2] [1]
// CHECK: %[[X1:.*]] = tensor.extract_slice %arg0[2, 0] [2, 4] [1, 1]
// CHECK: %[[MASK1:.*]] = tensor.extract_slice %[[MASK]][2, 0] [2, 4] [1, 1]
// CHECK: linalg.generic {{.*}}ins(%[[X1]], %[[MASK1]] {{.*}}npu.bundle = 2
// CHECK: %[[R1:.*]] = tensor.insert_slice %{{.*}} into %[[R0]][2] [2] [1]
// CHECK: return %[[R1]]
func.func @causal(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %mask = arith.constant dense<[[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]> : tensor<4x4xi8>
  %zero = arith.constant 0.0 : f32
  %ew = tensor.empty() : tensor<4x4xf32>
  %w = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mask : tensor<4x4xf32>, tensor<4x4xi8>) outs(%ew : tensor<4x4xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: f32, %m: i8, %o: f32):
    %least = arith.constant 0xFF800000 : f32
    %none = arith.constant 0 : i8
    %is = arith.cmpi ne, %m, %none : i8
    %s = arith.select %is, %a, %least : f32
    %e = math.exp %s : f32
    linalg.yield %e : f32
  } -> tensor<4x4xf32>
  %es = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%es : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<4x4xf32>) outs(%f : tensor<4xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#first = affine_map<(i, j) -> (i)>
#second = affine_map<(i, j) -> (j)>

// What positions mask has a lower end too.
// REMARK: remark: [npuflow-skip-masked] 56 of 64 scores are masked: 2 parts of 4 rows leave out 50% of all scores
// CHECK-LABEL: func.func @window
// CHECK: tensor.extract_slice %arg0[0, 0] [4, 4] [1, 1]
// CHECK: tensor.extract_slice %arg0[4, 4] [4, 4] [1, 1]
func.func @window(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %place = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  %least = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%least : f32) outs(%es : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#whole, #first, #second, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %place, %place : tensor<8x8xf32>, tensor<8xi32>, tensor<8xi32>) outs(%f : tensor<8xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: f32, %i: i32, %j: i32, %o: f32):
    %none = arith.constant 0xFF800000 : f32
    %reach = arith.constant 1 : i32
    %behind = arith.subi %i, %j : i32
    %near = arith.cmpi ult, %behind, %reach : i32
    %s = arith.select %near, %a, %none : f32
    %t = arith.truncf %s : f32 to bf16
    %n = arith.extf %t : bf16 to f32
    %m = arith.maximumf %o, %n : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// What is masked by a number, or by data, may count.
// REMARK-NOT: remark
// CHECK-LABEL: func.func @number
// CHECK-NOT: tensor.extract_slice
func.func @number(%x: tensor<2x2xf32>, %by: tensor<2x2xi8>) -> tensor<2xf32> {
  %mask = arith.constant dense<[[1, 0], [1, 1]]> : tensor<2x2xi8>
  %least = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%least : f32) outs(%es : tensor<2xf32>) -> tensor<2xf32>
  %r = linalg.generic {indexing_maps = [#whole, #whole, #whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %mask, %by : tensor<2x2xf32>, tensor<2x2xi8>, tensor<2x2xi8>) outs(%f : tensor<2xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: f32, %m: i8, %d: i8, %o: f32):
    %low = arith.constant -1.0E+38 : f32
    %none = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0 : i8
    %is = arith.cmpi ne, %m, %zero : i8
    %also = arith.cmpi ne, %d, %zero : i8
    %s = arith.select %is, %a, %low : f32
    %t = arith.select %also, %s, %none : f32
    %n = arith.maximumf %o, %t : f32
    linalg.yield %n : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}
