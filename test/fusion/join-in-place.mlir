// Who makes the parts of a tensor writes them where they belong; who else reads one reads a slice of the whole.
// RUN: npuflow-opt %s --npuflow-normalize-linalg --npuflow-join-in-place="device=npu2 bundle-matmuls=true" --remarks 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-normalize-linalg --npuflow-join-in-place="device=npu4.0 bundle-matmuls=true" | filecheck %s --check-prefix=CLUSTERS
// RUN: npuflow-opt %s --npuflow-normalize-linalg --npuflow-join-in-place="device=npu2" --remarks 2>&1 | filecheck %s --check-prefix=MATMULS

// CHECK:     remark: [npuflow-join-in-place] is written in place by the 2 groups that make its parts
// CHECK:     remark: [npuflow-join-in-place] is written in place by the 3 groups that make its parts
// CHECK:     remark: [npuflow-join-in-place] is there already: its parts are neighbours in another tensor
// CHECK:     remark: [npuflow-join-in-place] puts a tensor together: a part of it is no group's result
// MATMULS:   remark: [npuflow-join-in-place] puts a tensor together: what makes a part of it is written elsewhere, or mapped in a way that can't be changed

// CHECK-LABEL: func.func @read_twice
// CHECK:         [[A:%.*]] = linalg.generic {{.*}}npu.bundle = 0
// CHECK:         [[S:%.*]] = tensor.insert_slice [[A]] into {{.*}}[0, 0] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<20x16xf32>
// CHECK:         [[OWN:%.*]] = tensor.extract_slice [[S]][0, 0] [8, 16] [1, 1]
// CHECK:         [[B:%.*]] = linalg.generic {{.*}}ins(%{{.*}}, [[OWN]] :
// CHECK:         [[R:%.*]] = tensor.insert_slice [[B]] into [[S]][8, 0] [12, 16] [1, 1]
// CHECK-NOT:     arith.select
// CHECK:         linalg.generic {{.*}}ins([[R]] : tensor<20x16xf32>)
// CLUSTERS-LABEL: func.func @read_twice
// CLUSTERS:         arith.select
func.func @read_twice(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %v: tensor<12x8xf32>) -> tensor<20x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %g = tensor.empty() : tensor<12x16xf32>
  %h = linalg.fill ins(%z : f32) outs(%g : tensor<12x16xf32>) -> tensor<12x16xf32>
  %b = linalg.matmul ins(%v, %a : tensor<12x8xf32>, tensor<8x16xf32>) outs(%h : tensor<12x16xf32>) -> tensor<12x16xf32>
  %r = tensor.concat dim(0) %a, %b : (tensor<8x16xf32>, tensor<12x16xf32>) -> tensor<20x16xf32>
  %o = tensor.empty() : tensor<20x16xf32>
  %s = linalg.mul ins(%r, %r : tensor<20x16xf32>, tensor<20x16xf32>) outs(%o : tensor<20x16xf32>) -> tensor<20x16xf32>
  return %s : tensor<20x16xf32>
}

// What is joined within another is a slice of that.
// CHECK-LABEL: func.func @joined_twice
// CHECK:         tensor.insert_slice {{.*}} into {{.*}}[0, 0] [8, 16]
// CHECK:         [[TWO:%.*]] = tensor.insert_slice {{.*}} into {{.*}}[8, 0] [8, 16]
// CHECK:         [[SLICE:%.*]] = tensor.extract_slice [[TWO]][0, 0] [16, 16] [1, 1] : tensor<24x16xf32> to tensor<16x16xf32>
// CHECK:         linalg.generic {{.*}}ins(%arg3, [[SLICE]] :
// CHECK:         tensor.insert_slice {{.*}} into [[TWO]][16, 0] [8, 16]
// CHECK-NOT:     arith.select
func.func @joined_twice(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>, %u: tensor<8x16xf32>) -> tensor<24x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = linalg.matmul ins(%x, %v : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %j = tensor.concat dim(0) %a, %b : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %c = linalg.matmul ins(%u, %j : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = tensor.concat dim(0) %a, %b, %c : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<24x16xf32>
  return %r : tensor<24x16xf32>
}

// What is joined within another along another dimension writes its place there itself: that is no one's slice.
// CHECK-LABEL: func.func @joined_both_ways
// CHECK:         [[ROW:%.*]] = linalg.generic
// CHECK:           arith.select
// CHECK:         tensor.insert_slice [[ROW]] into {{.*}}[0, 0] [8, 32]
// CHECK:         tensor.insert_slice {{.*}}[8, 0] [8, 32]
// CHECK-NOT:     tensor.insert_slice
func.func @joined_both_ways(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>, %u: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = linalg.matmul ins(%x, %v : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %j = tensor.concat dim(1) %a, %b : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %g = tensor.empty() : tensor<8x32xf32>
  %h = linalg.fill ins(%z : f32) outs(%g : tensor<8x32xf32>) -> tensor<8x32xf32>
  %c = linalg.matmul ins(%x, %u : tensor<8x16xf32>, tensor<16x32xf32>) outs(%h : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = tensor.concat dim(0) %j, %c : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}

// What is returned is no slice of something else.
// CHECK-LABEL: func.func @joined_twice_and_returned
// CHECK:         [[TWO:%.*]] = tensor.insert_slice {{.*}} into {{.*}}[8, 0] [8, 16]
// CHECK:         [[ALL:%.*]] = tensor.insert_slice {{.*}} into [[TWO]][16, 0] [8, 16]
// CHECK:         [[OWN:%.*]] = linalg.generic
// CHECK:           arith.select
// CHECK:         return [[OWN]], [[ALL]]
func.func @joined_twice_and_returned(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>, %u: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<24x16xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = linalg.matmul ins(%x, %v : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %c = linalg.matmul ins(%x, %u : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %j = tensor.concat dim(0) %a, %b : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %r = tensor.concat dim(0) %a, %b, %c : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<24x16xf32>
  return %j, %r : tensor<16x16xf32>, tensor<24x16xf32>
}

// What comes from outside has to be brought there.
// CHECK-LABEL: func.func @of_argument
// CHECK:         arith.select
func.func @of_argument(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = tensor.concat dim(0) %x, %a : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
