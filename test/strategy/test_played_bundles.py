"""Bundles played out take what they take in the simulator: all columns, and what is read behind a sum of products."""

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

# Small parts by eight columns, each of which is set up a column's descriptor later than the one before.
SCALED = """
#x = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<512x512xi8>) -> tensor<512x512xi8> {{
  %e = tensor.empty() : tensor<512x512xi8>
  %r = linalg.generic {{indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]}}
      ins(%x : tensor<512x512xi8>) outs(%e : tensor<512x512xi8>)
      attrs = {{npu.bundle = 0 : i64{said}}} {{
  ^bb0(%a: i8, %o: i8):
    %w = arith.extsi %a : i8 to i32
    %p = arith.muli %w, %w : i32
    %q = arith.muli %p, %w : i32
    %t = arith.addi %q, %w : i32
    %s = arith.trunci %t : i32 to i8
    linalg.yield %s : i8
  }} -> tensor<512x512xi8>
  return %r : tensor<512x512xi8>
}}
"""
COLUMNS = Strategy((4, 8), spread=(0, 0), tile_l1=(2, 512), order=(1, 0), depth_l2=2, depth_l1=2, depth_result=2)

# A bias that comes last, and that nothing waits for before the sum is there.
BIASED = """
#x = affine_map<(m, n, k) -> (m, k)>
#y = affine_map<(m, n, k) -> (n, k)>
#s = affine_map<(m, n, k) -> (m, n)>
#r = affine_map<(m, n) -> (m, n)>
#b = affine_map<(m, n) -> (n)>
func.func @f(%x: tensor<196x1024xi8>, %y: tensor<256x1024xi8>, %b: tensor<256xi32>) -> tensor<196x256xi32> {{
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<196x256xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<196x256xi32>) -> tensor<196x256xi32>
  %s = linalg.generic {{indexing_maps = [#x, #y, #s], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %y : tensor<196x1024xi8>, tensor<256x1024xi8>) outs(%i : tensor<196x256xi32>)
      attrs = {{npu.bundle = 0 : i64}} {{
  ^bb0(%a: i8, %c: i8, %o: i32):
    %aw = arith.extsi %a : i8 to i32
    %cw = arith.extsi %c : i8 to i32
    %p = arith.muli %aw, %cw : i32
    %t = arith.addi %o, %p : i32
    linalg.yield %t : i32
  }} -> tensor<196x256xi32>
  %r = linalg.generic {{indexing_maps = [#r, #b, #r], iterator_types = ["parallel", "parallel"]}}
      ins(%s, %b : tensor<196x256xi32>, tensor<256xi32>) outs(%e : tensor<196x256xi32>)
      attrs = {{npu.bundle = 0 : i64{said}}} {{
  ^bb0(%a: i32, %c: i32, %o: i32):
    %t = arith.addi %a, %c : i32
    linalg.yield %t : i32
  }} -> tensor<196x256xi32>
  return %r : tensor<196x256xi32>
}}
"""
PIECES = Strategy(
    (4, 4), spread=(1, 0), tile_l1=(49, 64), stream=(128,), order=(0, 1), depth_l2=2, depth_l1=2, depth_result=1
)


@pytest.mark.parametrize(("text", "strategy"), [(SCALED, COLUMNS), (BIASED, PIECES)], ids=["columns", "bias"])
def test_what_is_played_out_is_near_to_the_simulator(text: str, strategy: Strategy) -> None:
    device = load_device("npu2")
    with npuflow.new_context():
        text = text.format(said=f", npu.strategy = {strategy.to_attribute()}")
    module = npuflow.parse(text, npuflow.new_context())
    group = group_of_bundle(make_bundle([*ops_of(module.operation, "linalg.generic")]))
    estimate, mapping = Estimate(group, device), mapping_of(group, strategy)
    results = npuflow.compile(text, device="npu2")["f"].simulate()
    own = results.cycles / device.clock_hz - device.control.launch_seconds
    # Beside the time, a fiftieth of DRAM's is counted.
    played = estimate.played_cost(mapping) - 0.02 * estimate.parts(mapping).busy_dram_seconds
    assert played == pytest.approx(own, rel=0.06)
