#image = affine_map<(o, y, x, c, v, u) -> (c, y + v, x + u)>
#weights = affine_map<(o, y, x, c, v, u) -> (o, c, v, u)>
#sums = affine_map<(o, y, x, c, v, u) -> (o, y, x)>
#id = affine_map<(o, y, x) -> (o, y, x)>
#rows = affine_map<(o, y, x) -> (y)>
#pooled = affine_map<(o, y, x, v, u) -> (o, y * 2 + v, x * 2 + u)>
#window = affine_map<(o, y, x, v, u) -> (v, u)>
#inside = affine_map<(o, y, x, v, u) -> (y * 2 + v)>
#pixels = affine_map<(o, y, x, v, u) -> (o, y, x)>
func.func @both(%x: tensor<16x35x35xi8>, %w: tensor<32x16x3x3xi8>, %mask: tensor<33xi8>) -> tensor<32x16x16xi32> {
  %zero = arith.constant 0 : i32
  %least = arith.constant -128 : i8
  %e0 = tensor.empty() : tensor<32x33x33xi32>
  %f0 = linalg.fill ins(%zero : i32) outs(%e0 : tensor<32x33x33xi32>) -> tensor<32x33x33xi32>
  %s = linalg.generic {indexing_maps = [#image, #weights, #sums],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<16x35x35xi8>, tensor<32x16x3x3xi8>) outs(%f0 : tensor<32x33x33xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %p = arith.extsi %a : i8 to i32
    %q = arith.extsi %b : i8 to i32
    %m = arith.muli %p, %q : i32
    %t = arith.addi %o, %m : i32
    linalg.yield %t : i32
  } -> tensor<32x33x33xi32>
  %e1 = tensor.empty() : tensor<32x33x33xi8>
  %r = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<32x33x33xi32>, tensor<33xi8>) outs(%e1 : tensor<32x33x33xi8>) {
  ^bb0(%a: i32, %b: i8, %o: i8):
    %c = arith.trunci %a : i32 to i8
    %d = arith.andi %c, %b : i8
    linalg.yield %d : i8
  } -> tensor<32x33x33xi8>
  %v = tensor.empty() : tensor<3x3xi8>
  %e2 = tensor.empty() : tensor<32x16x16xi8>
  %f2 = linalg.fill ins(%least : i8) outs(%e2 : tensor<32x16x16xi8>) -> tensor<32x16x16xi8>
  %l = linalg.generic {indexing_maps = [#pooled, #window, #inside, #pixels],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%r, %v, %mask : tensor<32x33x33xi8>, tensor<3x3xi8>, tensor<33xi8>) outs(%f2 : tensor<32x16x16xi8>) {
  ^bb0(%a: i8, %unused: i8, %b: i8, %o: i8):
    %none = arith.constant 0 : i8
    %is = arith.cmpi eq, %b, %none : i8
    %c = arith.select %is, %least, %a : i8
    %m = arith.maxsi %o, %c : i8
    linalg.yield %m : i8
  } -> tensor<32x16x16xi8>
  %e3 = tensor.empty() : tensor<32x16x16xi32>
  %out = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%l : tensor<32x16x16xi8>) outs(%e3 : tensor<32x16x16xi32>) {
  ^bb0(%a: i8, %o: i32):
    %c = arith.extsi %a : i8 to i32
    %d = arith.muli %c, %c : i32
    linalg.yield %d : i32
  } -> tensor<32x16x16xi32>
  return %out : tensor<32x16x16xi32>
}
