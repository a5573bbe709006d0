// Tensor arguments are read only, unless they say themselves whether they are.
// RUN: npuflow-opt %s --npuflow-protect-inputs | filecheck %s

// CHECK: func.func @inputs(%{{.*}}: tensor<4xi32> {bufferization.writable = false}, %{{.*}}: i32, %{{.*}}: tensor<4xi32> {bufferization.writable = true}, %{{.*}}: tensor<4xi32> {bufferization.writable = false, test.kept})
func.func @inputs(%a: tensor<4xi32>, %b: i32, %c: tensor<4xi32> {bufferization.writable = true}, %d: tensor<4xi32> {test.kept}) {
  return
}

// CHECK: func.func @buffers(%{{[^:]*}}: memref<4xi32>) {
func.func @buffers(%a: memref<4xi32>) {
  return
}

// CHECK: func.func private @external(tensor<4xi32>)
func.func private @external(tensor<4xi32>)
