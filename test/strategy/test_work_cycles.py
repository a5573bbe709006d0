"""What ops take on a core's tile, as the schedule's kernels take it."""

from __future__ import annotations

import random
from math import prod

import pytest

import npuflow
from npuflow.ops.contraction import static_matmuls
from npuflow.ops.grown import find_bundles
from npuflow.schedule.ir.emit import computes
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.describe_group import group_of_bundle, group_of_matmul
from npuflow.strategy.group import Group
from npuflow.strategy.search import Search
from npuflow.strategy.space import space_of
from npuflow.strategy.strategy import Strategy
from npuflow.strategy.work_cycles import OpCycles, kind_of
from npuflow.target import Device, load_device
from npuflow.target.planned import planned
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.programs import Types

MATMUL = Product(Kind.MATMUL, Kind.MATMUL.sizes_of(64, 64, 64), Types("bf16", "f32")).text()


def test_what_opens_sums_takes_what_its_kernel_does() -> None:
    """A core of the array sets sums to zero; a patch engine has what they begin with, and there is no kernel for it."""
    module = npuflow.parse(MATMUL, npuflow.new_context())
    (matmul,) = static_matmuls(module.operation)
    group = group_of_matmul(matmul)
    (start,) = [work for work in group.work if work.starting]
    found = {}
    for name in ("npu2", "npu4.0"):
        device = load_device(name)
        found[name] = OpCycles(start, device, kind_of(group, device), (8, 8, 8)).of_tile((16, 16, 1, 16))
        (compiled,) = npuflow.compile(MATMUL, device=name).functions
        programs = (engine.program for engine in compiled.compiled.schedule.engines.values())
        fills = [call for program in programs for call in computes(program) if call.kind == "fill"]
        assert [call.cycles > 0 for call in fills] == [found[name] > 0]
    assert found["npu2"] > 0 == found["npu4.0"]


CONVOLUTION = """
func.func @f(%x: tensor<1x16x16x24xi8>, %w: tensor<3x3x24x40xi8>) -> tensor<1x14x14x40xi32> {
  %c0 = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1x14x14x40xi32>
  %z = linalg.fill ins(%c0 : i32) outs(%e : tensor<1x14x14x40xi32>) -> tensor<1x14x14x40xi32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x16x16x24xi8>, tensor<3x3x24x40xi8>)
    outs(%z : tensor<1x14x14x40xi32>) -> tensor<1x14x14x40xi32>
  return %r : tensor<1x14x14x40xi32>
}"""
DEPTHWISE = """
func.func @f(%x: tensor<1x31x31x24xi8>, %w: tensor<3x3x24xi8>) -> tensor<1x15x15x24xi32> {
  %c0 = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1x15x15x24xi32>
  %z = linalg.fill ins(%c0 : i32) outs(%e : tensor<1x15x15x24xi32>) -> tensor<1x15x15x24xi32>
  %r = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<STRIDE> : vector<2xi64>}
    ins(%x, %w : tensor<1x31x31x24xi8>, tensor<3x3x24xi8>)
    outs(%z : tensor<1x15x15x24xi32>) -> tensor<1x15x15x24xi32>
  return %r : tensor<1x15x15x24xi32>
}"""
# With stride 1, an image of 17x17 pixels.
PATCHED = [CONVOLUTION, DEPTHWISE.replace("STRIDE", "2"), DEPTHWISE.replace("STRIDE", "1").replace("31x31", "17x17")]


def group_of(text: str, device: Device) -> Group:
    module = npuflow.parse(text, npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-normalize-linalg")
    (function,) = module.body.operations
    (bundle,) = find_bundles(function.operation, GrowthOn(device))
    return group_of_bundle(bundle)


@pytest.mark.parametrize("name", ["npu2.7", "npu4.0"])
@pytest.mark.parametrize("text", PATCHED)
def test_no_tile_takes_less_than_the_least_on_a_patch_engine(text: str, name: str) -> None:
    """A search leaves out what takes more by that than what it has: it must be no more, and near the best tiles."""
    device, draw = planned(load_device(name)), random.Random(3)
    group = group_of(text, device)
    for work in (one for one in group.work if not one.starting):
        cycles = OpCycles(work, device, kind_of(group, device))
        call, step = cycles.least(group.sizes)
        assert call > 0
        tiles = [group.sizes, *([draw.randint(1, size) for size in group.sizes] for _ in range(200))]
        shares = [(call + step * prod(each[loop] for loop in work.loops)) / cycles.of_tile(each) for each in tiles]
        assert 0.3 < max(shares) <= 1


def test_a_good_mapping_is_proved_before_more_are_looked_for() -> None:
    """One that few steps don't prove; 4602 are looked at where good ones on all spreads come first."""
    device = planned(load_device("npu4.0"))
    found = Search(space_of(group_of(PATCHED[-1], device), Strategy(), device), device).best()
    assert found.is_proved
    assert found.looked_at < 4000
