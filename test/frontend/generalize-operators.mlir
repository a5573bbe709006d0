// Named ops become linalg.generic, except matmuls, fills and copies.
// RUN: npuflow-opt %s --npuflow-generalize-operators --mlir-print-local-scope | filecheck %s

// CHECK-LABEL: func.func @conv_2d
// CHECK:         linalg.fill
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4 * 3, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>]
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
// CHECK-NOT:       attrs
// CHECK-SAME:      {{[{]$}}
// CHECK:           arith.muli
func.func @conv_2d(%x: tensor<1x19x18x8xi8>, %w: tensor<3x3x8x4xi8>) -> tensor<1x7x16x4xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1x7x16x4xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1x7x16x4xi32>) -> tensor<1x7x16x4xi32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<[3, 1]> : tensor<2xi64>}
      ins(%x, %w : tensor<1x19x18x8xi8>, tensor<3x3x8x4xi8>) outs(%f : tensor<1x7x16x4xi32>) -> tensor<1x7x16x4xi32>
  return %r : tensor<1x7x16x4xi32>
}

// CHECK-LABEL: func.func @layouts
// CHECK-NOT:     linalg.{{[a-f,h-x,z]}}
// CHECK:         return
func.func @layouts(%x: tensor<9xf32>, %w: tensor<3xf32>, %y: tensor<7xf32>,
    %nchw: tensor<1x4x8x8xf32>, %fchw: tensor<6x4x3x3xf32>, %of: tensor<1x6x6x6xf32>,
    %dhw: tensor<1x4x5x6x2xf32>, %dw: tensor<3x3x3x2x2xf32>, %od: tensor<1x2x3x4x2xf32>,
    %g: tensor<1x2x4x8x8xf32>, %gw: tensor<2x3x4x3x3xf32>, %go: tensor<1x2x3x6x6xf32>,
    %nhwc: tensor<1x8x8x4xf32>, %hwc: tensor<3x3x4xf32>, %oc: tensor<1x6x6x4xf32>,
    %hwcm: tensor<3x3x4x2xf32>, %om: tensor<1x6x6x4x2xf32>, %win: tensor<3x3xf32>)
    -> (tensor<7xf32>, tensor<1x6x6x6xf32>, tensor<1x2x3x4x2xf32>, tensor<1x2x3x6x6xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4x2xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>) {
  %a = linalg.conv_1d ins(%x, %w : tensor<9xf32>, tensor<3xf32>) outs(%y : tensor<7xf32>) -> tensor<7xf32>
  %b = linalg.conv_2d_nchw_fchw ins(%nchw, %fchw : tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) outs(%of : tensor<1x6x6x6xf32>) -> tensor<1x6x6x6xf32>
  %c = linalg.conv_3d_ndhwc_dhwcf ins(%dhw, %dw : tensor<1x4x5x6x2xf32>, tensor<3x3x3x2x2xf32>) outs(%od : tensor<1x2x3x4x2xf32>) -> tensor<1x2x3x4x2xf32>
  %d = linalg.conv_2d_ngchw_gfchw ins(%g, %gw : tensor<1x2x4x8x8xf32>, tensor<2x3x4x3x3xf32>) outs(%go : tensor<1x2x3x6x6xf32>) -> tensor<1x2x3x6x6xf32>
  %h = linalg.depthwise_conv_2d_nhwc_hwc ins(%nhwc, %hwc : tensor<1x8x8x4xf32>, tensor<3x3x4xf32>) outs(%oc : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %i = linalg.depthwise_conv_2d_nhwc_hwcm ins(%nhwc, %hwcm : tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) outs(%om : tensor<1x6x6x4x2xf32>) -> tensor<1x6x6x4x2xf32>
  %j = linalg.pooling_nhwc_max ins(%nhwc, %win : tensor<1x8x8x4xf32>, tensor<3x3xf32>) outs(%oc : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %k = linalg.pooling_nhwc_sum ins(%nhwc, %win : tensor<1x8x8x4xf32>, tensor<3x3xf32>) outs(%j : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  return %a, %b, %c, %d, %h, %i, %j, %k : tensor<7xf32>, tensor<1x6x6x6xf32>, tensor<1x2x3x4x2xf32>, tensor<1x2x3x6x6xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4x2xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>
}

// What is no matmul for want of an m or n loop, or with two k loops, is no named op either.
// CHECK-LABEL: func.func @vectors
// CHECK-NOT:     linalg.{{matvec|vecmat|batch_matvec|dot|batch_reduce_matmul}}
// CHECK-COUNT-5: linalg.generic
func.func @vectors(%a: tensor<8x16xf32>, %x: tensor<16xf32>, %y: tensor<8xf32>, %s: tensor<f32>, %b: tensor<2x8x16xf32>, %bx: tensor<2x16xf32>, %by: tensor<2x8xf32>, %bt: tensor<2x16x4xf32>, %br: tensor<8x4xf32>)
    -> (tensor<8xf32>, tensor<16xf32>, tensor<f32>, tensor<2x8xf32>, tensor<8x4xf32>) {
  %p = linalg.matvec ins(%a, %x : tensor<8x16xf32>, tensor<16xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  %q = linalg.vecmat ins(%y, %a : tensor<8xf32>, tensor<8x16xf32>) outs(%x : tensor<16xf32>) -> tensor<16xf32>
  %r = linalg.dot ins(%x, %x : tensor<16xf32>, tensor<16xf32>) outs(%s : tensor<f32>) -> tensor<f32>
  %t = linalg.batch_matvec ins(%b, %bx : tensor<2x8x16xf32>, tensor<2x16xf32>) outs(%by : tensor<2x8xf32>) -> tensor<2x8xf32>
  %u = linalg.batch_reduce_matmul ins(%b, %bt : tensor<2x8x16xf32>, tensor<2x16x4xf32>) outs(%br : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %p, %q, %r, %t, %u : tensor<8xf32>, tensor<16xf32>, tensor<f32>, tensor<2x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK:         arith.maxnumf
// CHECK:         arith.subf
// CHECK:         math.exp
// CHECK:         arith.addf
// CHECK:         arith.divf
// CHECK-NOT:     linalg.softmax
func.func @softmax(%x: tensor<4x8xf32>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @bodies
// CHECK-NOT:     linalg.{{reduce|map|transpose|broadcast|quantized_matmul}}
// CHECK-COUNT-5: linalg.generic
func.func @bodies(%x: tensor<4x8xi32>, %y: tensor<4xi32>, %t: tensor<8x4xi32>, %a: tensor<4x4xi8>, %z: i32, %c: tensor<4x4xi32>)
    -> (tensor<4xi32>, tensor<4x8xi32>, tensor<8x4xi32>, tensor<8x4xi32>, tensor<4x4xi32>) {
  %p = linalg.reduce {arith.maxsi} ins(%x : tensor<4x8xi32>) outs(%y : tensor<4xi32>) dimensions = [1]
  %q = linalg.map {math.absi} ins(%x : tensor<4x8xi32>) outs(%x : tensor<4x8xi32>)
  %r = linalg.transpose ins(%x : tensor<4x8xi32>) outs(%t : tensor<8x4xi32>) permutation = [1, 0]
  %s = linalg.broadcast ins(%y : tensor<4xi32>) outs(%t : tensor<8x4xi32>) dimensions = [0]
  %u = linalg.quantized_matmul ins(%a, %a, %z, %z : tensor<4x4xi8>, tensor<4x4xi8>, i32, i32) outs(%c : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %p, %q, %r, %s, %u : tensor<4xi32>, tensor<4x8xi32>, tensor<8x4xi32>, tensor<8x4xi32>, tensor<4x4xi32>
}

// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    linalg.fill
// CHECK-NEXT:    linalg.matmul
// CHECK-NEXT:    linalg.batch_matmul
// CHECK-NEXT:    linalg.contract
// CHECK-NEXT:    return
func.func @kept(%v: f32, %e: tensor<4x4xf32>, %a: tensor<4x4xf32>, %b: tensor<2x4x4xf32>)
    -> (tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<4x4xf32>) {
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = linalg.matmul ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = linalg.batch_matmul ins(%b, %b : tensor<2x4x4xf32>, tensor<2x4x4xf32>) outs(%b : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %p : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p, %q, %r : tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<4x4xf32>
}

// A copy of a tensor is the tensor, and packing moves elements: by padding, a reshape and a transposition; a
// slice cuts off what was padding.
// CHECK-LABEL: func.func @relayouts
// CHECK:         %[[PAD:.*]] = tensor.pad %{{.*}} low[0, 0] high[1, 0]
// CHECK:         %[[X:.*]] = tensor.expand_shape %[[PAD]] {{\[\[}}0, 1], [2, 3]] output_shape [2, 2, 2, 4]
// CHECK:         %[[PACKED:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<2x2x2x4xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[PACKED]], %[[PACKED]] :
// CHECK:         %[[T:.*]] = linalg.generic
// CHECK:         %[[WHOLE:.*]] = tensor.collapse_shape %[[T]]
// CHECK:         tensor.extract_slice %[[WHOLE]][0, 0] [4, 8] [1, 1]
// CHECK:         %[[U:.*]] = linalg.generic
// CHECK:         %[[UNPACKED:.*]] = tensor.collapse_shape %[[U]]
// CHECK:         %[[CUT:.*]] = tensor.extract_slice %[[UNPACKED]][0, 0] [3, 8] [1, 1]
// CHECK:         return %{{.*}}, %[[CUT]]
func.func @relayouts(%a: tensor<3x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x2x4xf32>
  %p = linalg.pack %a padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %e : tensor<3x8xf32> -> tensor<2x2x2x4xf32>
  %c = linalg.copy ins(%p : tensor<2x2x2x4xf32>) outs(%e : tensor<2x2x2x4xf32>) -> tensor<2x2x2x4xf32>
  %d = linalg.add ins(%p, %c : tensor<2x2x2x4xf32>, tensor<2x2x2x4xf32>) outs(%e : tensor<2x2x2x4xf32>) -> tensor<2x2x2x4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %u = linalg.unpack %d inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %f : tensor<2x2x2x4xf32> -> tensor<4x8xf32>
  %g = tensor.empty() : tensor<3x8xf32>
  %v = linalg.unpack %d inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %g : tensor<2x2x2x4xf32> -> tensor<3x8xf32>
  return %u, %v : tensor<4x8xf32>, tensor<3x8xf32>
}

// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT:    linalg.pack
func.func @dynamic(%x: tensor<?x8xi8>, %to: tensor<?x1x4x8xi8>) -> tensor<?x1x4x8xi8> {
  %p = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %to : tensor<?x8xi8> -> tensor<?x1x4x8xi8>
  return %p : tensor<?x1x4x8xi8>
}

// CHECK-LABEL: func.func @powers
// CHECK:         linalg.generic
// CHECK:           %[[SQUARE:.*]] = arith.mulf %[[X:.*]], %[[X]] : f32
// CHECK-NEXT:      %[[CUBE:.*]] = arith.mulf %[[SQUARE]], %[[X]] : f32
// CHECK-NEXT:      linalg.yield %[[CUBE]]
func.func @powers(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %three = arith.constant 3 : i64
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.fpowi %in, %three : f32, i64
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
