// RUN: npuflow-opt %s --npuflow-check-input --verify-diagnostics --split-input-file

func.func @dynamic(%a: tensor<?x64xf32>, %b: tensor<64x16xf32>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // expected-error @below {{linalg.matmul has a dynamic shape (tensor<?x64xf32>); hint: make every size static}}
  %r = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x16xf32>) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}

// -----

func.func @unranked(%a: tensor<*xf32>) -> tensor<4xf32> {
  // expected-error @below {{tensor.cast has a dynamic shape (tensor<*xf32>); hint: make every size static}}
  %r = tensor.cast %a : tensor<*xf32> to tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @memref(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  // expected-error @below {{linalg.matmul works on memrefs (memref<8x8xf32>); hint: give the program on tensors}}
  linalg.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  return
}

// -----

func.func @nothing_to_add(%a: tensor<8x0xf32>, %b: tensor<0x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{linalg.matmul has a size of 0 (tensor<8x0xf32>); hint: leave it out: there is nothing to compute}}
  %r = linalg.matmul ins(%a, %b : tensor<8x0xf32>, tensor<0x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

#rows = #sparse_tensor.encoding<{map = (d0, d1) -> (d0 : dense, d1 : compressed)}>
func.func @sparse(%a: tensor<8x8xf32, #rows>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{linalg.matmul works on tensors with an encoding (tensor<8x8xf32, #sparse_tensor.encoding}}
  %r = linalg.matmul ins(%a, %b : tensor<8x8xf32, #rows>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

func.func @complex(%a: tensor<8x8xcomplex<f32>>, %c: tensor<8x8xcomplex<f32>>) -> tensor<8x8xcomplex<f32>> {
  // expected-error @below {{linalg.matmul works on elements of type complex<f32>; hint: use i1, i8, i16, i32, i64, f16, f32, f64, bf16}}
  %r = linalg.matmul ins(%a, %a : tensor<8x8xcomplex<f32>>, tensor<8x8xcomplex<f32>>) outs(%c : tensor<8x8xcomplex<f32>>) -> tensor<8x8xcomplex<f32>>
  return %r : tensor<8x8xcomplex<f32>>
}

// -----

// Every independent error is reported; what lies inside of an unsupported op isn't.
func.func @unsupported(%a: tensor<8x8xf32>, %b: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x4xf32>, %o: tensor<1x6x6x4xf32>) -> tensor<9x9xf32> {
  // expected-error @below {{tensor.pad is read by func.return; hint: run npuflow-normalize-linalg first, which computes what others than linalg ops read}}
  %p = tensor.pad %a low[0, 0] high[1, 1] {
  ^bb0(%i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    tensor.yield %zero : f32
  } : tensor<8x8xf32> to tensor<9x9xf32>
  // expected-error @below {{unsupported op linalg.conv_2d_nhwc_hwcf}}
  %c = linalg.conv_2d_nhwc_hwcf ins(%b, %k : tensor<1x8x8x4xf32>, tensor<3x3x4x4xf32>) outs(%o : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  return %p : tensor<9x9xf32>
}

// -----

func.func private @g(tensor<8xf32>) -> tensor<8xf32>
func.func @call(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{unsupported op func.call; hint: functions are inlined that have a body, don't call themselves and make no 10000 calls in all}}
  %r = func.call @g(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @matvec(%a: tensor<8x8xf32>, %x: tensor<8xf32>, %y: tensor<8xf32>, %s: tensor<f32>) -> tensor<8xf32> {
  // expected-error @below {{linalg.matvec has 0 n loops; hint: reshape it to a matmul with one m, n and k loop, and batch loops}}
  %r = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{linalg.dot has 0 m loops and 0 n loops; hint: reshape it}}
  %d = linalg.dot ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%s : tensor<f32>) -> tensor<f32>
  return %r : tensor<8xf32>
}

// -----

func.func @and_or(%a: tensor<8x8xi1>, %b: tensor<8x8xi1>, %c: tensor<8x8xi1>) -> tensor<8x8xi1> {
  // expected-error @below {{linalg.matmul does not multiply and add; hint: use arith.muli and arith.addi, or mulf and addf}}
  %r = linalg.matmul ins(%a, %b : tensor<8x8xi1>, tensor<8x8xi1>) outs(%c : tensor<8x8xi1>) -> tensor<8x8xi1>
  return %r : tensor<8x8xi1>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @position(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %e = tensor.empty() : tensor<8x8xi32>
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{linalg.generic computes with the position of an element (linalg.index); hint: run npuflow-normalize-linalg first: it reads them from a tensor where an operand gives the loop's size}}
  %t = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) {
  ^bb0(%x: i32, %out: i32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %y = arith.addi %x, %j : i32
    linalg.yield %y : i32
  } -> tensor<8x8xi32>
  return %t : tensor<8x8xi32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @captured(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>, %table: tensor<4xi32>, %i: index) -> tensor<8x8xi32> {
  %e = tensor.empty() : tensor<8x8xi32>
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{linalg.generic reads a tensor from inside of its body (tensor.extract); hint: make the tensor an operand}}
  %t = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) {
  ^bb0(%x: i32, %out: i32):
    %v = tensor.extract %table[%i] : tensor<4xi32>
    %y = arith.addi %x, %v : i32
    linalg.yield %y : i32
  } -> tensor<8x8xi32>
  return %t : tensor<8x8xi32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @diagonal(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>, %d: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %e = tensor.empty() : tensor<8x8xi32>
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{operand 1 of linalg.generic is indexed by (d0, d1) -> (d0, d0); hint: index it by loops, each at most once, and 0}}
  %t = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d0, d0)>, #same], iterator_types = ["parallel", "parallel"]} ins(%r, %d : tensor<8x8xi32>, tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) {
  ^bb0(%x: i32, %z: i32, %out: i32):
    %y = arith.addi %x, %z : i32
    linalg.yield %y : i32
  } -> tensor<8x8xi32>
  return %t : tensor<8x8xi32>
}

// -----

// expected-error @+2 {{argument 1 of @unused_scalar is no tensor (f64); hint: make it a tensor of one element, as tensor<1xf64>}}
// expected-error @+1 {{result 1 of @unused_scalar is no tensor (index); hint: make it a tensor of one element}}
func.func @unused_scalar(%a: tensor<4xf32>, %s: f64) -> (tensor<4xf32>, index) {
  %c = arith.constant 0 : index
  return %a, %c : tensor<4xf32>, index
}

// -----

// expected-error @+1 {{argument 0 of @only_returned has a dynamic shape (tensor<?xf32>); hint: make every size static, as --specialize=%arg0=128x256 does}}
func.func @only_returned(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// -----

!huge = tensor<4611686018427387904x4611686018427387904xi8>
func.func @huge(%a: !huge, %b: !huge, %c: !huge) -> !huge {
  // expected-error @below {{linalg.matmul works on 21267647932558653966460912964485513216 bytes (tensor<4611686018427387904x4611686018427387904xi8>), and addresses reach 281474976710656; hint: use smaller sizes}}
  %r = linalg.matmul ins(%a, %b : !huge, !huge) outs(%c : !huge) -> !huge
  return %r : !huge
}

// -----

func.func @unwritten(%a: tensor<8x8xi32>) -> (tensor<8x8xi32>, tensor<64xi32>) {
  %e = tensor.empty() : tensor<8x8xi32>
  // expected-error @below {{linalg.matmul reads a tensor.empty, whose elements nothing has made; hint: give it a value first, as linalg.fill does}}
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  %c = tensor.collapse_shape %e [[0, 1]] : tensor<8x8xi32> into tensor<64xi32>
  // expected-error @below {{func.return reads a tensor.empty}}
  return %r, %c : tensor<8x8xi32>, tensor<64xi32>
}

// -----

func.func @without_a_body(%a: tensor<30x77xf32>) -> tensor<30x77xf32> {
  %e = tensor.empty() : tensor<30x77xf32>
  // expected-error @below {{unsupported op linalg.softmax; hint: npuflow-generalize-operators makes it generic}}
  %r = linalg.softmax dimension(1) ins(%a : tensor<30x77xf32>) outs(%e : tensor<30x77xf32>) -> tensor<30x77xf32>
  return %r : tensor<30x77xf32>
}
