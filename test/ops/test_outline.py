"""Ops as data: layers that do the same are equal, whatever is in their tensors; what costs differ in is told apart."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.fusion.seconds_apart import mapped_apart
from npuflow.network.groups import FusionGroup
from npuflow.ops.linear import linear_maps
from npuflow.ops.once import described_once
from npuflow.ops.outline import outline_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import load_device

# A convolution's sum, scaled and cut off, twice.
LAYER = """
  %a{n} = linalg.generic {{indexing_maps = [#x, #w, #s], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins({input}, %w{n} : tensor<64x{k}xi8>, tensor<{k}x64xi8>) outs(%f : tensor<64x64xi32>) {{
  ^bb0(%l: i8, %r: i8, %o: i32):
    %le = arith.extsi %l : i8 to i32
    %re = arith.extsi %r : i8 to i32
    %p = arith.muli %le, %re : i32
    %t = arith.addi %o, %p : i32
    linalg.yield %t : i32
  }} -> tensor<64x64xi32>
  %b{n} = linalg.generic {{indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}}
      ins(%a{n} : tensor<64x64xi32>) outs(%g : tensor<64x64xi8>) {{
  ^bb0(%v: i32, %o: i8):
    %c = arith.constant {scale} : f32
    %m = arith.constant {most} : f32
    %x = arith.sitofp %v : i32 to f32
    %y = arith.mulf %x, %c : f32
    %u = arith.minimumf %y, %m : f32
    %q = arith.fptosi %u : f32 to i8
    linalg.yield %q : i8
  }} -> tensor<64x64xi8>
"""
FUNCTION = """
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(m, n) -> (m, n)>
func.func @f(%in: tensor<64x64xi8>, %w0: tensor<64x64xi8>, %w1: tensor<{k}x64xi8>) -> tensor<64x64xi8> {{
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %g = tensor.empty() : tensor<64x64xi8>
{layers}
  return %b1 : tensor<64x64xi8>
}}
"""


KEPT: list[object] = []  # modules, whose ops go with them


def layers(scale: str = "0.0234", most: str = "127.0", reads: str = "%b0") -> list[FusionGroup]:
    """Two layers, the second with another scale and another upper bound, which may read the first or its input."""
    first = LAYER.format(n=0, k=64, input="%in", scale="0.0123", most="127.0")
    text = FUNCTION.format(layers=first + LAYER.format(n=1, k=64, input=reads, scale=scale, most=most), k=64)
    module = npuflow.parse(text, npuflow.new_context())
    KEPT.append(module)
    ops = ops_of(module.operation, "linalg.generic")
    return [FusionGroup((ops[0], ops[1])), FusionGroup((ops[2], ops[3]))]


def test_layers_that_differ_in_tensors_and_in_the_digits_of_scales_are_alike() -> None:
    (product, tail), others = (group.ops for group in layers(most="101.37"))
    assert outline_of([product]) == outline_of([others[0]]) != outline_of([tail])
    assert outline_of([others[1]]) == outline_of([layers(most="101.99")[1].ops[1]])


@pytest.mark.parametrize(
    "how",
    [
        {"scale": "0.5"},  # which narrow floats hold
        {"scale": "0.0"},
        {"most": "0.0234"},  # one constant where there were two
    ],
    ids=str,
)
def test_what_costs_may_differ_in_is_told_apart(how: dict[str, str]) -> None:
    first, second = (group.ops[1] for group in layers(**how))
    assert outline_of([first]) != outline_of([second])


def test_values_are_met_in_the_order_of_alike_ops() -> None:
    first, second = layers()
    pairs = dict(zip(outline_of(first.ops).values, outline_of(second.ops).values, strict=True))
    assert [pairs[op.results[0]] for op in first.ops] == [op.results[0] for op in second.ops]
    assert pairs[first.ops[0].operands[0]] == second.ops[0].operands[0]


def test_what_is_mapped_of_alike_groups_has_each_ones_numbers() -> None:
    device, (first, second) = load_device("npu2"), layers()
    numbers = {first.root.results[0]: 7, second.root.results[0]: 8}
    mapped = [mapped_apart(group, device, Strategy(), bundles=False, numbers=numbers) for group in (first, second)]
    found = [sorted(t.number for one in each for t in one.group.tensors if t.number is not None) for each in mapped]
    assert found == [[7], [7, 8]]
    assert [one.mapping for one in mapped[0]] == [one.mapping for one in mapped[1]]


def test_ops_are_described_once_in_a_block_that_edits_none() -> None:
    (op, *_) = layers()[0].ops
    with described_once():
        first = linear_maps(op)
        assert linear_maps(op) is first
    assert linear_maps(op) == first
    assert linear_maps(op) is not first
