// What keeps an op that is no matmul from being tiled, each with its way out.
// RUN: npuflow-opt %s --npuflow-check-input --verify-diagnostics --split-input-file

#same = affine_map<(d0) -> (d0)>
func.func @no_sum(%x: tensor<8xf32>) -> tensor<8xf32> {
  %o = tensor.empty() : tensor<8xf32>
  // expected-error @below {{linalg.generic has an indexing map that is no sum of loops; hint: index by sums of positive multiples of loops}}
  %q = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 floordiv 2)>, #same], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %q : tensor<8xf32>
}

// -----

#same = affine_map<(d0) -> (d0)>
func.func @backwards(%x: tensor<8xf32>) -> tensor<8xf32> {
  %o = tensor.empty() : tensor<8xf32>
  // expected-error @below {{linalg.generic has an indexing map that is no sum of loops}}
  %q = linalg.generic {indexing_maps = [affine_map<(d0) -> (7 - d0)>, #same], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %q : tensor<8xf32>
}

// -----

#same = affine_map<(d0) -> (d0)>
func.func @position(%x: tensor<8xi32>) -> tensor<8xi32> {
  %o = tensor.empty() : tensor<8xi32>
  // expected-error @below {{linalg.generic computes with the position of an element (linalg.index); hint: run npuflow-normalize-linalg first: it reads them from a tensor where an operand gives the loop's size}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%o : tensor<8xi32>) {
  ^bb0(%a: i32, %out: i32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %r = arith.addi %a, %j : i32
    linalg.yield %r : i32
  } -> tensor<8xi32>
  return %q : tensor<8xi32>
}

// -----

#same = affine_map<(d0) -> (d0)>
func.func @gather(%x: tensor<8xi32>, %table: tensor<8xf32>) -> tensor<8xf32> {
  %o = tensor.empty() : tensor<8xf32>
  // expected-error @below {{linalg.generic reads a tensor from inside of its body (tensor.extract); hint: make the tensor an operand}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: i32, %out: f32):
    %i = arith.index_cast %a : i32 to index
    %r = tensor.extract %table[%i] : tensor<8xf32>
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %q : tensor<8xf32>
}

// -----

func.func @scalar(%x: tensor<8xf32>, %s: f32) -> tensor<8xf32> {
  %o = tensor.empty() : tensor<8xf32>
  // expected-error @below {{linalg.generic reads a scalar that is no constant; hint: make it a tensor of one element}}
  %q = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %s : tensor<8xf32>, f32) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %q : tensor<8xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @scatter(%x: tensor<4x4xf32>, %o: tensor<7xf32>) -> tensor<7xf32> {
  // expected-error @below {{linalg.generic writes along sums of loops; hint: write along loops, each at most once}}
  %q = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d0 + d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%o : tensor<7xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.addf %a, %out : f32
    linalg.yield %r : f32
  } -> tensor<7xf32>
  return %q : tensor<7xf32>
}

// -----

func.func @padding_alone(%x: tensor<8xf32>) -> tensor<10xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{tensor.pad is read by func.return; hint: run npuflow-normalize-linalg first, which computes what others than linalg ops read}}
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<10xf32>
  return %p : tensor<10xf32>
}

// -----

#same = affine_map<(d0) -> (d0)>
func.func @padding_by_ones(%x: tensor<8xf32>) -> tensor<10xf32> {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{tensor.pad adds something else than zeros; hint: pad with a constant, which npuflow-normalize-linalg makes zeros and a mask}}
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %one : f32
  } : tensor<8xf32> to tensor<10xf32>
  %o = tensor.empty() : tensor<10xf32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%p : tensor<10xf32>) outs(%o : tensor<10xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  return %q : tensor<10xf32>
}

// -----

#same = affine_map<(d0) -> (d0)>
func.func @captured(%x: tensor<8xf32>, %s: f32) -> tensor<8xf32> {
  %o = tensor.empty() : tensor<8xf32>
  // expected-error @below {{linalg.generic reads a scalar that is no constant; hint: make it a tensor of one element}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.mulf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %q : tensor<8xf32>
}

// -----

#same = affine_map<(d0) -> (d0)>
#first = affine_map<(d0) -> ()>
func.func @filled_by_an_argument(%x: tensor<8xf32>, %s: f32) -> tensor<f32> {
  %o = tensor.empty() : tensor<f32>
  // expected-error @below {{linalg.fill reads a scalar that is no constant; hint: make it a tensor of one element}}
  %f = linalg.fill ins(%s : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %q = linalg.generic {indexing_maps = [#same, #first], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.addf %a, %out : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %q : tensor<f32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @captured_behind_a_matmul(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>, %s: f32) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %r = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{linalg.generic reads a scalar that is no constant; hint: make it a tensor of one element}}
  %t = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %y = arith.mulf %x, %s : f32
    linalg.yield %y : f32
  } -> tensor<8x8xf32>
  return %t : tensor<8x8xf32>
}

// -----

func.func @begins_behind_the_first(%x: tensor<17xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @below {{linalg.generic has an indexing map that begins at 1; hint: index by sums of multiples of loops, which begin at 0}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i + 1)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<17xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

func.func @one_place(%x: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @below {{linalg.generic has an indexing map that begins at 3}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

func.func @scattered(%x: tensor<16x4xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @below {{linalg.generic writes each element 4 times, as its result doesn't follow parallel loop 1; hint: make the loop a reduction, whose body says what becomes of the element there was}}
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x4xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

func.func @nothing_is_reduced(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %e = tensor.empty() : tensor<16x4xf32>
  // expected-error @below {{linalg.generic has a result that follows reduction loop 1; hint: make the loop parallel}}
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x4xf32>) outs(%e : tensor<16x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}
