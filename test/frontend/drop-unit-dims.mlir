// Dimensions of one element that reductions keep are left out, as are those that tensor.expand_shape adds.
// RUN: npuflow-opt %s --npuflow-drop-unit-dims --mlir-print-local-scope | filecheck %s

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1, 0)>

// A sum of rows, its root, and rows scaled by it: what is between them has a loop per row, and a number.
// CHECK-LABEL: func.func @kept
// CHECK:         %[[S:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:      outs(%{{.*}} : tensor<4x8xf32>)
// CHECK:         %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%[[S]] : tensor<4x8xf32>)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%{{.*}}, %[[R]] : tensor<4x8x16xf32>, tensor<4x8xf32>)
func.func @kept(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8x1xf32>) -> tensor<4x8x1xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x8x16xf32>) outs(%f : tensor<4x8x1xf32>) {
  ^bb0(%a: f32, %total: f32):
    %t = arith.addf %total, %a : f32
    linalg.yield %t : f32
  } -> tensor<4x8x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<4x8x1xf32>) outs(%e : tensor<4x8x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %t = math.rsqrt %a : f32
    linalg.yield %t : f32
  } -> tensor<4x8x1xf32>
  %g = tensor.empty() : tensor<4x8x16xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %r : tensor<4x8x16xf32>, tensor<4x8x1xf32>) outs(%g : tensor<4x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %t = arith.mulf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// What is returned keeps its shape; everything but an element can be left out.
// CHECK-LABEL: func.func @returned
// CHECK:         %[[S:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>]
// CHECK-SAME:      outs(%{{.*}} : tensor<f32>)
// CHECK:         %[[R:.*]] = tensor.expand_shape %[[S]] [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
// CHECK:         return %[[R]]
func.func @returned(%x: tensor<8x16xf32>, %init: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, 0)>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<8x16xf32>) outs(%init : tensor<1x1xf32>) {
  ^bb0(%a: f32, %total: f32):
    %t = arith.maximumf %total, %a : f32
    linalg.yield %t : f32
  } -> tensor<1x1xf32>
  return %s : tensor<1x1xf32>
}

#image = affine_map<(n, c, h, w) -> (n, c, h, w)>

// A parameter per channel is read as it lies; the loop over the image's number, which both have, stays.
// CHECK-LABEL: func.func @expanded
// CHECK-NOT:     tensor.expand_shape
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<1x4x8x8xf32>, tensor<4xf32>)
func.func @expanded(%x: tensor<1x4x8x8xf32>, %scale: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %wide = tensor.expand_shape %scale [[0, 1, 2]] output_shape [4, 1, 1] : tensor<4xf32> into tensor<4x1x1xf32>
  %e = tensor.empty() : tensor<1x4x8x8xf32>
  %y = linalg.generic {indexing_maps = [#image, affine_map<(n, c, h, w) -> (c, 0, 0)>, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %wide : tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) outs(%e : tensor<1x4x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %t = arith.mulf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8x8xf32>
  return %y : tensor<1x4x8x8xf32>
}

// A residual that lacks a dimension doesn't part a tail from what computes the rest.
// CHECK-LABEL: func.func @tail
// CHECK:         linalg.generic {{.*}}["parallel", "parallel", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<1x4x8xf32>, tensor<1x4x8xf32>)
func.func @tail(%a: tensor<1x4x16xf32>, %b: tensor<1x16x8xf32>, %c: tensor<4x8xf32>, %init: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<1x4x16xf32>, tensor<1x16x8xf32>) outs(%init : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %wide = tensor.expand_shape %c [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %e = tensor.empty() : tensor<1x4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %wide : tensor<1x4x8xf32>, tensor<1x4x8xf32>) outs(%e : tensor<1x4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// The only row is read along the loop over rows: the bias is a tail.
// CHECK-LABEL: func.func @only_row
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
func.func @only_row(%a: tensor<1x16xf32>, %b: tensor<16x8xf32>, %bias: tensor<8xf32>, %init: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<1x16xf32>, tensor<16x8xf32>) outs(%init : tensor<1x8xf32>) -> tensor<1x8xf32>
  %e = tensor.empty() : tensor<1x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%r, %bias : tensor<1x8xf32>, tensor<8xf32>) outs(%e : tensor<1x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}

// Dynamic shapes are none of this pass's business.
// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT:    linalg.generic
// CHECK-SAME:      outs(%{{.*}} : tensor<?x1xf32>)
func.func @dynamic(%x: tensor<?x8xf32>, %init: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x8xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%a: f32, %total: f32):
    %t = arith.addf %total, %a : f32
    linalg.yield %t : f32
  } -> tensor<?x1xf32>
  return %s : tensor<?x1xf32>
}

// A mask of all heads, which is an argument, is read as what it is for each: heads may come in groups then.
// CHECK-LABEL: func.func @mask
// CHECK:         %[[M:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] : tensor<1x1x8x8xf32> into tensor<8x8xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%{{.*}}, %[[M]] : tensor<4x8x8xf32>, tensor<8x8xf32>)
func.func @mask(%x: tensor<4x8x8xf32>, %mask: tensor<1x1x8x8xf32>) -> tensor<4x8x8xf32> {
  %m = tensor.collapse_shape %mask [[0, 1], [2], [3]] : tensor<1x1x8x8xf32> into tensor<1x8x8xf32>
  %e = tensor.empty() : tensor<4x8x8xf32>
  %y = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1, d2) -> (0, d1, d2)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %m : tensor<4x8x8xf32>, tensor<1x8x8xf32>) outs(%e : tensor<4x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<4x8x8xf32>
  return %y : tensor<4x8x8xf32>
}

// What an op makes is read at its only element as before, and so is a number.
// CHECK-LABEL: func.func @no_argument
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8x8xf32>, tensor<1x8x8xf32>, tensor<1x1x1xf32>)
func.func @no_argument(%x: tensor<4x8x8xf32>, %source: tensor<1x8x8xf32>, %number: tensor<1x1x1xf32>) -> tensor<4x8x8xf32> {
  %made = tensor.empty() : tensor<1x8x8xf32>
  %one = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%source : tensor<1x8x8xf32>) outs(%made : tensor<1x8x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %t = math.rsqrt %a : f32
    linalg.yield %t : f32
  } -> tensor<1x8x8xf32>
  %e = tensor.empty() : tensor<4x8x8xf32>
  %y = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, 0, 0)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %one, %number : tensor<4x8x8xf32>, tensor<1x8x8xf32>, tensor<1x1x1xf32>) outs(%e : tensor<4x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.addf %s, %c : f32
    linalg.yield %t : f32
  } -> tensor<4x8x8xf32>
  return %y : tensor<4x8x8xf32>
}
