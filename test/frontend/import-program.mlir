// What an exporter puts around a computation goes; a scan becomes a sum over what lies before each element.
// RUN: npuflow-opt %s --npuflow-import-program --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// CHECK-NOT: ml_program.global
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>

// CHECK-LABEL: func.func @scan
// CHECK:         %[[P:.*]] = arith.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[P]], %[[P]] :
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %[[HERE:.*]]: i32, %[[BEFORE:.*]]: i32, %[[OUT:.*]]: f32):
// CHECK-NEXT:      %[[IS:.*]] = arith.cmpi slt, %[[BEFORE]], %[[HERE]]
// CHECK-NEXT:      %[[ONE:.*]] = arith.select %[[IS]], %[[IN]], %{{.*}} : f32
// CHECK-NEXT:      arith.mulf %[[OUT]], %[[ONE]] : f32
func.func @scan(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %s = tensor.empty() : tensor<3xf32>
  %start = linalg.fill ins(%one : f32) outs(%s : tensor<3xf32>) -> tensor<3xf32>
  %r:2 = tm_tensor.scan dimension(1) inclusive(false) ins(%x : tensor<3x5xf32>) outs(%f, %start : tensor<3x5xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    tm_tensor.yield %p : f32
  } -> tensor<3x5xf32>, tensor<3xf32>
  return %r#0 : tensor<3x5xf32>
}

// Assertions are taken for granted, an allocated tensor is an empty one, and a concatenation knows its sizes.
// CHECK-LABEL: func.func @around
// CHECK-NOT:     cf.assert
// CHECK-NOT:     bufferization.alloc_tensor
// CHECK-NOT:     tensor.cast
// CHECK:         tensor.concat dim(0) %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
func.func @around(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<6xf32> {
  %e = bufferization.alloc_tensor() : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %fine = arith.cmpf olt, %in, %zero : f32
    cf.assert %fine, "negative"
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %a = tensor.cast %r : tensor<4xf32> to tensor<?xf32>
  %b = tensor.cast %y : tensor<2xf32> to tensor<?xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<6xf32>
  return %c : tensor<6xf32>
}

// A sort is ranks, and a choice by them; equal elements stay in their order.
// CHECK-LABEL: func.func @sort
// CHECK:         %[[R:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-COUNT-2: arith.cmpf oge
// CHECK:           arith.cmpi eq
// CHECK:           arith.addi
// CHECK-COUNT-2: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
func.func @sort(%x: tensor<3x6xf32>, %i: tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>) {
  %r:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<3x6xf32>, tensor<3x6xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %p = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %p : i1
  } -> tensor<3x6xf32>, tensor<3x6xi32>
  return %r#0, %r#1 : tensor<3x6xf32>, tensor<3x6xi32>
}

// The first of a sort have its ranks, and fewer places.
// CHECK-LABEL: func.func @first
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:         -> tensor<3x6xi32>
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:         -> tensor<3x2xf32>
func.func @first(%x: tensor<3x6xf32>) -> tensor<3x2xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i32
  %ev = tensor.empty() : tensor<3x2xf32>
  %ei = tensor.empty() : tensor<3x2xi32>
  %v = linalg.fill ins(%inf : f32) outs(%ev : tensor<3x2xf32>) -> tensor<3x2xf32>
  %i = linalg.fill ins(%none : i32) outs(%ei : tensor<3x2xi32>) -> tensor<3x2xi32>
  %r:2 = tm_tensor.topk dimension(1) ins(%x : tensor<3x6xf32>) outs(%v, %i : tensor<3x2xf32>, tensor<3x2xi32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %p : i1
  } -> tensor<3x2xf32>, tensor<3x2xi32>
  return %r#0 : tensor<3x2xf32>
}

// In a scatter every element looks for the updates that are meant for it.
// CHECK-LABEL: func.func @scatter
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:      outs(%arg2 : tensor<4x5xi32>)
// CHECK:           %[[HIT:.*]] = arith.cmpi eq
// CHECK:           %[[NEW:.*]] = arith.addi
// CHECK:           arith.select %[[HIT]], %[[NEW]]
func.func @scatter(%u: tensor<6x1x5xi32>, %i: tensor<6x1xi64>, %x: tensor<4x5xi32>) -> tensor<4x5xi32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<6x1x5xi32>, tensor<6x1xi64>) outs(%x : tensor<4x5xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %b, %a : i32
    tm_tensor.yield %s : i32
  } -> tensor<4x5xi32>
  return %r : tensor<4x5xi32>
}

// A padding by fewer than 0 elements is a slice; what it adds elsewhere stays.
// CHECK-LABEL: func.func @cut
// CHECK:         %[[S:.*]] = tensor.extract_slice %arg0[2, 0] [7, 4] [1, 1]
// CHECK:         tensor.pad %[[S]] low[0, 3] high[0, 0]
func.func @cut(%x: tensor<10x4xf32>) -> tensor<7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[-2, 3] high[-1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<10x4xf32> to tensor<7x7xf32>
  return %p : tensor<7x7xf32>
}

// Calls are inlined, those of what is called as well; what others may call stays.
// CHECK-NOT:     @twice
// CHECK-LABEL: func.func @sum
// CHECK-LABEL: func.func @calls
// CHECK:         %[[A:.*]] = linalg.add ins(%arg0, %arg1
// CHECK:         %[[B:.*]] = linalg.add ins(%[[A]], %arg1
// CHECK:         return %[[B]]
func.func private @twice(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = func.call @sum(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %b = func.call @sum(%a, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %b : tensor<4xi32>
}
func.func @sum(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.add ins(%x, %y : tensor<4xi32>, tensor<4xi32>) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
func.func @calls(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %r = func.call @twice(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// What pads in f32 is no number of f32 as PyTorch has it.
// CHECK-LABEL: func.func @padded
// CHECK:         %[[N:.*]] = arith.constant 1.000000e-01 : f32
// CHECK-NOT:     arith.truncf
// CHECK:         tensor.yield %[[N]] : f32
func.func @padded(%x: tensor<4xf32>) -> tensor<6xf32> {
  %wide = arith.constant 1.000000e-01 : f64
  %number = arith.truncf %wide : f64 to f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %number : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// Results without elements are constants, whoever made them, and so is an argument that is returned.
// CHECK-LABEL: func.func @no_results
// CHECK-NOT:     linalg.abs
// CHECK:         %[[F:.*]] = arith.constant dense<{{.*}}> : tensor<0x8xf32>
// CHECK-NEXT:    %[[I:.*]] = arith.constant dense<{{.*}}> : tensor<0xi8>
// CHECK-NEXT:    return %[[F]], %[[I]] : tensor<0x8xf32>, tensor<0xi8>
func.func @no_results(%x: tensor<4x8xf32>, %i: tensor<0xi8>) -> (tensor<0x8xf32>, tensor<0xi8>) {
  %none = tensor.extract_slice %x[2, 0] [0, 8] [1, 1] : tensor<4x8xf32> to tensor<0x8xf32>
  %e = tensor.empty() : tensor<0x8xf32>
  %abs = linalg.abs ins(%none : tensor<0x8xf32>) outs(%e : tensor<0x8xf32>) -> tensor<0x8xf32>
  return %abs, %i : tensor<0x8xf32>, tensor<0xi8>
}

// Of no elements nothing is computed, and products of none are what they begin with.
// CHECK-LABEL: func.func @nothing
// CHECK:         %[[F:.*]] = linalg.fill ins(%[[V:.*]] : f32) outs(%{{.*}} : tensor<4x6xf32>)
// CHECK-NOT:     linalg.abs
// CHECK:         %[[M:.*]] = linalg.matmul ins(%arg0, %arg1 : {{.*}}) outs(%[[F]] :
// CHECK-NEXT:    %[[C:.*]] = tensor.concat dim(1) %arg0, %[[M]] :
// CHECK-NOT:     tensor.pad
// CHECK:         %[[P:.*]] = linalg.fill ins(%[[V]] : f32) outs(%{{.*}} : tensor<4x3xf32>)
// CHECK-NEXT:    return %[[C]], %[[M]], %[[P]] :
func.func @nothing(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> (tensor<4x14xf32>, tensor<4x6xf32>, tensor<4x3xf32>) {
  %z = arith.constant 1.5 : f32
  %none = tensor.extract_slice %x[0, 0] [4, 0] [1, 1] : tensor<4x8xf32> to tensor<4x0xf32>
  %e0 = tensor.empty() : tensor<4x0xf32>
  %relu = linalg.abs ins(%none : tensor<4x0xf32>) outs(%e0 : tensor<4x0xf32>) -> tensor<4x0xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %w0 = tensor.extract_slice %w[2, 0] [0, 6] [1, 1] : tensor<8x6xf32> to tensor<0x6xf32>
  %m0 = linalg.matmul ins(%relu, %w0 : tensor<4x0xf32>, tensor<0x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%m0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = tensor.concat dim(1) %x, %relu, %m : (tensor<4x8xf32>, tensor<4x0xf32>, tensor<4x6xf32>) -> tensor<4x14xf32>
  %p = tensor.pad %relu low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4x0xf32> to tensor<4x3xf32>
  %i = tensor.insert_slice %relu into %m[0, 0] [4, 0] [1, 1] : tensor<4x0xf32> into tensor<4x6xf32>
  return %c, %i, %p : tensor<4x14xf32>, tensor<4x6xf32>, tensor<4x3xf32>
}
