// Sums of products that say how large their factors get are of i8, with sums of i32 and scales of f32.
// RUN: npuflow-opt %s --npuflow-quantize-products --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-quantize-products -o %t
// RUN: npuflow run %t --device=toy | filecheck %s --check-prefix=EXECUTED
// EXECUTED-COUNT-9: verified {{.*}}against

#same = affine_map<(d0, d1) -> (d0, d1)>

// Each column of the weights has a scale of its own, 1/127 and 4/127, beside that of the argument, 2/127.
// CHECK-LABEL: func.func @weights
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x3xf32>
// CHECK:         %[[Q:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x3xf32>) outs(%{{.*}} : tensor<4x3xi8>)
// CHECK:           arith.constant 6.350000e+01 : f32
// CHECK:           arith.mulf
// CHECK:           math.roundeven
// CHECK:           arith.maximumf
// CHECK:           arith.minimumf
// CHECK:           arith.fptosi
// CHECK:         %[[W:.*]] = arith.constant dense<{{\[\[}}127, 127], [-64, 0], [0, -32]]> : tensor<3x2xi8>
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[Q]], %[[W]] : tensor<4x3xi8>, tensor<3x2xi8>) outs(%{{.*}} : tensor<4x2xi32>)
// CHECK:           arith.extsi
// CHECK:           arith.extsi
// CHECK:           arith.muli
// CHECK:           arith.addi
// CHECK:         %[[C:.*]] = arith.constant dense<[1.2400{{[0-9]*[eE]}}-{{0*}}4, 4.960{{[0-9]*[eE]}}-{{0*}}4]> : tensor<2xf32>
// CHECK:         %[[R:.*]] = linalg.generic {{.*}}affine_map<(d0, d1) -> (d1)>{{.*}} ins(%[[S]], %[[C]] : tensor<4x2xi32>, tensor<2xf32>)
// CHECK:           arith.sitofp
// CHECK:           arith.mulf
// CHECK:         return %[[R]]
func.func @weights(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %w = arith.constant dense<[[1.0, 4.0], [-0.5, 0.0], [0.0, -1.0]]> : tensor<3x2xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r = linalg.matmul {npu.ranges = [2.0, 0.0]} ins(%x, %w : tensor<4x3xf32>, tensor<3x2xf32>) outs(%z : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// Two tensors that nobody knows have a scale each; a sum that begins at something has it added in f32.
// CHECK-LABEL: func.func @both
// CHECK-COUNT-2: arith.fptosi
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %arg2 : tensor<4x4xi32>, tensor<4x4xf32>)
// CHECK:           arith.sitofp
// CHECK:           arith.mulf
// CHECK:           arith.addf
func.func @both(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = linalg.matmul {npu.ranges = [1.0, 1.0]} ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Padding is that of i8; what one layer hands on to others, which read it as bf16 or i8, is rounded once.
// CHECK-LABEL: func.func @padded
// CHECK:         tensor.pad
// CHECK:         tensor<1x2x6x6xi8> to tensor<1x2x8x8xi8>
// CHECK:         linalg.generic {{.*}} ins({{.*}} : tensor<1x4x6x6xi32>, tensor<4xf32>)
// CHECK:         return
func.func @padded(%x: tensor<1x2x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %w = arith.constant dense<0.25> : tensor<4x2x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x2x6x6xf32> to tensor<1x2x8x8xf32>
  %e = tensor.empty() : tensor<1x4x6x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %r = linalg.conv_2d_nchw_fchw {npu.ranges = [1.0, 0.0]} ins(%p, %w : tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) outs(%z : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// Who doesn't say so stays f32.
// CHECK-LABEL: func.func @silent
// CHECK-NOT:     i8
// CHECK:         linalg.matmul ins({{.*}} : tensor<4x8xf32>, tensor<8x4xf32>)
func.func @silent(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Where two layers meet in one op, which can be the tail of one of them, what is computed of each alone is rounded.
// CHECK-LABEL: func.func @meeting
// CHECK-COUNT-2: arith.truncf {{.*}} : f32 to bf16
// CHECK-NOT:     truncf
// CHECK:         arith.addf
// CHECK:         return
func.func @meeting(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %s: tensor<4xf32>) -> tensor<4x4xf32> {
  %v = arith.constant dense<0.5> : tensor<8x4xf32>
  %w = arith.constant dense<0.25> : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = linalg.matmul {npu.ranges = [1.0, 0.0]} ins(%x, %v : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = linalg.matmul {npu.ranges = [1.0, 0.0]} ins(%y, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.addf %i, %j : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// One that says how large its end gets is rounded to i8 there.
// CHECK-LABEL: func.func @added
// CHECK:         %[[Q:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<4x4xi8>)
// CHECK:           arith.constant 3.175000e+01 : f32
// CHECK:         linalg.generic {{.*}} ins(%[[Q]] : tensor<4x4xi8>) outs({{.*}} : tensor<4x4xf32>)
// CHECK:           arith.truncf {{.*}} : f32 to bf16
// CHECK-NOT:     truncf
// CHECK:         return
func.func @added(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %v = arith.constant dense<0.5> : tensor<8x4xf32>
  %w = arith.constant dense<0.25> : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = linalg.matmul {npu.ranges = [1.0, 0.0, 4.0]} ins(%x, %v : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = linalg.matmul {npu.ranges = [1.0, 0.0]} ins(%y, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.addf %i, %j : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// What is joined is rounded in parts, if nobody else reads them.
// CHECK-LABEL: func.func @joined
// CHECK-COUNT-2: outs({{.*}} : tensor<1x2x3x3xi8>)
// CHECK:         tensor.concat dim(1) {{.*}} : (tensor<1x2x3x3xi8>, tensor<1x2x3x3xi8>) -> tensor<1x4x3x3xi8>
// CHECK:         return
func.func @joined(%x: tensor<1x2x3x3xf32>, %y: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %w = arith.constant dense<0.25> : tensor<2x4x1x1xf32>
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<1x2x3x3xf32>
  %c = tensor.concat dim(1) %x, %y : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %r = linalg.conv_2d_nchw_fchw {npu.ranges = [1.0, 0.0]} ins(%c, %w : tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) outs(%g : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %r : tensor<1x2x3x3xf32>
}

// Zeros between elements, as a transposed convolution puts them, are those of i8 as well.
// CHECK-LABEL: func.func @spread
// CHECK:         %[[Q:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<1x2x3x3xf32>) outs({{.*}} : tensor<1x2x3x3xi8>)
// CHECK:         tensor.insert_slice %[[Q]] into {{.*}}[1, 1, 2, 2] : tensor<1x2x3x3xi8> into tensor<1x2x6x6xi8>
// CHECK:         return
func.func @spread(%x: tensor<1x2x3x3xf32>) -> tensor<1x4x4x4xf32> {
  %w = arith.constant dense<0.25> : tensor<4x2x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %i = tensor.empty() : tensor<1x2x6x6xf32>
  %n = linalg.fill ins(%zero : f32) outs(%i : tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32>
  %p = tensor.insert_slice %x into %n[0, 0, 0, 0] [1, 2, 3, 3] [1, 1, 2, 2] : tensor<1x2x3x3xf32> into tensor<1x2x6x6xf32>
  %e = tensor.empty() : tensor<1x4x4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %r = linalg.conv_2d_nchw_fchw {npu.ranges = [1.0, 0.0]} ins(%p, %w : tensor<1x2x6x6xf32>, tensor<4x2x3x3xf32>) outs(%z : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %r : tensor<1x4x4x4xf32>
}

// The greatest elements of windows of what is read by others as well are those of the one tensor that all read in i8,
// by the larger of two scales; where one would lose more than a bit (here 0.25 of 1), each has its own.
// CHECK-LABEL: func.func @greatest_and_joined
// CHECK-DAG:     %[[Q:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<1x2x4x4xf32>) outs({{.*}} : tensor<1x2x4x4xi8>)
// CHECK-DAG:     %[[A:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<1x2x4x4xf32>) outs({{.*}} : tensor<1x2x4x4xi8>)
// CHECK:         %[[P:.*]] = tensor.pad %[[Q]]
// CHECK:           tensor.yield %c-128
// CHECK:         linalg.generic {{.*}} ins(%[[P]], {{.*}} outs({{.*}} : tensor<1x2x3x3xi8>)
// CHECK:           arith.maxsi
// CHECK:         tensor.concat dim(1) %[[Q]], %[[A]] : (tensor<1x2x4x4xi8>, tensor<1x2x4x4xi8>) -> tensor<1x4x4x4xi8>
// CHECK-LABEL: func.func @joined_apart
// CHECK:         outs({{.*}} : tensor<1x2x4x4xi8>)
// CHECK:         tensor.concat {{.*}} -> tensor<1x4x4x4xf32>
// CHECK:         outs({{.*}} : tensor<1x4x4x4xi8>)
func.func @greatest_and_joined(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x4x4xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x4x4xf32>) {
  %v = arith.constant dense<0.5> : tensor<2x2x1x1xf32>
  %w = arith.constant dense<0.25> : tensor<2x4x1x1xf32>
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x2x3x3xf32>
  %l = linalg.fill ins(%least : f32) outs(%e : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %p = tensor.pad %x low[0, 0, 0, 0] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %m: index):
    tensor.yield %least : f32
  } : tensor<1x2x4x4xf32> to tensor<1x2x5x5xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>, affine_map<(n, c, h, w, i, j) -> (i, j)>, affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %window : tensor<1x2x5x5xf32>, tensor<3x3xf32>) outs(%l : tensor<1x2x3x3xf32>) {
  ^bb0(%in: f32, %unused: f32, %out: f32):
    %t = arith.maximumf %out, %in : f32
    linalg.yield %t : f32
  } -> tensor<1x2x3x3xf32>
  %r = linalg.conv_2d_nchw_fchw {npu.ranges = [0.75, 0.0]} ins(%g, %v : tensor<1x2x3x3xf32>, tensor<2x2x1x1xf32>) outs(%z : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %c = tensor.concat dim(1) %x, %y : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
  %f = tensor.empty() : tensor<1x2x4x4xf32>
  %h = linalg.fill ins(%zero : f32) outs(%f : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %s = linalg.conv_2d_nchw_fchw {npu.ranges = [1.0, 0.0]} ins(%c, %w : tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>) outs(%h : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %r, %s : tensor<1x2x3x3xf32>, tensor<1x2x4x4xf32>
}

func.func @joined_apart(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %v = arith.constant dense<0.5> : tensor<2x2x1x1xf32>
  %w = arith.constant dense<0.25> : tensor<2x4x1x1xf32>
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<1x2x4x4xf32>
  %h = linalg.fill ins(%zero : f32) outs(%f : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %r = linalg.conv_2d_nchw_fchw {npu.ranges = [0.25, 0.0]} ins(%x, %v : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) outs(%h : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = tensor.concat dim(1) %x, %y : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
  %s = linalg.conv_2d_nchw_fchw {npu.ranges = [1.0, 0.0]} ins(%c, %w : tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>) outs(%h : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %r, %s : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// What is joined, and read for the greatest of its windows alone, is rounded in front of that.
// CHECK-LABEL: func.func @greatest_of_joined
// CHECK:         %[[C:.*]] = tensor.concat dim(1) {{.*}} : (tensor<1x1x3x3xi8>, tensor<1x1x3x3xi8>) -> tensor<1x2x3x3xi8>
// CHECK:         linalg.generic {{.*}} ins(%[[C]], {{.*}} outs({{.*}} : tensor<1x2x2x2xi8>)
// CHECK:           arith.maxsi
func.func @greatest_of_joined(%x: tensor<1x1x3x3xf32>, %y: tensor<1x1x3x3xf32>) -> tensor<1x2x2x2xf32> {
  %w = arith.constant dense<0.5> : tensor<2x2x1x1xf32>
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x2x2x2xf32>
  %l = linalg.fill ins(%least : f32) outs(%e : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %c = tensor.concat dim(1) %x, %y : (tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x2x3x3xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>, affine_map<(n, c, h, w, i, j) -> (i, j)>, affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%c, %window : tensor<1x2x3x3xf32>, tensor<2x2xf32>) outs(%l : tensor<1x2x2x2xf32>) {
  ^bb0(%in: f32, %unused: f32, %out: f32):
    %t = arith.maximumf %out, %in : f32
    linalg.yield %t : f32
  } -> tensor<1x2x2x2xf32>
  %r = linalg.conv_2d_nchw_fchw {npu.ranges = [0.75, 0.0]} ins(%g, %w : tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>) outs(%z : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %r : tensor<1x2x2x2xf32>
}
