// What each core makes for itself outside of the bundle is no part of something that all of them share.
// RUN: npuflow-opt %s --npuflow-promote-bundles --verify-diagnostics

#same = affine_map<(d0) -> (d0)>
func.func @no_slice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %r = scf.forall (%y, %c) in (1, 2) shared_outs(%out = %e) -> (tensor<8xf32>) {
    %place = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%c]
    %te = tensor.empty() : tensor<4xf32>
    // expected-error @below {{an operand is no slice of its block that all cores could share in L2}}
    %tile = linalg.fill ins(%one : f32) outs(%te : tensor<4xf32>) -> tensor<4xf32>
    %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%tile : tensor<4xf32>) outs(%te : tensor<4xf32>) attrs = {npu.bundle = 0} {
    ^bb0(%a: f32, %o: f32):
      %1 = arith.mulf %a, %a : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %out[%place] [4] [1] : tensor<4xf32> into tensor<8xf32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<8xf32>
}
