// Bodies are data: whatever could run other code, end the process or never end is refused where it stands.
// RUN: npuflow-opt %s --npuflow-check-input --verify-diagnostics --split-input-file

#id = affine_map<(d0) -> (d0)>
func.func @machine_code(%a: tensor<16xi32>) -> tensor<16xi32> {
  %e = tensor.empty() : tensor<16xi32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<16xi32>) outs(%e : tensor<16xi32>) {
  ^bb0(%x: i32, %z: i32):
    // expected-error @below {{llvm.inline_asm is not allowed in the body of linalg.generic; hint: bodies take ops of arith and math on i1 to i64, index, f16, bf16, f32 and f64, index, affine.apply and scf.if}}
    %w = llvm.inline_asm has_side_effects "movl $$42, $0", "=r" : () -> i32
    // expected-error @below {{llvm.intr.trap is not allowed in the body of linalg.generic}}
    "llvm.intr.trap"() : () -> ()
    linalg.yield %w : i32
  } -> tensor<16xi32>
  return %r : tensor<16xi32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func private @_exit(i32) -> i32
func.func @others(%a: tensor<16xi32>) -> tensor<16xi32> {
  %e = tensor.empty() : tensor<16xi32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<16xi32>) outs(%e : tensor<16xi32>) {
  ^bb0(%x: i32, %z: i32):
    // expected-error @below {{func.call is not allowed in the body of linalg.generic}}
    %w = func.call @_exit(%x) : (i32) -> i32
    // expected-error @below {{func.constant is not allowed in the body of linalg.generic}}
    %f = func.constant @_exit : (i32) -> i32
    // expected-error @below {{func.call_indirect is not allowed in the body of linalg.generic}}
    %v = func.call_indirect %f(%x) : (i32) -> i32
    %false = arith.constant false
    // expected-error @below {{cf.assert is not allowed in the body of linalg.generic}}
    cf.assert %false, "boom"
    // expected-error @below {{vector.print is not allowed in the body of linalg.generic}}
    vector.print %x : i32
    linalg.yield %x : i32
  } -> tensor<16xi32>
  return %r : tensor<16xi32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @loops(%a: tensor<16xi32>) -> tensor<16xi32> {
  %e = tensor.empty() : tensor<16xi32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<16xi32>) outs(%e : tensor<16xi32>) {
  ^bb0(%x: i32, %z: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 1000000000000 : index
    // expected-error @below {{scf.for is not allowed in the body of linalg.generic}}
    %w = scf.for %i = %c0 to %n step %c1 iter_args(%q = %x) -> i32 {
      scf.yield %q : i32
    }
    // expected-error @below {{scf.while is not allowed in the body of linalg.generic}}
    %v = scf.while (%q = %x) : (i32) -> i32 {
      %true = arith.constant true
      scf.condition(%true) %q : i32
    } do {
    ^bb0(%q: i32):
      scf.yield %q : i32
    }
    linalg.yield %w : i32
  } -> tensor<16xi32>
  return %r : tensor<16xi32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @types(%a: tensor<16xi32>) -> tensor<16xi32> {
  %e = tensor.empty() : tensor<16xi32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<16xi32>) outs(%e : tensor<16xi32>) {
  ^bb0(%x: i32, %z: i32):
    // expected-error @below {{arith.extsi works on a value of type i128; hint: use i1 to i64, index, f16, bf16, f32 and f64}}
    %y = arith.extsi %x : i32 to i128
    // expected-error @below {{arith.sitofp works on a value of type f128}}
    %f = arith.sitofp %x : i32 to f128
    // expected-error @below {{arith.sitofp works on a value of type f8E5M2}}
    %g = arith.sitofp %x : i32 to f8E5M2
    %c = arith.constant 4096 : i64
    // expected-error @below {{llvm.inttoptr is not allowed in the body of linalg.generic}}
    %p = llvm.inttoptr %c : i64 to !llvm.ptr
    linalg.yield %x : i32
  } -> tensor<16xi32>
  return %r : tensor<16xi32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @unknown(%a: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%x: f32, %z: f32):
    // expected-error @below {{math.isinf is not allowed in the body of linalg.generic; hint: did you mean math.sin, math.sinh, math.asin?}}
    %b = math.isinf %x : f32
    %y = scf.if %b -> f32 {
      // expected-error @below {{linalg.exp is not allowed in the body of linalg.generic}}
      %q = linalg.exp ins(%a : tensor<16xf32>) outs(%a : tensor<16xf32>) -> tensor<16xf32>
      scf.yield %z : f32
    } else {
      scf.yield %x : f32
    }
    linalg.yield %y : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}
