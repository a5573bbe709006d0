// Convolutions in a row are one bundle in tiles that overlap; padding between them is zeros that are selected.
// RUN: npuflow-opt %s --npuflow-fuse-windows="device=npu2 tiles=7,7" --remarks --split-input-file 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-fuse-windows=device=npu2 --remarks --split-input-file -o %t 2>&1 | filecheck %s --check-prefix=JOINED

#image = affine_map<(n, h, w, c, y, x, i) -> (n, h + y, w + x, i)>
#weights = affine_map<(n, h, w, c, y, x, i) -> (y, x, i, c)>
#made = affine_map<(n, h, w, c, y, x, i) -> (n, h, w, c)>

// CHECK: remark: [npuflow-fuse-windows] groups valid_0, valid_1 are one: in tiles of 7x7 57600 bytes stay in L1, 24% more is computed
// CHECK: remark: [npuflow-fuse-windows] groups begun_0, begun_1 stay apart: a sum begins with a tensor

// CHECK-DAG: #[[OUTSIDE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1 * 7 + d2 + d6, d3 * 7 + d4 + d7, d8)>
// CHECK-DAG: #[[INSIDE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2 + d6, d3, d4 + d7, d8)>
// CHECK-LABEL: func.func @valid
// CHECK: linalg.generic {indexing_maps = [#[[OUTSIDE]], {{.*}}ins(%arg0, %arg1 {{.*}}npu.bundle = 0
// CHECK: -> tensor<1x4x9x4x9x16xf32>
// CHECK: linalg.generic {indexing_maps = [#[[INSIDE]], {{.*}}%arg2 {{.*}}npu.bundle = 0
// CHECK: -> tensor<1x4x7x4x7x16xf32>
// CHECK: tensor.collapse_shape {{.*}} : tensor<1x4x7x4x7x16xf32> into tensor<1x28x28x16xf32>
func.func @valid(%x: tensor<1x32x32x16xf32>, %v: tensor<3x3x16x16xf32>, %w: tensor<3x3x16x16xf32>) -> tensor<1x28x28x16xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x30x30x16xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<1x30x30x16xf32>) -> tensor<1x30x30x16xf32>
  %s = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %v : tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) outs(%f0 : tensor<1x30x30x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x30x30x16xf32>
  %e1 = tensor.empty() : tensor<1x28x28x16xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<1x28x28x16xf32>) -> tensor<1x28x28x16xf32>
  %r = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%s, %w : tensor<1x30x30x16xf32>, tensor<3x3x16x16xf32>) outs(%f1 : tensor<1x28x28x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x28x28x16xf32>
  return %r : tensor<1x28x28x16xf32>
}

// -----

#image = affine_map<(n, h, w, c, y, x) -> (n, h + y, w + x, c)>
#weights = affine_map<(n, h, w, c, y, x) -> (y, x, c)>
#made = affine_map<(n, h, w, c, y, x) -> (n, h, w, c)>

// Tiles at the edges have rows that the first op doesn't make, which the second reads as zeros.
// CHECK-LABEL: func.func @padded
// CHECK: tensor.pad %arg0 low[0, 2, 2, 0] high[0, 2, 2, 0]
// CHECK: -> tensor<1x2x9x2x9x8xi32>
// CHECK: tensor.pad {{.*}} low[1] high[1]
// CHECK: linalg.generic {{.*}} : tensor<1x2x9x2x9x8xi32>, tensor<16xi8>, tensor<16xi8>)
// CHECK: arith.select
// CHECK: -> tensor<1x2x7x2x7x8xi32>
func.func @padded(%x: tensor<1x14x14x8xi32>, %v: tensor<3x3x8xi32>) -> tensor<1x14x14x8xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1x14x14x8xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<1x14x14x8xi32>) -> tensor<1x14x14x8xi32>
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %z : i32
  } : tensor<1x14x14x8xi32> to tensor<1x16x16x8xi32>
  %s = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %v : tensor<1x16x16x8xi32>, tensor<3x3x8xi32>) outs(%f : tensor<1x14x14x8xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %m = arith.muli %a, %b : i32
    %q = arith.addi %o, %m : i32
    linalg.yield %q : i32
  } -> tensor<1x14x14x8xi32>
  %t = tensor.pad %s low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %z : i32
  } : tensor<1x14x14x8xi32> to tensor<1x16x16x8xi32>
  %r = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%t, %v : tensor<1x16x16x8xi32>, tensor<3x3x8xi32>) outs(%f : tensor<1x14x14x8xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %m = arith.muli %a, %b : i32
    %q = arith.addi %o, %m : i32
    linalg.yield %q : i32
  } -> tensor<1x14x14x8xi32>
  return %r : tensor<1x14x14x8xi32>
}

// -----

#image = affine_map<(n, h, w, c, y, x) -> (n, h + y, w + x, c)>
#weights = affine_map<(n, h, w, c, y, x) -> (y, x, c)>
#made = affine_map<(n, h, w, c, y, x) -> (n, h, w, c)>

// What is between is returned as well, so it has to be in L3 anyway.
// CHECK-LABEL: func.func @used_twice
// CHECK-NOT: npu.bundle
func.func @used_twice(%x: tensor<1x18x18x8xi32>, %v: tensor<3x3x8xi32>) -> (tensor<1x16x16x8xi32>, tensor<1x14x14x8xi32>) {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<1x16x16x8xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<1x16x16x8xi32>) -> tensor<1x16x16x8xi32>
  %s = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %v : tensor<1x18x18x8xi32>, tensor<3x3x8xi32>) outs(%f0 : tensor<1x16x16x8xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %m = arith.muli %a, %b : i32
    %q = arith.addi %o, %m : i32
    linalg.yield %q : i32
  } -> tensor<1x16x16x8xi32>
  %e1 = tensor.empty() : tensor<1x14x14x8xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<1x14x14x8xi32>) -> tensor<1x14x14x8xi32>
  %r = linalg.generic {indexing_maps = [#image, #weights, #made], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%s, %v : tensor<1x16x16x8xi32>, tensor<3x3x8xi32>) outs(%f1 : tensor<1x14x14x8xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %m = arith.muli %a, %b : i32
    %q = arith.addi %o, %m : i32
    linalg.yield %q : i32
  } -> tensor<1x14x14x8xi32>
  return %s, %r : tensor<1x16x16x8xi32>, tensor<1x14x14x8xi32>
}

// -----

// A sum that begins with a tensor has to have it in each tile; it isn't cut into any.
// CHECK-LABEL: func.func @begun
// CHECK-NOT: npu.bundle
func.func @begun(%x: tensor<10x21xf32>, %w: tensor<21x196xf32>, %c: tensor<10x196xf32>) -> tensor<10x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %m = linalg.matmul ins(%x, %w : tensor<10x21xf32>, tensor<21x196xf32>) outs(%c : tensor<10x196xf32>) -> tensor<10x196xf32>
  %i = tensor.expand_shape %m [[0], [1, 2]] output_shape [10, 14, 14] : tensor<10x196xf32> into tensor<10x14x14xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<10x7x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<10x7x7xf32>) -> tensor<10x7x7xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(c, h, w, y, x) -> (c, 2 * h + y, 2 * w + x)>, affine_map<(c, h, w, y, x) -> (y, x)>, affine_map<(c, h, w, y, x) -> (c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%i, %window : tensor<10x14x14xf32>, tensor<2x2xf32>) outs(%f : tensor<10x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<10x7x7xf32>
  return %p : tensor<10x7x7xf32>
}

// -----

// Chains that read each other's results: the later one is made first, so that what it knows to read is there.
// CHECK-LABEL: func.func @in_a_row
// CHECK-DAG: npu.bundle = 0
// CHECK-DAG: npu.bundle = 1
// CHECK: return
func.func @in_a_row(%x0: tensor<14x14xf32>) -> tensor<14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %p0 = tensor.pad %x0 low[1, 1] high[1, 1] {
  ^bb0(%h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<14x14xf32> to tensor<16x16xf32>
  %e0 = tensor.empty() : tensor<14x14xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<14x14xf32>) -> tensor<14x14xf32>
  %x1 = linalg.generic {indexing_maps = [affine_map<(h, w, y, x) -> (h + y, w + x)>, affine_map<(h, w, y, x) -> (y, x)>, affine_map<(h, w, y, x) -> (h, w)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p0, %window : tensor<16x16xf32>, tensor<3x3xf32>) outs(%f0 : tensor<14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<14x14xf32>
  %p1 = tensor.pad %x1 low[1, 1] high[1, 1] {
  ^bb0(%h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<14x14xf32> to tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<14x14xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<14x14xf32>) -> tensor<14x14xf32>
  %x2 = linalg.generic {indexing_maps = [affine_map<(h, w, y, x) -> (h + y, w + x)>, affine_map<(h, w, y, x) -> (y, x)>, affine_map<(h, w, y, x) -> (h, w)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p1, %window : tensor<16x16xf32>, tensor<3x3xf32>) outs(%f1 : tensor<14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<14x14xf32>
  %p2 = tensor.pad %x2 low[1, 1] high[1, 1] {
  ^bb0(%h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<14x14xf32> to tensor<16x16xf32>
  %e2 = tensor.empty() : tensor<14x14xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<14x14xf32>) -> tensor<14x14xf32>
  %x3 = linalg.generic {indexing_maps = [affine_map<(h, w, y, x) -> (h + y, w + x)>, affine_map<(h, w, y, x) -> (y, x)>, affine_map<(h, w, y, x) -> (h, w)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p2, %window : tensor<16x16xf32>, tensor<3x3xf32>) outs(%f2 : tensor<14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<14x14xf32>
  %p3 = tensor.pad %x3 low[1, 1] high[1, 1] {
  ^bb0(%h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<14x14xf32> to tensor<16x16xf32>
  %e3 = tensor.empty() : tensor<14x14xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<14x14xf32>) -> tensor<14x14xf32>
  %x4 = linalg.generic {indexing_maps = [affine_map<(h, w, y, x) -> (h + y, w + x)>, affine_map<(h, w, y, x) -> (y, x)>, affine_map<(h, w, y, x) -> (h, w)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p3, %window : tensor<16x16xf32>, tensor<3x3xf32>) outs(%f3 : tensor<14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<14x14xf32>
  %p4 = tensor.pad %x4 low[1, 1] high[1, 1] {
  ^bb0(%h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<14x14xf32> to tensor<16x16xf32>
  %e4 = tensor.empty() : tensor<14x14xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<14x14xf32>) -> tensor<14x14xf32>
  %x5 = linalg.generic {indexing_maps = [affine_map<(h, w, y, x) -> (h + y, w + x)>, affine_map<(h, w, y, x) -> (y, x)>, affine_map<(h, w, y, x) -> (h, w)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p4, %window : tensor<16x16xf32>, tensor<3x3xf32>) outs(%f4 : tensor<14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<14x14xf32>
  %p5 = tensor.pad %x5 low[1, 1] high[1, 1] {
  ^bb0(%h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<14x14xf32> to tensor<16x16xf32>
  %e5 = tensor.empty() : tensor<14x14xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<14x14xf32>) -> tensor<14x14xf32>
  %x6 = linalg.generic {indexing_maps = [affine_map<(h, w, y, x) -> (h + y, w + x)>, affine_map<(h, w, y, x) -> (y, x)>, affine_map<(h, w, y, x) -> (h, w)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p5, %window : tensor<16x16xf32>, tensor<3x3xf32>) outs(%f5 : tensor<14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<14x14xf32>
  return %x6 : tensor<14x14xf32>
}

// -----

// Zeros around what an op reads make no window of it: rows that are joined to a tensor stay what they are.
// JOINED-NOT: joined
func.func @joined(%x: tensor<1x256xf32>, %y: tensor<1x256xf32>, %n: tensor<2xi8>) -> tensor<2x256xf32> {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : i8
  %e = tensor.empty() : tensor<1x256xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1x256xf32>) outs(%e : tensor<1x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %m = math.exp %i : f32
    linalg.yield %m : f32
  } -> tensor<1x256xf32>
  %p = tensor.pad %a low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x256xf32> to tensor<2x256xf32>
  %q = tensor.pad %y low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x256xf32> to tensor<2x256xf32>
  %e2 = tensor.empty() : tensor<2x256xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%p, %q, %n : tensor<2x256xf32>, tensor<2x256xf32>, tensor<2xi8>) outs(%e2 : tensor<2x256xf32>) {
  ^bb0(%i: f32, %j: f32, %k: i8, %o: f32):
    %c = arith.cmpi eq, %k, %first : i8
    %s = arith.select %c, %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<2x256xf32>
  return %r : tensor<2x256xf32>
}
