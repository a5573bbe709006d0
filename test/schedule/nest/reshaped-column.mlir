// A column that is reshaped twice keeps its stride: what is read in steps isn't a buffer from its first element on.
// RUN: npuflow run %s --device=toy | filecheck %s

// CHECK: verified    bit-exact
func.func @main(%x: tensor<27x22xi32>, %y: tensor<1x27xi32>) -> tensor<1xi32> {
  %zero = arith.constant 0 : i32
  %column = tensor.extract_slice %x[0, 0] [27, 1] [1, 1] : tensor<27x22xi32> to tensor<27x1xi32>
  %flat = tensor.collapse_shape %column [[0, 1]] : tensor<27x1xi32> into tensor<27xi32>
  %row = tensor.expand_shape %flat [[0, 1]] output_shape [1, 27] : tensor<27xi32> into tensor<1x27xi32>
  %e = tensor.empty() : tensor<1xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1xi32>) -> tensor<1xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%row, %y : tensor<1x27xi32>, tensor<1x27xi32>) outs(%f : tensor<1xi32>) {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %out, %p : i32
    linalg.yield %s : i32
  } -> tensor<1xi32>
  return %r : tensor<1xi32>
}
