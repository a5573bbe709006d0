"""Arguments that pick elements are drawn inside of what they pick from."""

from __future__ import annotations

import numpy as np

from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.execute.arrays import signature_of
from npuflow.execute.data import arrays_for
from npuflow.execute.index_limits import index_limits
from npuflow.execute.picks_inside import outside_of, picks_inside

PICKING = """
#same = affine_map<(d0) -> (d0)>
func.func @f(%i: tensor<400xi64>, %x: tensor<7x5xf32>, %other: tensor<400xi64>) -> (tensor<400xf32>, tensor<400xi64>) {
  %e = tensor.empty() : tensor<400xf32>
  %d = tensor.empty() : tensor<400xi64>
  %one = arith.constant 1 : i64
  %next = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%i : tensor<400xi64>) outs(%d : tensor<400xi64>) {
  ^bb0(%in: i64, %out: i64):
    %v = arith.andi %in, %one : i64
    linalg.yield %v : i64
  } -> tensor<400xi64>
  %r = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
    ins(%i, %next : tensor<400xi64>, tensor<400xi64>) outs(%e : tensor<400xf32>) {
  ^bb0(%a: i64, %b: i64, %out: f32):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %v = tensor.extract %x[%row, %column] : tensor<7x5xf32>
    linalg.yield %v : f32
  } -> tensor<400xf32>
  return %r, %other : tensor<400xf32>, tensor<400xi64>
}"""


def test_limits_are_the_least_sizes_picked_from() -> None:
    module = parse(PICKING, new_context())
    (function,) = ops_of(module.operation, "func.func")
    assert index_limits(function) == {0: 5}
    picking, _, other = arrays_for(function, signature_of(function).inputs, 0)
    assert set(picking.tolist()) == {0, 1, 2, 3, 4}
    assert other.max() > 1 << 32


LAST = """
#same = affine_map<(d0) -> (d0)>
func.func @f(%mask: tensor<40x9xi64>, %x: tensor<40x9xf32>) -> tensor<40xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 9 : i64
  %n = tensor.empty() : tensor<40xi64>
  %e = tensor.empty() : tensor<40xf32>
  %z = linalg.fill ins(%zero : i64) outs(%n : tensor<40xi64>) -> tensor<40xi64>
  %sum = linalg.reduce ins(%mask : tensor<40x9xi64>) outs(%z : tensor<40xi64>) dimensions = [1]
    (%in: i64, %out: i64) { %s = arith.addi %in, %out : i64 linalg.yield %s : i64 }
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%sum : tensor<40xi64>) outs(%e : tensor<40xf32>) {
  ^bb0(%a: i64, %out: f32):
    %last = arith.subi %a, %one : i64
    %before = arith.cmpi slt, %last, %zero : i64
    %around = arith.addi %last, %size : i64
    %place = arith.select %before, %around, %last : i64
    %column = arith.index_cast %place : i64 to index
    %row = linalg.index 0 : index
    %v = tensor.extract %x[%row, %column] : tensor<40x9xf32>
    linalg.yield %v : f32
  } -> tensor<40xf32>
  return %r : tensor<40xf32>
}"""


def test_sums_of_what_is_drawn_are_inside_too() -> None:
    """A row's last word is where the sum of its mask says: of 9 elements below 2, but not below 4, that is inside."""
    module = parse(LAST, new_context())
    (function,) = ops_of(module.operation, "func.func")
    mask, _ = arrays_for(function, signature_of(function).inputs, 0)
    assert set(mask.reshape(-1).tolist()) == {0, 1}
    outside = outside_of(module.operation, "f")
    assert outside is not None
    assert picks_inside(outside, [mask, np.zeros((40, 9), np.float32)])
    assert not picks_inside(outside, [mask + 2, np.zeros((40, 9), np.float32)])
