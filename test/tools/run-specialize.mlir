// A program of dynamic shapes runs with the shapes that are asked for; without them the message says how to ask.
// RUN: npuflow run %s --device=toy --specialize=%arg0=32x64,%arg1=64x?,@matmul:%arg1=?x16 | filecheck %s
// RUN: npuflow run - --device=toy --specialize=%arg0=32x64,%arg1=64x16 < %s | filecheck %s
// RUN: not npuflow run %s --device=toy 2>&1 | filecheck %s --check-prefix=DYNAMIC
// RUN: not npuflow run %s --device=toy --specialize=%arg0=32x63 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK:      @matmul(32x64xi8, 64x16xi8) -> (32x16xi32) on toy
// CHECK:      verified    bit-exact, against IREE
// DYNAMIC:    error: argument 0 of type tensor<?x64xi8> has a dynamic shape; hint: only static shapes can be executed; --specialize=%arg0=128x256 gives one
// WRONG:      run-specialize.mlir:12:19: error: %arg0=32x63: size 63 of dimension 1 is 64 in the argument's type (tensor<?x64xi8>); hint: only dynamic sizes can be chosen

func.func @matmul(%a: tensor<?x64xi8>, %b: tensor<64x?xi8>) -> tensor<?x?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %m = tensor.dim %a, %c0 : tensor<?x64xi8>
  %n = tensor.dim %b, %c1 : tensor<64x?xi8>
  %e = tensor.empty(%m, %n) : tensor<?x?xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<?x?xi32>) -> tensor<?x?xi32>
  %r = linalg.matmul ins(%a, %b : tensor<?x64xi8>, tensor<64x?xi8>) outs(%f : tensor<?x?xi32>) -> tensor<?x?xi32>
  return %r : tensor<?x?xi32>
}
