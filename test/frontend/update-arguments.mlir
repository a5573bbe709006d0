// An argument that becomes a result by slices that are written into it is updated where it lies.
// RUN: npuflow-opt %s --npuflow-normalize-linalg --remarks=npuflow-update-arguments --mlir-print-local-scope 2>%t | filecheck %s
// RUN: cat %t | filecheck %s --check-prefix=TOLD
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

#same = affine_map<(i, j) -> (i, j)>

// What is written is a bundle; what is read behind it is the argument.
// TOLD:        remark: [npuflow-update-arguments] argument 0 is updated where it lies: 128 of its 8192 bytes are written
// TOLD:        remark: [npuflow-update-arguments] argument 0 is updated where it lies: 1024 of its 8192 bytes are written
// TOLD:        remark: [npuflow-update-arguments] argument 1 is updated where it lies: 64 of its 2048 bytes are written
// TOLD:        remark: [npuflow-update-arguments] argument 0 stays as it is, and the result that it becomes is a tensor of its own: more is made of it, or read, than slices that are written into it
// TOLD:        remark: [npuflow-update-arguments] argument 0 is updated where it lies: 256 of its 2048 bytes are written
// TOLD:        remark: [npuflow-update-arguments] argument 0 stays as it is
// TOLD:        remark: [npuflow-update-arguments] argument 0 stays as it is

// CHECK-LABEL: func.func @append
// CHECK-SAME:    (%[[CACHE:.*]]: tensor<64x32xf32> {bufferization.writable = true, npu.becomes = 1 : i64}, %{{.*}}: tensor<1x32xf32>)
// CHECK-NOT:     tensor.pad
// CHECK:         %[[ROW:.*]] = linalg.generic {{.*}} attrs = {npu.bundle = 0 : i64}
// CHECK:         %[[NOW:.*]] = tensor.insert_slice %[[ROW]] into %[[CACHE]][9, 0] [1, 32] [1, 1]
// CHECK:         linalg.generic {{.*}} ins(%[[NOW]] :
// CHECK:         return %{{.*}}, %[[NOW]]
func.func @append(%cache: tensor<64x32xf32> {npu.becomes = 1 : i64}, %x: tensor<1x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %er = tensor.empty() : tensor<1x32xf32>
  %row = linalg.exp ins(%x : tensor<1x32xf32>) outs(%er : tensor<1x32xf32>) -> tensor<1x32xf32>
  %now = tensor.insert_slice %row into %cache[9, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %r = linalg.exp ins(%now : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %r, %now : tensor<64x32xf32>, tensor<64x32xf32>
}

// What no op makes is moved by one that MLIR doesn't take for a copy that nobody needs; two slices, the last one first.
// CHECK-LABEL: func.func @moved
// CHECK:         %[[B:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]{{.*}} attrs = {npu.bundle = 1 : i64}
// CHECK:         %[[FIRST:.*]] = tensor.insert_slice %[[B]] into %arg0[0, 0]
// CHECK:         %[[C:.*]] = linalg.generic {{.*}} attrs = {npu.bundle = 0 : i64}
// CHECK:         %[[BOTH:.*]] = tensor.insert_slice %[[C]] into %[[FIRST]][60, 0]
// CHECK:         return %[[BOTH]]
func.func @moved(%cache: tensor<64x32xf32> {npu.becomes = 0 : i64}, %x: tensor<4x32xf32>) -> tensor<64x32xf32> {
  %a = tensor.insert_slice %x into %cache[0, 0] [4, 32] [1, 1] : tensor<4x32xf32> into tensor<64x32xf32>
  %b = tensor.insert_slice %x into %a[60, 0] [4, 32] [1, 1] : tensor<4x32xf32> into tensor<64x32xf32>
  return %b : tensor<64x32xf32>
}

// Dimensions of one that a slice leaves out; a sum of products is moved, as its own loops are others.
// CHECK-LABEL: func.func @heads
// CHECK:         %[[ROW:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x4x1x4xf32>) attrs = {npu.bundle = 0 : i64}
// CHECK:         tensor.insert_slice %[[ROW]] into %arg1[0, 0, 5, 0] [1, 4, 1, 4] [1, 1, 1, 1]
func.func @heads(%x: tensor<1x32xf32>, %cache: tensor<1x4x32x4xf32> {npu.becomes = 0 : i64}, %w: tensor<32x16xf32>) -> tensor<1x4x32x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %k = linalg.matmul ins(%x, %w : tensor<1x32xf32>, tensor<32x16xf32>) outs(%f : tensor<1x16xf32>) -> tensor<1x16xf32>
  %h = tensor.expand_shape %k [[0], [1, 2]] output_shape [1, 4, 4] : tensor<1x16xf32> into tensor<1x4x4xf32>
  %r = tensor.insert_slice %h into %cache[0, 0, 5, 0] [1, 4, 1, 4] [1, 1, 1, 1] : tensor<1x4x4xf32> into tensor<1x4x32x4xf32>
  return %r : tensor<1x4x32x4xf32>
}

// Somebody reads it as it was: the result is a tensor of its own, as where nothing is said.
// CHECK-LABEL: func.func @read_before
// CHECK-NOT:     tensor.insert_slice
// CHECK:         return
func.func @read_before(%cache: tensor<64x32xf32> {npu.becomes = 1 : i64}, %x: tensor<1x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %now = tensor.insert_slice %x into %cache[9, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %r = linalg.exp ins(%cache : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %r, %now : tensor<64x32xf32>, tensor<64x32xf32>
}

// What is read of it before are other slices than the one that is written.
// CHECK-LABEL: func.func @other_slices
// CHECK:         %[[FIRST:.*]] = tensor.insert_slice %{{.*}} into %arg0[0, 3, 0]
// CHECK:         %[[READ:.*]] = tensor.extract_slice %[[FIRST]][0, 0, 0]
// CHECK:         tensor.insert_slice %{{.*}} into %[[FIRST]][1, 5, 0]
func.func @other_slices(%caches: tensor<2x8x32xf32> {npu.becomes = 1 : i64}, %x: tensor<1x1x32xf32>) -> (tensor<1x8x32xf32>, tensor<2x8x32xf32>) {
  %one = tensor.insert_slice %x into %caches[0, 3, 0] [1, 1, 32] [1, 1, 1] : tensor<1x1x32xf32> into tensor<2x8x32xf32>
  %s = tensor.extract_slice %one[0, 0, 0] [1, 8, 32] [1, 1, 1] : tensor<2x8x32xf32> to tensor<1x8x32xf32>
  %e = tensor.empty() : tensor<1x8x32xf32>
  %r = linalg.exp ins(%s : tensor<1x8x32xf32>) outs(%e : tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  %two = tensor.insert_slice %x into %one[1, 5, 0] [1, 1, 32] [1, 1, 1] : tensor<1x1x32xf32> into tensor<2x8x32xf32>
  return %r, %two : tensor<1x8x32xf32>, tensor<2x8x32xf32>
}

// A slice is read that is written later: the result is a tensor of its own.
// CHECK-LABEL: func.func @overwritten
// CHECK-NOT:     tensor.insert_slice
// CHECK:         return
func.func @overwritten(%caches: tensor<2x8x32xf32> {npu.becomes = 1 : i64}, %x: tensor<1x1x32xf32>) -> (tensor<1x8x32xf32>, tensor<2x8x32xf32>) {
  %one = tensor.insert_slice %x into %caches[0, 3, 0] [1, 1, 32] [1, 1, 1] : tensor<1x1x32xf32> into tensor<2x8x32xf32>
  %s = tensor.extract_slice %one[0, 0, 0] [1, 8, 32] [1, 1, 1] : tensor<2x8x32xf32> to tensor<1x8x32xf32>
  %e = tensor.empty() : tensor<1x8x32xf32>
  %r = linalg.exp ins(%s : tensor<1x8x32xf32>) outs(%e : tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  %two = tensor.insert_slice %x into %one[0, 5, 0] [1, 1, 32] [1, 1, 1] : tensor<1x1x32xf32> into tensor<2x8x32xf32>
  return %r, %two : tensor<1x8x32xf32>, tensor<2x8x32xf32>
}

// CHECK-LABEL: func.func @all_of_it
// CHECK-SAME:    %{{.*}}: tensor<64x32xf32> {npu.becomes = 0 : i64})
func.func @all_of_it(%cache: tensor<64x32xf32> {npu.becomes = 0 : i64}) -> tensor<64x32xf32> {
  %e = tensor.empty() : tensor<64x32xf32>
  %r = linalg.exp ins(%cache : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @nothing_said
// CHECK-NOT:     tensor.insert_slice
func.func @nothing_said(%cache: tensor<64x32xf32>, %x: tensor<1x32xf32>) -> tensor<64x32xf32> {
  %now = tensor.insert_slice %x into %cache[9, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<64x32xf32>
  return %now : tensor<64x32xf32>
}
