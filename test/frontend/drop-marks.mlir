// Marks of bundles stay where the ops are one, and go where they are none, with what else was said of such a bundle.
// RUN: npuflow-opt %s --npuflow-drop-marks --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-drop-marks --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=SAID
// What belongs together is found anew by who compiles it.
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT
// RUN: npuflow run %s --device=npu4.0 | filecheck %s --check-prefix=RAN

// RIGHT-NOT: wrong
// RAN-COUNT-6: verified    {{bit-exact|max error}}

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#columns = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @whole
// CHECK:         {npu.bundle = 3 : i64, npu.made_of = ["whole_0", "whole_1"]}
// CHECK:         {npu.bundle = 3 : i64, npu.made_of = ["whole_0", "whole_1"]}
func.func @whole(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = 3, npu.made_of = ["whole_0", "whole_1"]} {
  ^bb0(%v: f32, %o: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %x : tensor<16x64xf32>, tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = 3, npu.made_of = ["whole_0", "whole_1"]} {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %r = arith.divf %v, %w : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  return %b : tensor<16x64xf32>
}

// One in the middle has lost its mark.
// CHECK-LABEL: func.func @torn
// CHECK-NOT:     npu.
// SAID: drop-marks.mlir:{{[0-9]+:[0-9]+}}: remark: [npuflow-drop-marks] bundle 0 is none, as linalg.generic outside of it reads what is not its last op's: marks of 2 ops are left out
func.func @torn(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = 0, npu.running} {
  ^bb0(%v: f32, %o: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.sqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<16x64xf32>, tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = 0, npu.row_loop = 0, npu.strategy = #npu.strategy<{tile_l1 = [4, 4, 4]}>} {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %r = arith.divf %v, %w : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  return %c : tensor<16x64xf32>
}

// No loop is parallel in both.
// CHECK-LABEL: func.func @no_space
// CHECK-NOT:     npu.
// SAID: bundle 1 is none, as its ops share no parallel loop
func.func @no_space(%x: tensor<16x64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x64xf32>) outs(%f : tensor<16xf32>)
      attrs = {npu.bundle = 1} {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %v, %o : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  %e2 = tensor.empty() : tensor<64xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64xf32>) -> tensor<64xf32>
  %t = linalg.generic {indexing_maps = [#id, #rows, #columns], iterator_types = ["reduction", "parallel"]} ins(%x, %s : tensor<16x64xf32>, tensor<16xf32>) outs(%f2 : tensor<64xf32>)
      attrs = {npu.bundle = 1} {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %p = arith.mulf %v, %w : f32
    %r = arith.addf %p, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %t : tensor<64xf32>
}

// A matmul is no linalg.generic, and is a matmul again.
// CHECK-LABEL: func.func @matmul
// CHECK-NOT:     npu.
// SAID: linalg.matmul is marked, and bundles have linalg.generic alone
func.func @matmul(%a: tensor<16x64xf32>, %b: tensor<64x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = linalg.matmul {npu.bundle = 0} ins(%a, %b : tensor<16x64xf32>, tensor<64x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

// No mark that there is.
// CHECK-LABEL: func.func @no_number
// CHECK-NOT:     npu.
// SAID: npu.bundle is no number
func.func @no_number(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = "first"} {
  ^bb0(%v: f32, %o: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  return %a : tensor<16x64xf32>
}

// What is said beside a mark says nothing without one.
// CHECK-LABEL: func.func @unmarked
// CHECK-NOT:     npu.
func.func @unmarked(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.made_of = ["f_0"], npu.row_loop = 1, npu.running, npu.step_loop = 1} {
  ^bb0(%v: f32, %o: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  return %a : tensor<16x64xf32>
}
