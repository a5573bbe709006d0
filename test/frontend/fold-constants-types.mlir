// RUN: npuflow-opt %s --npuflow-fold-constants | filecheck %s

#same = affine_map<(i) -> (i)>

// Numbers of a type that is refused later on are nothing that is known.
// CHECK-LABEL: func.func @wide
// CHECK:         arith.addi {{.*}} : i128
func.func @wide() -> tensor<3xi32> {
  %t = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %wide = arith.constant dense<4> : tensor<3xi128>
  %e = tensor.empty() : tensor<3xi32>
  %y = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]} ins(%t, %wide : tensor<3xi32>, tensor<3xi128>) outs(%e : tensor<3xi32>) {
  ^bb0(%a: i32, %w: i128, %out: i32):
    %x = arith.extsi %a : i32 to i128
    %s = arith.addi %x, %w : i128
    %r = arith.trunci %s : i128 to i32
    linalg.yield %r : i32
  } -> tensor<3xi32>
  return %y : tensor<3xi32>
}
