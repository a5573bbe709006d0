"""What is chosen for bundles: the best by which their program fits a core."""

from __future__ import annotations

from dataclasses import replace

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.ops.bundle import Bundle, find_bundles
from npuflow.strategy.bundle_times import best_of_bundle, bundle_seconds
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_bundle import program_fits
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, load_device

# Rows that one of the inputs has fewer of, so that a kernel with several rows and columns needs a loop for each.
TEXT = """
func.func @f(%x: tensor<384x96xf32>, %y: tensor<96xf32>) -> tensor<384x96xf32> {
  %e = tensor.empty() : tensor<384x96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<384x96xf32>, tensor<96xf32>) outs(%e : tensor<384x96xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<384x96xf32>
  return %r : tensor<384x96xf32>
}
"""


@pytest.fixture
def module() -> ir.Module:
    return npuflow.parse(TEXT, npuflow.new_context())


@pytest.fixture
def bundle(module: ir.Module) -> Bundle:
    (function,) = module.body.operations
    (found,) = find_bundles(function.operation, lambda _: True)
    return found


def with_programs_of(device: Device, size: int) -> Device:
    return replace(device, engines=tuple(replace(engine, program_bytes=size) for engine in device.engines))


def test_the_best_whose_program_fits_is_chosen(bundle: Bundle) -> None:
    device, group = load_device("npu2"), group_of_bundle(bundle)
    best = mapping_of(group, complete(group, Strategy(), device))
    need = next(
        size for size in range(16, 16384, 16) if program_fits(bundle, group, best, with_programs_of(device, size))
    )
    small = with_programs_of(device, need - 16)
    chosen = mapping_of(group, best_of_bundle(bundle, group, small, Strategy()))
    assert chosen != best
    assert program_fits(bundle, group, chosen, small)
    assert Estimate(group, small).seconds(best) <= Estimate(group, small).seconds(chosen)
    assert bundle_seconds(bundle, small, Strategy()) == Estimate(group, small).seconds(chosen)


def test_where_no_program_fits_the_best_is_chosen_and_refused_later(bundle: Bundle) -> None:
    none, group = with_programs_of(load_device("npu2"), 16), group_of_bundle(bundle)
    assert best_of_bundle(bundle, group, none, Strategy()) == complete(group, Strategy(), none)
    assert bundle_seconds(bundle, none, Strategy()) is None
