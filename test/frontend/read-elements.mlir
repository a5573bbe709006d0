// Elements that a body picks are read as operands: along sums of loops, by a loop more, or by looking for them.
// RUN: npuflow-opt %s --npuflow-read-elements --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// Every second row from the third on: a slice, and a map.
// CHECK-LABEL: func.func @affine
// CHECK:         %[[S:.*]] = tensor.extract_slice %{{.*}}[2, 0] [7, 5] [1, 1] : tensor<10x5xf32> to tensor<7x5xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 * 2, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[S]] : tensor<7x5xf32>)
// CHECK-NOT:     tensor.extract %
func.func @affine(%x: tensor<10x5xf32>) -> tensor<4x5xf32> {
  %two = arith.constant 2 : index
  %e = tensor.empty() : tensor<4x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %twice = arith.muli %i, %two : index
    %row = arith.addi %twice, %two : index
    %v = tensor.extract %x[%row, %j] : tensor<10x5xf32>
    linalg.yield %v : f32
  } -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

// Each element three times, as nearest upsampling does.
// CHECK-LABEL: func.func @repeated
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK:         tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<4x3xi8> into tensor<12xi8>
func.func @repeated(%x: tensor<4xi8>) -> tensor<12xi8> {
  %three = arith.constant 3 : index
  %e = tensor.empty() : tensor<12xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<12xi8>) {
  ^bb0(%out: i8):
    %i = linalg.index 0 : index
    %place = arith.floordivsi %i, %three : index
    %v = tensor.extract %x[%place] : tensor<4xi8>
    linalg.yield %v : i8
  } -> tensor<12xi8>
  return %r : tensor<12xi8>
}

// Backwards: no sum of loops with positive multiples, so that a table says which element it is.
// CHECK-LABEL: func.func @backwards
// CHECK:         %[[T:.*]] = arith.constant dense<[4, 3, 2, 1, 0]> : tensor<5xi32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
// CHECK-SAME:      ins(%{{.*}}, %[[T]] : tensor<5xf32>, tensor<5xi32>)
// CHECK:           linalg.index 1
// CHECK:           arith.cmpi eq
// CHECK:           arith.select
func.func @backwards(%x: tensor<5xf32>) -> tensor<5xf32> {
  %four = arith.constant 4 : index
  %e = tensor.empty() : tensor<5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %place = arith.subi %four, %i : index
    %v = tensor.extract %x[%place] : tensor<5xf32>
    linalg.yield %v : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// By data: what picks them is computed first, along its own loops only.
// CHECK-LABEL: func.func @embedding
// CHECK:         %[[W:.*]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%{{.*}} : tensor<7xi64>) outs(%{{.*}} : tensor<7xi32>)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:      ins(%{{.*}}, %[[W]] : tensor<11x12xf32>, tensor<7xi32>)
func.func @embedding(%words: tensor<11x12xf32>, %index: tensor<7xi64>) -> tensor<7x12xf32> {
  %e = tensor.empty() : tensor<7x12xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%index : tensor<7xi64>) outs(%e : tensor<7x12xf32>) {
  ^bb0(%in: i64, %out: f32):
    %word = arith.index_cast %in : i64 to index
    %d = linalg.index 1 : index
    %v = tensor.extract %words[%word, %d] : tensor<11x12xf32>
    linalg.yield %v : f32
  } -> tensor<7x12xf32>
  return %r : tensor<7x12xf32>
}

// Rows and columns by data of their own, one after the other; the same data for both, together.
// CHECK-LABEL: func.func @two_ways
// CHECK-COUNT-2: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:         iterator_types = ["parallel", "reduction", "reduction"]
func.func @two_ways(%x: tensor<6x9xi32>, %rows: tensor<4xi32>, %columns: tensor<5xi32>) -> (tensor<4x5xi32>, tensor<4xi32>) {
  %e = tensor.empty() : tensor<4x5xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%rows, %columns : tensor<4xi32>, tensor<5xi32>) outs(%e : tensor<4x5xi32>) {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %i = arith.index_cast %a : i32 to index
    %j = arith.index_cast %b : i32 to index
    %v = tensor.extract %x[%i, %j] : tensor<6x9xi32>
    linalg.yield %v : i32
  } -> tensor<4x5xi32>
  %d = tensor.empty() : tensor<4xi32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%rows : tensor<4xi32>) outs(%d : tensor<4xi32>) {
  ^bb0(%a: i32, %out: i32):
    %i = arith.index_cast %a : i32 to index
    %v = tensor.extract %x[%i, %i] : tensor<6x9xi32>
    linalg.yield %v : i32
  } -> tensor<4xi32>
  return %r, %s : tensor<4x5xi32>, tensor<4xi32>
}

// Along a diagonal, two dimensions become one.
// CHECK-LABEL: func.func @diagonal
// CHECK:         %[[C:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<6x6xf32> into tensor<36xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 * 7)>, affine_map<(d0) -> (d0)>]
// CHECK-SAME:      ins(%[[C]] : tensor<36xf32>)
func.func @diagonal(%x: tensor<6x6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<6xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i, %i] : tensor<6x6xf32>
    linalg.yield %v : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}
