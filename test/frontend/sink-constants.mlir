// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-fuse-elementwise --npuflow-sink-constants | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right:

// Zero points are in the body; the fill's value, which no body reads, stays outside.
// CHECK-LABEL: func.func @zero_points
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NOT:     arith.constant
// CHECK:         linalg.fill ins(%[[ZERO]] : i32)
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{[^,]*}}, %{{[^,]*}} : tensor<4x4xi8>, tensor<4x4xi8>)
// CHECK:         ^bb0
// CHECK-DAG:       %[[THREE:.*]] = arith.constant 3 : i32
// CHECK-DAG:       %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK:           arith.subi %{{.*}}, %[[THREE]]
// CHECK:           arith.subi %{{.*}}, %[[FIVE]]
func.func @zero_points(%a: tensor<4x4xi8>, %b: tensor<4x4xi8>, %e: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %five = arith.constant 5 : i32
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x4xi32>) -> tensor<4x4xi32>
  %r = linalg.quantized_matmul ins(%a, %b, %three, %five : tensor<4x4xi8>, tensor<4x4xi8>, i32, i32) outs(%f : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %r : tensor<4x4xi32>
}

// A scalar that is an argument stays an operand.
// CHECK-LABEL: func.func @argument
// CHECK-SAME:    %[[Z:[^:]*]]: i32
// CHECK:         linalg.generic {{.*}} ins({{.*}}%[[Z]] :
func.func @argument(%z: i32, %a: tensor<4x4xi8>, %c: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %r = linalg.quantized_matmul ins(%a, %a, %z, %z : tensor<4x4xi8>, tensor<4x4xi8>, i32, i32) outs(%c : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %r : tensor<4x4xi32>
}

// What is returned and filled by a constant is one, reshaped or not; a fill that something adds to stays.
// CHECK-LABEL: func.func @filled
// CHECK-DAG:     %[[R:.*]] = arith.constant dense<7> : tensor<4x4xi32>
// CHECK-DAG:     %[[F:.*]] = arith.constant dense<7> : tensor<16xi32>
// CHECK:         return %[[F]], %[[R]]
func.func @filled() -> (tensor<16xi32>, tensor<4x4xi32>) {
  %seven = arith.constant 7 : i32
  %e = tensor.empty() : tensor<16xi32>
  %f = linalg.fill ins(%seven : i32) outs(%e : tensor<16xi32>) -> tensor<16xi32>
  %x = tensor.expand_shape %f [[0, 1]] output_shape [4, 4] : tensor<16xi32> into tensor<4x4xi32>
  return %f, %x : tensor<16xi32>, tensor<4x4xi32>
}
