// One spelling for every matmul group: transposes folded, everything elementwise behind a matmul in one linalg.generic.
// RUN: npuflow-opt %s --npuflow-normalize-linalg --mlir-print-local-scope | filecheck %s
// It is a pipeline, of others a stage: what runs are its passes, each by its own name.
// RUN: npuflow-opt %s --npuflow-normalize-linalg --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: npuflow-opt %s --npuflow-stream-k --stop-after=normalize-linalg --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: npuflow-opt %s --npuflow-stream-k --stop-after=fold-views --mlir-timing -o %t 2>&1 | filecheck %s --check-prefix=TIMES
// RUN: npuflow-opt %s --npuflow-normalize-linalg --mlir-print-ir-after=npuflow-fold-views,npuflow-fuse-elementwise -o %t 2>&1 | filecheck %s --check-prefix=DUMPS
// RUN: npuflow-opt %s --npuflow-normalize-linalg --mlir-pass-statistics -o %t 2>&1 | filecheck %s --check-prefix=COUNTS

// PASSES:      Pass Manager with 31 passes:
// PASSES-NEXT: builtin.module(npuflow-import-program,npuflow-generalize-operators,npuflow-read-scalars,npuflow-fold-constants,npuflow-read-elements,npuflow-compute-parts,npuflow-write-through,npuflow-join-slices,npuflow-read-positions,npuflow-drop-unit-dims,npuflow-fold-views,npuflow-fold-extensions,npuflow-find-greatest,npuflow-mask-padding,npuflow-add-inits,npuflow-narrow-sums{bits=32},npuflow-fuse-elementwise,npuflow-narrow-comparisons,npuflow-detach-factors,npuflow-drop-unit-loops,npuflow-collapse-contractions,npuflow-round-sums,npuflow-expose-heads,npuflow-compute-padding,npuflow-compute-slices,npuflow-update-arguments,npuflow-sink-constants,npuflow-mark-lookups,npuflow-split-reductions,npuflow-widen-scalars,npuflow-drop-marks){{$}}

// TIMES:       npuflow-import-program
// TIMES-NEXT:  npuflow-generalize-operators
// TIMES-NEXT:  npuflow-read-scalars
// TIMES-NEXT:  npuflow-fold-constants
// TIMES-NEXT:  npuflow-read-elements
// TIMES-NEXT:  npuflow-compute-parts
// TIMES-NEXT:  npuflow-write-through
// TIMES-NEXT:  npuflow-join-slices
// TIMES-NEXT:  npuflow-read-positions
// TIMES-NEXT:  npuflow-drop-unit-dims
// TIMES-NEXT:  npuflow-fold-views
// TIMES-NEXT:  Output

// DUMPS:       // -----// IR Dump After npuflow-fold-views //----- //
// DUMPS:       func.func @tail
// DUMPS:       linalg.generic
// DUMPS:       linalg.generic
// DUMPS:       // -----// IR Dump After npuflow-fuse-elementwise //----- //
// DUMPS:       func.func @tail
// DUMPS:       linalg.generic
// DUMPS-NOT:   linalg.generic
// DUMPS:       return

// COUNTS:      npuflow-generalize-operators
// COUNTS:        (S) {{[0-9]+}} ops generalized
// COUNTS:      npuflow-fold-views
// COUNTS-NEXT:   (S) {{[0-9]+}} slices of views
// COUNTS-NEXT:   (S) {{[0-9]+}} views folded

// A transposed operand is read as it lies.
// CHECK-LABEL: func.func @transposed_rhs
// CHECK-SAME:    %[[A:.*]]: tensor<8x32xf32>, %[[B:.*]]: tensor<16x32xf32>
// CHECK-NOT:     linalg.transpose
// CHECK:         linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[A]], %[[B]] :
func.func @transposed_rhs(%a: tensor<8x32xf32>, %b: tensor<16x32xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<32x16xf32>
  %bt = linalg.transpose ins(%b : tensor<16x32xf32>) outs(%e : tensor<32x16xf32>) permutation = [1, 0]
  %r = linalg.matmul ins(%a, %bt : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// Two transposes cancel.
// CHECK-LABEL: func.func @transposed_twice
// CHECK-SAME:    %[[A:.*]]: tensor<8x32xf32>, %[[B:.*]]: tensor<32x16xf32>
// CHECK-NOT:     linalg.transpose
// CHECK-NOT:     linalg.generic
// CHECK:         linalg.matmul ins(%[[A]], %[[B]] :
func.func @transposed_twice(%a: tensor<8x32xf32>, %b: tensor<32x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<16x32xf32>
  %f = tensor.empty() : tensor<32x16xf32>
  %bt = linalg.transpose ins(%b : tensor<32x16xf32>) outs(%e : tensor<16x32xf32>) permutation = [1, 0]
  %btt = linalg.transpose ins(%bt : tensor<16x32xf32>) outs(%f : tensor<32x16xf32>) permutation = [1, 0]
  %r = linalg.matmul ins(%a, %btt : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK-SAME:    %[[B:.*]]: tensor<3x16x32xf32>
// CHECK:         linalg.batch_matmul indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, {{.*}}] ins(%{{.*}}, %[[B]] :
func.func @batch(%b: tensor<3x16x32xf32>, %a: tensor<3x8x32xf32>, %c: tensor<3x8x16xf32>) -> tensor<3x8x16xf32> {
  %e = tensor.empty() : tensor<3x32x16xf32>
  %bt = linalg.transpose ins(%b : tensor<3x16x32xf32>) outs(%e : tensor<3x32x16xf32>) permutation = [0, 2, 1]
  %r = linalg.batch_matmul ins(%a, %bt : tensor<3x8x32xf32>, tensor<3x32x16xf32>) outs(%c : tensor<3x8x16xf32>) -> tensor<3x8x16xf32>
  return %r : tensor<3x8x16xf32>
}

// Named ops, ops on whole tensors, broadcasts and generics become one op behind the matmul.
// CHECK-LABEL: func.func @tail
// CHECK-SAME:    %[[BIAS:.*]]: tensor<16xf32>, %[[A:.*]]: tensor<8x32xf32>
// CHECK:         %[[R:.*]] = linalg.matmul
// CHECK-NEXT:    %[[T:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[R]], %[[BIAS]] : tensor<8x16xf32>, tensor<16xf32>)
// CHECK:           arith.addf
// CHECK:           math.tanh
// CHECK:           arith.maximumf
// CHECK:         return %[[T]]
func.func @tail(%bias: tensor<16xf32>, %a: tensor<8x32xf32>, %b: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %w = linalg.broadcast ins(%bias : tensor<16xf32>) outs(%e : tensor<8x16xf32>) dimensions = [0]
  %s = linalg.add ins(%r, %w : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %t = math.tanh %s : tensor<8x16xf32>
  %u = linalg.max ins(%t, %f : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %u : tensor<8x16xf32>
}

// What an elementwise op reads from its output becomes an input, so that the output is only written.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME:    %[[C:.*]]: tensor<8x16xi32>, %[[A:.*]]: tensor<8x32xi32>
// CHECK:         %[[R:.*]] = linalg.matmul
// CHECK:         linalg.generic {{.*}} ins(%[[R]], %[[C]] : {{.*}}) outs(%{{.*}})
// CHECK-NEXT:    ^bb0(%[[X:.*]]: i32, %[[Y:.*]]: i32, %{{.*}}: i32):
// CHECK-NEXT:      arith.subi %[[Y]], %[[X]]
func.func @in_place(%c: tensor<8x16xi32>, %a: tensor<8x32xi32>, %b: tensor<32x16xi32>, %acc: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<8x32xi32>, tensor<32x16xi32>) outs(%acc : tensor<8x16xi32>) -> tensor<8x16xi32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<8x16xi32>) outs(%c : tensor<8x16xi32>) {
  ^bb0(%x: i32, %out: i32):
    %d = arith.subi %out, %x : i32
    linalg.yield %d : i32
  } -> tensor<8x16xi32>
  return %t : tensor<8x16xi32>
}

// A transpose that would move the batch loop stays: linalg.batch_matmul keeps it in front.
// CHECK-LABEL: func.func @batch_moved
// CHECK:         linalg.generic
// CHECK:         linalg.batch_matmul ins(
func.func @batch_moved(%a: tensor<3x8x32xf32>, %b: tensor<16x3x32xf32>, %c: tensor<3x8x16xf32>) -> tensor<3x8x16xf32> {
  %e = tensor.empty() : tensor<3x32x16xf32>
  %bt = linalg.transpose ins(%b : tensor<16x3x32xf32>) outs(%e : tensor<3x32x16xf32>) permutation = [1, 2, 0]
  %r = linalg.batch_matmul ins(%a, %bt : tensor<3x8x32xf32>, tensor<3x32x16xf32>) outs(%c : tensor<3x8x16xf32>) -> tensor<3x8x16xf32>
  return %r : tensor<3x8x16xf32>
}

// A fill is no tail and what is normal stays as it is.
// CHECK-LABEL: func.func @nothing_to_do
// CHECK:         linalg.fill
// CHECK-NEXT:    linalg.matmul ins(
// CHECK-NEXT:    return
func.func @nothing_to_do(%a: tensor<1x1xi8>, %b: tensor<1x1xi8>, %e: tensor<1x1xi32>) -> tensor<1x1xi32> {
  %v = arith.constant 3 : i32
  %f = linalg.fill ins(%v : i32) outs(%e : tensor<1x1xi32>) -> tensor<1x1xi32>
  %r = linalg.matmul ins(%a, %b : tensor<1x1xi8>, tensor<1x1xi8>) outs(%f : tensor<1x1xi32>) -> tensor<1x1xi32>
  return %r : tensor<1x1xi32>
}
