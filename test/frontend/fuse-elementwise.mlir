// Elementwise ops that follow each other become one; what would be computed again stays an op.
// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-fuse-elementwise | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right:

// CHECK-LABEL: func.func @chain
// CHECK:         linalg.generic
// CHECK:           arith.addf
// CHECK:           math.tanh
// CHECK-NOT:     linalg.generic
func.func @chain(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = arith.addf %a, %b : tensor<4x8xf32>
  %t = math.tanh %s : tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}

// A sum reads each square once.
// CHECK-LABEL: func.func @sum_of_squares
// CHECK:         linalg.generic
// CHECK:           arith.mulf
// CHECK-NEXT:      arith.addf
// CHECK-NOT:     linalg.generic
func.func @sum_of_squares(%a: tensor<4x8xf32>, %acc: tensor<4xf32>) -> tensor<4xf32> {
  %s = arith.mulf %a, %a : tensor<4x8xf32>
  %r = linalg.reduce {arith.addf} ins(%s : tensor<4x8xf32>) outs(%acc : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}

// A window reads what is in front of it three times.
// CHECK-LABEL: func.func @window
// CHECK:         linalg.generic
// CHECK:           math.absf
// CHECK-NEXT:      linalg.yield
// CHECK:         linalg.generic
// CHECK:           arith.mulf
// CHECK-NOT:     dealloc_tensor
func.func @window(%x: tensor<9xf32>, %w: tensor<3xf32>, %y: tensor<7xf32>) -> tensor<7xf32> {
  %s = math.absf %x : tensor<9xf32>
  %r = linalg.conv_1d ins(%s, %w : tensor<9xf32>, tensor<3xf32>) outs(%y : tensor<7xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// A root per row, used in every column, is computed once; an addition is repeated instead of being an op of its own.
// CHECK-LABEL: func.func @rows
// CHECK:         linalg.generic
// CHECK:           arith.addf
// CHECK:           math.rsqrt
// CHECK-NEXT:      linalg.yield
// CHECK:         linalg.generic
// CHECK-DAG:       arith.mulf %{{.*}}, %[[ROOT:.*]] : f32
// CHECK-DAG:       %[[TWICE:.*]] = arith.addf %[[V:.*]], %[[V]] : f32
// CHECK:           arith.addf %{{.*}}, %[[TWICE]]
// CHECK-NOT:     math.rsqrt
func.func @rows(%x: tensor<4x8xf32>, %v: tensor<4xf32>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %twice = arith.addf %v, %v : tensor<4xf32>
  %root = math.rsqrt %twice : tensor<4xf32>
  %wide = linalg.broadcast ins(%root : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %s = arith.mulf %x, %wide : tensor<4x8xf32>
  %sum = arith.addf %v, %v : tensor<4xf32>
  %w = linalg.broadcast ins(%sum : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %t = arith.addf %s, %w : tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}

// Behind a matmul all of it has to be one op.
// CHECK-LABEL: func.func @tail
// CHECK:         linalg.matmul
// CHECK:         linalg.generic
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      math.exp
// CHECK-NEXT:      arith.addf
// CHECK-NOT:     linalg.generic
func.func @tail(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<4x8xf32>, %v: tensor<8xf32>) -> tensor<4x8xf32> {
  %bias = math.exp %v : tensor<8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias : tensor<4x8xf32>, tensor<8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// A tail has its sum's shape, whatever arguments were before they were reshaped.
// CHECK-LABEL: func.func @reshaped_arguments
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x1x4x4xi8>, %[[W:[^:]*]]: tensor<16x12xi8>, %[[C:[^:]*]]: tensor<1x8x12xf32>
// CHECK-DAG:     %[[A:.*]] = tensor.collapse_shape %[[X]] {{.*}} into tensor<8x16xi8>
// CHECK-DAG:     %[[B:.*]] = tensor.collapse_shape %[[C]] {{.*}} into tensor<8x12xf32>
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[W]] : tensor<8x16xi8>, tensor<16x12xi8>)
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[B]] : tensor<8x12xi32>, tensor<8x12xf32>)
// CHECK:         return %[[R]] : tensor<8x12xf32>
func.func @reshaped_arguments(%x: tensor<8x1x4x4xi8>, %w: tensor<16x12xi8>, %c: tensor<1x8x12xf32>) -> tensor<8x12xf32> {
  %zero = arith.constant 0 : i32
  %a = tensor.collapse_shape %x [[0, 1], [2, 3]] : tensor<8x1x4x4xi8> into tensor<8x16xi8>
  %b = tensor.collapse_shape %c [[0, 1], [2]] : tensor<1x8x12xf32> into tensor<8x12xf32>
  %e = tensor.empty() : tensor<8x12xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<8x12xi32>) -> tensor<8x12xi32>
  %s = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<8x16xi8>, tensor<16x12xi8>) outs(%z : tensor<8x12xi32>) {
  ^bb0(%p: i8, %q: i8, %out: i32):
    %pe = arith.extsi %p : i8 to i32
    %qe = arith.extsi %q : i8 to i32
    %m = arith.muli %pe, %qe : i32
    %t = arith.addi %out, %m : i32
    linalg.yield %t : i32
  } -> tensor<8x12xi32>
  %e2 = tensor.empty() : tensor<8x12xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%s, %b : tensor<8x12xi32>, tensor<8x12xf32>) outs(%e2 : tensor<8x12xf32>) {
  ^bb0(%p: i32, %q: f32, %out: f32):
    %f = arith.sitofp %p : i32 to f32
    %t = arith.addf %f, %q : f32
    linalg.yield %t : f32
  } -> tensor<8x12xf32>
  return %r : tensor<8x12xf32>
}

// Two results of a bundle's op that begin alike go on in memory of their own, so they stay two.
// CHECK-LABEL: func.func @begin_alike
// CHECK:         %[[S:.*]]:2 = linalg.generic {{.*}}npu.bundle = 0
// CHECK:         linalg.generic {{.*}} outs(%[[S]]#0 :
// CHECK:         linalg.generic {{.*}} outs(%[[S]]#1 :
func.func @begin_alike(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %low = arith.constant -3.40282347E+38 : f32
  %e = tensor.empty() : tensor<8xf32>
  %s:2 = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      outs(%e, %e : tensor<8xf32>, tensor<8xf32>) attrs = {npu.bundle = 0 : i64} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %low, %low : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32>) outs(%s#0 : tensor<8xf32>) attrs = {npu.bundle = 0 : i64} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<8x4xf32>) outs(%s#1 : tensor<8xf32>) attrs = {npu.bundle = 0 : i64} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  return %r, %t : tensor<8xf32>, tensor<8xf32>
}

// What is behind a window's sums keeps their shape, though it is expanded: as the windows' tail it goes to memory narrow.
// CHECK-LABEL: func.func @expanded_tail
// CHECK:         %[[S:.*]] = linalg.generic {{.*}}"reduction"{{.*}} outs({{.*}} : tensor<2x6x6xi32>)
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<2x6x6xi32>) outs({{.*}} : tensor<2x6x6xi8>)
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[T]] {{.*}} tensor<2x6x6xi8> into tensor<2x6x1x6x1xi8>
// CHECK:         tensor.pad %[[E]]
func.func @expanded_tail(%x: tensor<2x8x8xi8>, %w: tensor<2x3x3xi8>, %f: tensor<2x6x6xi32>) -> tensor<2x6x2x6x2xi8> {
  %zero = arith.constant 0 : i8
  %s = linalg.generic {indexing_maps = [affine_map<(c, h, w, i, j) -> (c, h + i, w + j)>, affine_map<(c, h, w, i, j) -> (c, i, j)>, affine_map<(c, h, w, i, j) -> (c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<2x8x8xi8>, tensor<2x3x3xi8>) outs(%f : tensor<2x6x6xi32>) {
  ^bb0(%a: i8, %b: i8, %c: i32):
    %a32 = arith.extsi %a : i8 to i32
    %b32 = arith.extsi %b : i8 to i32
    %p = arith.muli %a32, %b32 : i32
    %t = arith.addi %c, %p : i32
    linalg.yield %t : i32
  } -> tensor<2x6x6xi32>
  %e = tensor.empty() : tensor<2x6x6xi8>
  %t = linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (c, h, w)>, affine_map<(c, h, w) -> (c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x6x6xi32>) outs(%e : tensor<2x6x6xi8>) {
  ^bb0(%a: i32, %o: i8):
    %n = arith.trunci %a : i32 to i8
    linalg.yield %n : i8
  } -> tensor<2x6x6xi8>
  %v = tensor.expand_shape %t [[0], [1, 2], [3, 4]] output_shape [2, 6, 1, 6, 1] : tensor<2x6x6xi8> into tensor<2x6x1x6x1xi8>
  %r = tensor.pad %v low[0, 0, 0, 0, 0] high[0, 0, 1, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index, %m: index):
    tensor.yield %zero : i8
  } : tensor<2x6x1x6x1xi8> to tensor<2x6x2x6x2xi8>
  return %r : tensor<2x6x2x6x2xi8>
}

// A bias that two sums have is repeated by each for itself, also through a reshape.
// CHECK-LABEL: func.func @repeated_for_each
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x4xf32>, %[[Y:[^:]*]]: tensor<8x4xf32>, %[[B:[^:]*]]: tensor<4xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[B]] : tensor<8x4xf32>, tensor<4xf32>)
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[B]] : tensor<1x8x4xf32>, tensor<4xf32>)
// CHECK-NOT:     linalg.generic
func.func @repeated_for_each(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %b: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<1x8x4xf32>) {
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%b : tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %add: f32, %out: f32):
    %v = arith.addf %in, %add : f32
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  %rx = tensor.expand_shape %r [[0, 1], [2]] output_shape [1, 8, 4] : tensor<8x4xf32> into tensor<1x8x4xf32>
  %yx = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 8, 4] : tensor<8x4xf32> into tensor<1x8x4xf32>
  %ex = tensor.empty() : tensor<1x8x4xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%yx, %rx : tensor<1x8x4xf32>, tensor<1x8x4xf32>) outs(%ex : tensor<1x8x4xf32>) {
  ^bb0(%in: f32, %add: f32, %out: f32):
    %v = arith.addf %in, %add : f32
    linalg.yield %v : f32
  } -> tensor<1x8x4xf32>
  return %s, %t : tensor<8x4xf32>, tensor<1x8x4xf32>
}

// A slice of what is computed of fewer bytes, as of i8, is computed of a slice; where that costs much, of what is there.
// CHECK-LABEL: func.func @sliced
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<8x4xi8>, %[[C:[^:]*]]: tensor<4xf32>
// CHECK-DAG:     %[[S:.*]] = tensor.extract_slice %[[Q]][2, 0] [6, 4] [1, 1]
// CHECK-DAG:     linalg.generic {{.*}} ins(%[[S]], %[[C]] : tensor<6x4xi8>, tensor<4xf32>)
// CHECK:         math.exp
// CHECK:         tensor.extract_slice %{{.*}}[2, 0] [6, 4] [1, 1] : tensor<8x4xf32>
func.func @sliced(%q: tensor<8x4xi8>, %c: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<6x4xf32>, tensor<8x4xf32>, tensor<6x4xf32>) {
  %e = tensor.empty() : tensor<8x4xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%q, %c : tensor<8x4xi8>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %v = arith.mulf %f, %scale : f32
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  %s = tensor.extract_slice %x[2, 0] [6, 4] [1, 1] : tensor<8x4xf32> to tensor<6x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%q : tensor<8x4xi8>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: i8, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %v = math.exp %f : f32
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  %t = tensor.extract_slice %y[2, 0] [6, 4] [1, 1] : tensor<8x4xf32> to tensor<6x4xf32>
  return %x, %s, %y, %t : tensor<8x4xf32>, tensor<6x4xf32>, tensor<8x4xf32>, tensor<6x4xf32>
}

// What is computed of a row's root for each row stays with it.
// CHECK-LABEL: func.func @of_roots
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK:           math.rsqrt
// CHECK-NEXT:      arith.mulf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %[[R]] :
// CHECK-NOT:       math.rsqrt
// CHECK:           arith.mulf
func.func @of_roots(%x: tensor<8x4xf32>, %v: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%v : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.rsqrt %in : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%r, %w : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %weight: f32, %out: f32):
    %1 = arith.mulf %in, %weight : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x4xf32>, tensor<8xf32>) outs(%e2 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %scale: f32, %out: f32):
    %1 = arith.mulf %in, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// What is shifted is shifted by each who reads it, a sum of squares as well; behind a sum it stays one tail.
// CHECK-LABEL: func.func @shifted
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x4xf32>, %[[M:[^:]*]]: tensor<8xf32>
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[X]], %[[M]] :
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.subf
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[M]]
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.subf
// CHECK-NEXT:      arith.mulf
// CHECK-LABEL: func.func @behind_a_sum
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      linalg.yield
// CHECK-COUNT-2: ins(%[[T]]
#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @shifted(%x: tensor<8x4xf32>, %m: tensor<8xf32>, %f: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x4xf32>) {
  %e = tensor.empty() : tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<8x4xf32>, tensor<8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %mean: f32, %out: f32):
    %1 = arith.subf %in, %mean : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %q = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<8x4xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %in : f32
    %2 = arith.addf %1, %out : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%s, %q : tensor<8x4xf32>, tensor<8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %scale: f32, %out: f32):
    %1 = arith.mulf %in, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  return %q, %y : tensor<8xf32>, tensor<8x4xf32>
}

func.func @behind_a_sum(%x: tensor<8x4x6xf32>, %b: tensor<8xf32>, %f: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<8x4x6xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %out : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%r, %b : tensor<8x4xf32>, tensor<8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %1 = arith.addf %in, %bias : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %y = linalg.exp ins(%s : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %z = linalg.tanh ins(%s : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y, %z : tensor<8x4xf32>, tensor<8x4xf32>
}
