// RUN: npuflow-opt %s --npuflow-promote-operands --verify-diagnostics --split-input-file

func.func @dynamic(%a: tensor<?x8xi32>, %b: tensor<8x8xi32>, %c: tensor<?x8xi32>) -> tensor<?x8xi32> {
  // expected-error @below {{linalg.matmul is no matmul on static tensors with one m, n and k loop; hint: npuflow-check-input says what can be compiled}}
  %r = linalg.matmul ins(%a, %b : tensor<?x8xi32>, tensor<8x8xi32>) outs(%c : tensor<?x8xi32>) -> tensor<?x8xi32>
  return %r : tensor<?x8xi32>
}

// -----

// An operand that each core makes for itself is nothing to share.
func.func @no_slice(%b: tensor<8x8xi32>, %e: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %zero = arith.constant 0 : i32
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %e) -> (tensor<16x8xi32>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%y)
    %t = tensor.empty() : tensor<8x8xi32>
    %f = linalg.fill ins(%zero : i32) outs(%t : tensor<8x8xi32>) -> tensor<8x8xi32>
    // expected-error @below {{operand 0 of linalg.matmul is no slice of its block that all cores could share in L2; hint: tile it by npuflow-tile-blocks, npuflow-tile-cores and npuflow-tile-k only}}
    %m = linalg.matmul ins(%f, %b : tensor<8x8xi32>, tensor<8x8xi32>) outs(%f : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %m into %out[%row, 0] [8, 8] [1, 1] : tensor<8x8xi32> into tensor<16x8xi32>
    }
  }
  return %r : tensor<16x8xi32>
}

// -----

// A core's place and K in one dimension: no slice that all cores read at a time.
func.func @mixed(%a: tensor<8x64xi32>, %b: tensor<8x8xi32>, %e: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %e) -> (tensor<16x8xi32>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%y)
    %half = affine.apply affine_map<(d0) -> (d0 * 32)>(%y)
    %part = tensor.extract_slice %a[0, %half] [8, 32] [1, 1] : tensor<8x64xi32> to tensor<8x32xi32>
    %t = tensor.empty() : tensor<8x8xi32>
    %f = linalg.fill ins(%zero : i32) outs(%t : tensor<8x8xi32>) -> tensor<8x8xi32>
    %s = scf.for %k = %c0 to %c32 step %c8 iter_args(%acc = %f) -> (tensor<8x8xi32>) {
      %ak = tensor.extract_slice %part[0, %k] [8, 8] [1, 1] : tensor<8x32xi32> to tensor<8x8xi32>
      // expected-error @below {{operand 0 of linalg.matmul is no slice of its block that all cores could share in L2}}
      %m = linalg.matmul ins(%ak, %b : tensor<8x8xi32>, tensor<8x8xi32>) outs(%acc : tensor<8x8xi32>) -> tensor<8x8xi32>
      scf.yield %m : tensor<8x8xi32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %out[%row, 0] [8, 8] [1, 1] : tensor<8x8xi32> into tensor<16x8xi32>
    }
  }
  return %r : tensor<16x8xi32>
}
