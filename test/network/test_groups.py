"""What runs as one depends on what is said to fit, and on nothing of a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.network.groups import groups_of, least_locks, names_of
from npuflow.network.outline import split_function
from npuflow.network.parts import plan_parts
from npuflow.ops.bundle import Bundle, mark_bundle
from npuflow.ops.refused import mark_made_of

# A matmul, and behind it a row's sum and what reads it again: two ops that can share a row in L1.
TWO = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @two(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %r = tensor.empty() : tensor<16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %j = linalg.fill ins(%zero : f32) outs(%r : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x16xf32>)
      outs(%i : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%m : tensor<16x16xf32>) outs(%j : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<16xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %s : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.subf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}
"""


@dataclass(frozen=True)
class _UpTo:
    """Bundles of so many ops at most."""

    most: int

    def fits(self, bundle: Bundle) -> bool:
        return len(bundle.ops) <= self.most

    def weighs(self, _grown: Bundle, _apart: Sequence[Bundle]) -> bool:
        return False

    def pays(self, made: Sequence[Bundle], others: Sequence[Bundle]) -> bool:
        return len(made) <= len(others)


@pytest.mark.parametrize(("most", "groups", "locks"), [(2, [1, 2], 8), (1, [1, 1, 1], 12)])
def test_a_bundle_is_as_many_ops_as_fit(most: int, groups: list[int], locks: int) -> None:
    """Each group takes two locks for its result and two for what it reads."""
    module = parse(TWO, new_context())
    (function,) = ops_of(module.operation, "func.func")
    found = groups_of(function, _UpTo(most))
    assert [len(group.ops) for group in found] == groups
    assert least_locks(found) == locks


def test_what_becomes_one_renames_no_other_group() -> None:
    """As one, the first and the last group are what they were made of; the one between is still the second."""
    module = parse(TWO, new_context())
    (function,) = ops_of(module.operation, "func.func")
    groups = groups_of(function, _UpTo(1))
    assert names_of(function, groups) == [("two_0",), ("two_1",), ("two_2",)]
    mark_bundle(groups[2].ops, 0)
    mark_made_of(groups[2].ops, ["two_0", "two_2"])
    assert names_of(function, groups[1:]) == [("two_1",), ("two_0", "two_2")]


# A product of what an elementwise op computes for it, what it is scaled by, and a row's sum of that.
HEADED = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @headed(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %w = tensor.empty() : tensor<16x32xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %r = tensor.empty() : tensor<16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %j = linalg.fill ins(%zero : f32) outs(%r : tensor<16xf32>) -> tensor<16xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<16x32xf32>) outs(%w : tensor<16x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %x : f32
    linalg.yield %t : f32
  } -> tensor<16x32xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %b : tensor<16x32xf32>, tensor<32x16xf32>) outs(%i : tensor<16x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.mulf %x, %x : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<16x16xf32>) outs(%j : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<16xf32>
  return %s : tensor<16xf32>
}
"""


def test_a_group_is_one_where_it_is_alone() -> None:
    """Without the head that stays outside, the product would be a matmul with its scaling, and the sum another one."""
    module = parse(HEADED, new_context())
    (function,) = ops_of(module.operation, "func.func")
    groups = groups_of(function, _UpTo(3))
    assert [len(group.ops) for group in groups] == [1, 3]
    split_function(function, plan_parts(function, groups), ["headed_0", "headed_1"])
    parts = [part for part in ops_of(module.operation, "func.func") if part != function]
    assert [[len(group.ops) for group in groups_of(part, _UpTo(3))] for part in parts] == [[1], [3]]
