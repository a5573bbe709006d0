// Nine tensors take more descriptors than a memory tile has, on four rows of cores that somebody asks for.
// RUN: npuflow-opt %s --npuflow-assign-bundles='device=npu1 grid=4,4' --verify-diagnostics

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @wide(%a: tensor<4x8xi8>, %b: tensor<4x8xi8>, %c: tensor<4x8xi8>, %d: tensor<4x8xi8>, %e: tensor<4x8xi8>, %f: tensor<4x8xi8>, %g: tensor<4x8xi8>, %h: tensor<4x8xi8>, %i: tensor<4x8xi8>) -> tensor<4x8xi8> {
  %o = tensor.empty() : tensor<4x8xi8>
  // expected-error @below {{10 tensors of linalg.generic take more descriptors for 4 rows of cores than a memory tile has (48); hint: choose a grid of fewer rows}}
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
