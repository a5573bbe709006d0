"""Estimates know which channels have anything to move, and which serve several rows of cores."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.ops.bundle import make_bundle
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import load_device

# Two images' products; a product says nothing of a bundle, so that it is written as what it is.
TEXT = """
#x = affine_map<(b, m, n, k) -> (b, m, k)>
#y = affine_map<(b, m, n, k) -> (b, k, n)>
#r = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @f(%x: tensor<2x{m}x{k}xi8>, %y: tensor<2x{k}x{n}xi8>) -> tensor<2x{m}x{n}xi32> {{
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x{m}x{n}xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x{m}x{n}xi32>) -> tensor<2x{m}x{n}xi32>
  %s = linalg.generic {{indexing_maps = [#x, #y, #r],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%x, %y : tensor<2x{m}x{k}xi8>, tensor<2x{k}x{n}xi8>) outs(%i : tensor<2x{m}x{n}xi32>)
      attrs = {{npu.bundle = 0 : i64{said}}} {{
  ^bb0(%a: i8, %b: i8, %o: i32):
    %aw = arith.extsi %a : i8 to i32
    %bw = arith.extsi %b : i8 to i32
    %p = arith.muli %aw, %bw : i32
    %t = arith.addi %o, %p : i32
    linalg.yield %t : i32
  }} -> tensor<2x{m}x{n}xi32>
  return %s : tensor<2x{m}x{n}xi32>
}}
"""
DEEP = {"order": (0, 1, 2), "depth_l2": 2, "depth_l1": 2}
# Eight columns of an array for two images; rows of cores for them, each of which reads its own part of what one channel
# has; columns of cores for 30 bytes of a row each, of which 8 adjoin; and a last block that one of four columns has.
COLUMNS = Strategy((4, 8), spread=(2, 0), tile_l1=(1, 32, 160), stream=(64,), stream_l2=(256,), **DEEP)
ROWS = Strategy((4, 4), spread=(0, 1), tile_l1=(1, 24, 32), stream=(64,), stream_l2=(256,), **DEEP)
RUNS = Strategy((4, 4), spread=(1, 2), tile_l1=(1, 16, 8), stream=(64,), stream_l2=(1152,), **DEEP)
ONE_OF_FOUR = Strategy((4, 4), spread=(1, 2), tile_l1=(1, 4, 16), stream=(64,), stream_l2=(256,), **DEEP)


@pytest.mark.parametrize(
    ("name", "sizes", "strategy"),
    [
        ("npu2", (32, 2560, 1024), COLUMNS),
        ("npu1", (96, 32, 4096), ROWS),
        ("npu1", (64, 30, 2304), RUNS),
        ("npu1", (16, 80, 4096), ONE_OF_FOUR),
    ],
)
def test_a_batch_of_two_takes_what_it_takes_in_the_simulator(
    name: str, sizes: tuple[int, int, int], strategy: Strategy
) -> None:
    device, (m, n, k) = load_device(name), sizes
    with npuflow.new_context():
        said = f", npu.strategy = {strategy.to_attribute()}"
    text = TEXT.format(m=m, n=n, k=k, said=said)
    module = npuflow.parse(text, npuflow.new_context())
    (op,) = ops_of(module.operation, "linalg.generic")
    group = group_of_bundle(make_bundle([op]))
    estimate, mapping = Estimate(group, device), mapping_of(group, strategy)
    results = npuflow.compile(text, device=name)["f"].simulate()
    own = results.cycles / device.clock_hz - device.control.launch_seconds
    assert estimate.seconds(mapping) == pytest.approx(own, rel=0.15)
    # Beside the time, a fiftieth of DRAM's is counted.
    played = estimate.played_cost(mapping) - 0.02 * estimate.parts(mapping).busy_dram_seconds
    assert played == pytest.approx(own, rel=0.1)
