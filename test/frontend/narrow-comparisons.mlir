// What was extended is compared with a constant as what it was, where its type has that constant.
// RUN: npuflow-opt %s --npuflow-narrow-comparisons --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-narrow-comparisons | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right:

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @infinite
// CHECK:         ^bb0(%[[A:.*]]: bf16, %{{.*}}: i1):
// CHECK-NEXT:      arith.cmpf oeq, %[[A]], %{{.*}} : bf16
// CHECK-NEXT:      linalg.yield
func.func @infinite(%x: tensor<64xbf16>) -> tensor<64xi1> {
  %e = tensor.empty() : tensor<64xi1>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xbf16>) outs(%e : tensor<64xi1>) {
  ^bb0(%a: bf16, %o: i1):
    %c = arith.constant 0xFFF0000000000000 : f64
    %s = arith.extf %a : bf16 to f32
    %w = arith.extf %s : f32 to f64
    %t = arith.cmpf oeq, %w, %c : f64
    linalg.yield %t : i1
  } -> tensor<64xi1>
  return %r : tensor<64xi1>
}

// A bf16 has no 0.1, and nothing was extended of a sum.
// CHECK-LABEL: func.func @stays
// CHECK:         arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK:         arith.cmpf olt, %{{.*}}, %{{.*}} : f32
func.func @stays(%x: tensor<64xbf16>) -> tensor<64xi1> {
  %e = tensor.empty() : tensor<64xi1>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xbf16>) outs(%e : tensor<64xi1>) {
  ^bb0(%a: bf16, %o: i1):
    %tenth = arith.constant 0.1 : f32
    %one = arith.constant 1.0 : f32
    %w = arith.extf %a : bf16 to f32
    %s = arith.addf %w, %tenth : f32
    %t = arith.cmpf olt, %w, %tenth : f32
    %u = arith.cmpf olt, %s, %one : f32
    %v = arith.andi %t, %u : i1
    linalg.yield %v : i1
  } -> tensor<64xi1>
  return %r : tensor<64xi1>
}
