// Ops of more tensors than descriptors last for.
// RUN: npuflow-opt %s --npuflow-assign-strategy='device=npu1 grid=4,4' --verify-diagnostics

#same = affine_map<(d0, d1) -> (d0, d1)>
// Nine tensors take more than a memory tile has, on four rows of cores that somebody asks for.
func.func @wide(%a: tensor<4x8xi8>, %b: tensor<4x8xi8>, %c: tensor<4x8xi8>, %d: tensor<4x8xi8>, %e: tensor<4x8xi8>, %f: tensor<4x8xi8>, %g: tensor<4x8xi8>, %h: tensor<4x8xi8>, %i: tensor<4x8xi8>) -> tensor<4x8xi8> {
  %o = tensor.empty() : tensor<4x8xi8>
  // expected-error @below {{10 tensors take 27 descriptors of a memory tile for 4 rows of cores, of which 24 serve a group of its channels; hint: choose a grid of fewer rows}}
  %q = linalg.generic {indexing_maps = [#same, #same, #same, #same, #same, #same, #same, #same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%a, %b, %c, %d, %e, %f, %g, %h, %i : tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>) outs(%o : tensor<4x8xi8>) {
  ^bb0(%p0: i8, %p1: i8, %p2: i8, %p3: i8, %p4: i8, %p5: i8, %p6: i8, %p7: i8, %p8: i8, %out: i8):
    %s1 = arith.addi %p0, %p1 : i8
    %s2 = arith.addi %s1, %p2 : i8
    %s3 = arith.addi %s2, %p3 : i8
    %s4 = arith.addi %s3, %p4 : i8
    %s5 = arith.addi %s4, %p5 : i8
    %s6 = arith.addi %s5, %p6 : i8
    %s7 = arith.addi %s6, %p7 : i8
    %s8 = arith.addi %s7, %p8 : i8
    linalg.yield %s8 : i8
  } -> tensor<4x8xi8>
  return %q : tensor<4x8xi8>
}

// Seventeen tensors and the result have no descriptors beside a core, on any grid.
func.func @wider(%a0: tensor<4x8xi8>, %a1: tensor<4x8xi8>, %a2: tensor<4x8xi8>, %a3: tensor<4x8xi8>, %a4: tensor<4x8xi8>, %a5: tensor<4x8xi8>, %a6: tensor<4x8xi8>, %a7: tensor<4x8xi8>, %a8: tensor<4x8xi8>, %a9: tensor<4x8xi8>, %a10: tensor<4x8xi8>, %a11: tensor<4x8xi8>, %a12: tensor<4x8xi8>, %a13: tensor<4x8xi8>, %a14: tensor<4x8xi8>, %a15: tensor<4x8xi8>, %a16: tensor<4x8xi8>) -> tensor<4x8xi8> {
  %o = tensor.empty() : tensor<4x8xi8>
  // expected-error @below {{18 tensors take a descriptor each, and a core has 16; hint: run npuflow-split-wide-ops first}}
  %q = linalg.generic {indexing_maps = [#same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %a15, %a16 : tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>) outs(%o : tensor<4x8xi8>) {
  ^bb0(%p0: i8, %p1: i8, %p2: i8, %p3: i8, %p4: i8, %p5: i8, %p6: i8, %p7: i8, %p8: i8, %p9: i8, %p10: i8, %p11: i8, %p12: i8, %p13: i8, %p14: i8, %p15: i8, %p16: i8, %out: i8):
    %s1 = arith.addi %p0, %p1 : i8
    %s2 = arith.addi %s1, %p2 : i8
    %s3 = arith.addi %s2, %p3 : i8
    %s4 = arith.addi %s3, %p4 : i8
    %s5 = arith.addi %s4, %p5 : i8
    %s6 = arith.addi %s5, %p6 : i8
    %s7 = arith.addi %s6, %p7 : i8
    %s8 = arith.addi %s7, %p8 : i8
    %s9 = arith.addi %s8, %p9 : i8
    %s10 = arith.addi %s9, %p10 : i8
    %s11 = arith.addi %s10, %p11 : i8
    %s12 = arith.addi %s11, %p12 : i8
    %s13 = arith.addi %s12, %p13 : i8
    %s14 = arith.addi %s13, %p14 : i8
    %s15 = arith.addi %s14, %p15 : i8
    %s16 = arith.addi %s15, %p16 : i8
    linalg.yield %s16 : i8
  } -> tensor<4x8xi8>
  return %q : tensor<4x8xi8>
}
