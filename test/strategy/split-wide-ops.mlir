// Ops of more tensors than a core has descriptors for, with some to spare, are done in steps.
// RUN: npuflow-opt %s --npuflow-split-wide-ops='device=npu1' --split-input-file | filecheck %s

#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// Twelve inputs: what the first step reads depends on columns alone, and so does what it hands on. A truth is a byte.
// CHECK-LABEL: func.func @elementwise
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<8xi8>
// CHECK:         %[[S:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(
// CHECK:           %[[L:.*]] = arith.cmpi slt, {{.*}} : i32
// CHECK:           %[[B:.*]] = arith.extui %[[L]] : i1 to i8
// CHECK:           linalg.yield %[[B]] : i8
// CHECK:         linalg.generic {{.*}}["parallel", "parallel"]} ins(%[[S]],
// CHECK:         ^bb0(%[[A:.*]]: i8, %[[X:.*]]: i32, %[[Y:.*]]: i32, %{{.*}}: i32):
// CHECK:           %[[T:.*]] = arith.trunci %[[A]] : i8 to i1
// CHECK:           arith.select %[[T]], %[[X]], %[[Y]] : i32
func.func @elementwise(%x: tensor<4x8xi32>, %y: tensor<4x8xi32>, %a0: tensor<8xi32>, %a1: tensor<8xi32>, %a2: tensor<8xi32>, %a3: tensor<8xi32>, %a4: tensor<8xi32>, %a5: tensor<8xi32>, %a6: tensor<8xi32>, %a7: tensor<8xi32>, %a8: tensor<8xi32>, %a9: tensor<8xi32>) -> tensor<4x8xi32> {
  %e = tensor.empty() : tensor<4x8xi32>
  %q = linalg.generic {indexing_maps = [#same, #same, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %y, %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9 : tensor<4x8xi32>, tensor<4x8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) outs(%e : tensor<4x8xi32>) {
  ^bb0(%i0: i32, %i1: i32, %b0: i32, %b1: i32, %b2: i32, %b3: i32, %b4: i32, %b5: i32, %b6: i32, %b7: i32, %b8: i32, %b9: i32, %out: i32):
    %s1 = arith.addi %b0, %b1 : i32
    %s2 = arith.addi %s1, %b2 : i32
    %s3 = arith.addi %s2, %b3 : i32
    %s4 = arith.addi %s3, %b4 : i32
    %s5 = arith.addi %s4, %b5 : i32
    %s6 = arith.addi %s5, %b6 : i32
    %s7 = arith.addi %s6, %b7 : i32
    %s8 = arith.addi %s7, %b8 : i32
    %less = arith.cmpi slt, %s8, %b9 : i32
    %chosen = arith.select %less, %i0, %i1 : i32
    linalg.yield %chosen : i32
  } -> tensor<4x8xi32>
  return %q : tensor<4x8xi32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>

// Four inputs that aren't broadcast are one too many for a matmul's tail: a descriptor each for four rows of cores.
// CHECK-LABEL: func.func @tail
// CHECK:         %[[R:.*]] = linalg.matmul
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} ins(%[[R]], %{{.*}}, %{{.*}}, %{{[^,]*}} : tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>)
// CHECK:         linalg.generic {{.*}} ins(%[[S]], %{{[^,]*}} : tensor<8x8xi32>, tensor<8x8xi32>)
func.func @tail(%a: tensor<8x8xi8>, %b: tensor<8x8xi8>, %a0: tensor<8x8xi32>, %a1: tensor<8x8xi32>, %a2: tensor<8x8xi32>, %a3: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  %p = linalg.matmul ins(%a, %b : tensor<8x8xi8>, tensor<8x8xi8>) outs(%f : tensor<8x8xi32>) -> tensor<8x8xi32>
  %q = linalg.generic {indexing_maps = [#same, #same, #same, #same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%p, %a0, %a1, %a2, %a3 : tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) {
  ^bb0(%sum: i32, %b0: i32, %b1: i32, %b2: i32, %b3: i32, %out: i32):
    %s0 = arith.addi %sum, %b0 : i32
    %s1 = arith.addi %s0, %b1 : i32
    %s2 = arith.addi %s1, %b2 : i32
    %s3 = arith.addi %s2, %b3 : i32
    linalg.yield %s3 : i32
  } -> tensor<8x8xi32>
  return %q : tensor<8x8xi32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A sum's own op adds to what there is; what is added is made before, by an op that has every loop.
// CHECK-LABEL: func.func @sum
// CHECK:         %[[S:.*]] = linalg.generic {{.*}}["parallel", "parallel"]}
// CHECK:         linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[S]],
func.func @sum(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>, %d: tensor<4x8xf32>, %e: tensor<4x8xf32>, %f: tensor<4x8xf32>, %g: tensor<4x8xf32>, %h: tensor<4x8xf32>, %i: tensor<4x8xf32>, %j: tensor<4x8xf32>, %k: tensor<4x8xf32>, %l: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %q = linalg.generic {indexing_maps = [#same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #row], iterator_types = ["parallel", "reduction"]} ins(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %total: f32):
    %s1 = arith.mulf %b0, %b1 : f32
    %s2 = arith.mulf %s1, %b2 : f32
    %s3 = arith.mulf %s2, %b3 : f32
    %s4 = arith.mulf %s3, %b4 : f32
    %s5 = arith.mulf %s4, %b5 : f32
    %s6 = arith.mulf %s5, %b6 : f32
    %s7 = arith.mulf %s6, %b7 : f32
    %s8 = arith.mulf %s7, %b8 : f32
    %s9 = arith.mulf %s8, %b9 : f32
    %s10 = arith.mulf %s9, %b10 : f32
    %s11 = arith.mulf %s10, %b11 : f32
    %next = arith.addf %total, %s11 : f32
    linalg.yield %next : f32
  } -> tensor<4xf32>
  return %q : tensor<4xf32>
}
