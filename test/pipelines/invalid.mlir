// What a user may bring that no pipeline can compile: each is refused where it is, with a hint, and nothing is written.
// RUN: npuflow-opt %s --npuflow-stream-k=device=toy --verify-diagnostics --split-input-file
// RUN: npuflow-opt %s --npuflow-pad-pack=device=toy --verify-diagnostics --split-input-file
// RUN: npuflow-opt %s --npuflow-pack-peel=device=toy --verify-diagnostics --split-input-file
// RUN: not npuflow-opt %t.missing --npuflow-stream-k 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot open input file '{{.*}}.missing': No such file or directory; hint: give the path of an .mlir file, or - for stdin

func.func @dynamic(%a: tensor<?x64xf32>, %b: tensor<64x16xf32>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // expected-error @below {{linalg.matmul has a dynamic shape (tensor<?x64xf32>); hint: make every size static}}
  %r = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x16xf32>) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}

// -----

// Each function is judged on its own; the good one in between says nothing.
func.func @f64(%a: tensor<8x8xf64>) -> tensor<8x8xf64> {
  // expected-error @below {{device 'toy' cannot multiply f64 x f64 -> f64; hint: it can multiply}}
  %r = linalg.matmul ins(%a, %a : tensor<8x8xf64>, tensor<8x8xf64>) outs(%a : tensor<8x8xf64>) -> tensor<8x8xf64>
  return %r : tensor<8x8xf64>
}
func.func @good(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
func.func @mixed(%a: tensor<8x8xi8>, %b: tensor<8x8xi16>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error @below {{device 'toy' cannot multiply i8 x i16 -> i32}}
  %r = linalg.matmul ins(%a, %b : tensor<8x8xi8>, tensor<8x8xi16>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}

// -----

func.func @memref(%a: memref<8x8xf32>) {
  // expected-error @below {{linalg.matmul works on memrefs (memref<8x8xf32>); hint: give the program on tensors}}
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  return
}

// -----

func.func @preset(%a: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{grid 9x9 is larger than the 2x2 cores of toy; hint: use at most 2 rows and 2 columns}}
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [9, 9]}>} ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// expected-error @below {{unsupported op llvm.func}}
llvm.func @not_ours() {
  llvm.return
}

// -----

func.func @syntax(%a: tensor<8x8xf32>) {
  // expected-error @below {{use of undeclared SSA value name}}
  return %b : tensor<8x8xf32>
}
