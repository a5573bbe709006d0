// Ops that do something only where a position is what data ask for say so; positions are on the right of comparisons.
// RUN: npuflow-opt %s --npuflow-mark-lookups --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT
// RUN: npuflow run %s --device=toy | filecheck %s --check-prefix=RAN

// RAN-COUNT-4: verified    bit-exact

// RIGHT-NOT: wrong

// Elements that are picked: along the reduction.
// CHECK-LABEL: func.func @gathered
// CHECK:         linalg.generic
// CHECK-SAME:      attrs = {npu.lookup}
// CHECK:           arith.cmpi eq, %{{.*}}, %[[P:.*]] : i32
func.func @gathered(%x: tensor<6x3xf32>, %a: tensor<4xi32>) -> tensor<4x3xf32> {
  %positions = arith.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %a, %positions : tensor<6x3xf32>, tensor<4xi32>, tensor<6xi32>) outs(%f : tensor<4x3xf32>) {
  ^bb0(%one: f32, %asked: i32, %here: i32, %out: f32):
    %hit = arith.cmpi eq, %here, %asked : i32
    %v = arith.select %hit, %one, %out : f32
    linalg.yield %v : f32
  } -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// Elements that are added where they are meant for: along a parallel loop.
// CHECK-LABEL: func.func @scattered
// CHECK:         attrs = {npu.lookup}
func.func @scattered(%x: tensor<7xi32>, %a: tensor<7xi64>, %o: tensor<5xi32>) -> tensor<5xi32> {
  %positions = arith.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %a, %positions : tensor<7xi32>, tensor<7xi64>, tensor<5xi32>) outs(%o : tensor<5xi32>) {
  ^bb0(%one: i32, %asked: i64, %here: i32, %out: i32):
    %wide = arith.extsi %here : i32 to i64
    %hit = arith.cmpi eq, %asked, %wide : i64
    %sum = arith.addi %out, %one : i32
    %v = arith.select %hit, %sum, %out : i32
    linalg.yield %v : i32
  } -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// What is compared with isn't consecutive, and what somebody has said of it goes.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     npu.lookup
func.func @others(%x: tensor<4xi32>, %a: tensor<3xi32>, %o: tensor<3xi32>) -> tensor<3xi32> {
  %names = arith.constant dense<[3, 1, 2, 0]> : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %a, %names : tensor<4xi32>, tensor<3xi32>, tensor<4xi32>) outs(%o : tensor<3xi32>) attrs = {npu.lookup} {
  ^bb0(%one: i32, %asked: i32, %name: i32, %out: i32):
    %hit = arith.cmpi eq, %asked, %name : i32
    %v = arith.select %hit, %one, %out : i32
    linalg.yield %v : i32
  } -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// What isn't found becomes something, so that every position matters.
// CHECK-LABEL: func.func @one_hot
// CHECK-NOT:     npu.lookup
func.func @one_hot(%a: tensor<3xi32>, %o: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %positions = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %positions : tensor<3xi32>, tensor<4xi32>) outs(%o : tensor<3x4xi32>) {
  ^bb0(%asked: i32, %here: i32, %out: i32):
    %hit = arith.cmpi eq, %asked, %here : i32
    %v = arith.select %hit, %one, %zero : i32
    linalg.yield %v : i32
  } -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
