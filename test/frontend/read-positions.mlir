// What an op computes from positions, it computes from slices of tensors of them.
// RUN: npuflow-opt %s --npuflow-read-positions --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// A tensor for each loop, its inputs the last ones.
// CHECK-LABEL: func.func @mask
// CHECK:         %[[I:.*]] = arith.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK:         %[[J:.*]] = arith.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%{{.*}}, %[[I]], %[[J]] : tensor<3x5xf32>, tensor<3xi32>, tensor<5xi32>)
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %[[P:.*]]: i32, %[[Q:.*]]: i32, %{{.*}}: f32):
// CHECK-DAG:       %[[ROW:.*]] = arith.index_cast %[[P]] : i32 to index
// CHECK-DAG:       %[[COLUMN:.*]] = arith.index_cast %[[Q]] : i32 to index
// CHECK-NOT:       linalg.index
// CHECK:           arith.cmpi sle, %[[COLUMN]], %[[ROW]] : index
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @mask(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x5xf32>) outs(%e : tensor<3x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %row = linalg.index 0 : index
    %column = linalg.index 1 : index
    %is_kept = arith.cmpi sle, %column, %row : index
    %s = arith.select %is_kept, %in, %zero : f32
    linalg.yield %s : f32
  } -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// The place of the largest element: two results, and the position along a sum's loop, asked for twice and read once.
// CHECK-LABEL: func.func @argmax
// CHECK-COUNT-1: arith.constant dense<
// CHECK:         linalg.generic {{.*}}affine_map<(d0, d1) -> (d1)>{{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x6xf32>, tensor<6xi32>)
func.func @argmax(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4xi32>
  %a = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.fill ins(%zero : i32) outs(%f : tensor<4xi32>) -> tensor<4xi32>
  %r:2 = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%a, %b : tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%in: f32, %most: f32, %where: i32):
    %i = linalg.index 1 : index
    %j = linalg.index 1 : index
    %sum = arith.addi %i, %j : index
    %place = arith.index_cast %sum : index to i32
    %is_more = arith.cmpf ogt, %in, %most : f32
    %value = arith.select %is_more, %in, %most : f32
    %found = arith.select %is_more, %place, %where : i32
    linalg.yield %value, %found : f32, i32
  } -> (tensor<4xf32>, tensor<4xi32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
}

// Nothing to do.
// CHECK-LABEL: func.func @none
// CHECK-NOT:     arith.constant
func.func @none(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %r = math.absf %x : tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
