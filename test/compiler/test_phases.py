"""Phases of compiled parts: which kernels are the same code."""

from __future__ import annotations

import npuflow
from npuflow.compiler.phases import phase_changes
from npuflow.network.decisions import ALL_DECISIONS, Decision

SCALED = """
func.func @{name}(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {{
  %scale = arith.constant {scale} : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%x : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %y = arith.{op} %in, %scale : f32
    linalg.yield %y : f32
  }} -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}}
"""


def test_kernels_that_differ_in_numbers_are_one_with_parameters() -> None:
    texts = (("first", "2.0", "mulf"), ("second", "3.0", "mulf"), ("third", "3.0", "addf"))
    source = "".join(SCALED.format(name=name, scale=scale, op=op) for name, scale, op in texts)
    compiled = npuflow.compile(source, device="npu2")
    first, second, third = (compiled[name].compiled for name, _, _ in texts)
    # Programs fit beside each other either way; without room for several, only what is the same needn't be loaded.
    decided = ALL_DECISIONS - {Decision.KEEPING, Decision.LOADING, Decision.BROADCAST}
    (change,) = phase_changes([first, second], decided)
    cores = first.grid[0] * first.grid[1]
    assert sum(tile.loads for tile in change.changes) == 0
    assert sum((tile.ahead + tile.behind).parameters for tile in change.changes) == cores
    (change,) = phase_changes([first, second], decided - {Decision.PARAMETERS})
    assert sum(tile.loads for tile in change.changes) == cores
    # An addition is another kernel, and what has one value alone is no parameter.
    (change,) = phase_changes([first, third], decided)
    assert sum(tile.loads for tile in change.changes) == cores
    assert sum((tile.ahead + tile.behind).parameters for tile in change.changes) == 0


def test_cores_that_do_the_same_are_sent_it_at_once() -> None:
    source = "".join(
        SCALED.format(name=name, scale="2.0", op=op) for name, op in (("first", "mulf"), ("second", "addf"))
    )
    compiled = npuflow.compile(source, device="npu2")
    first, second = (compiled[name].compiled for name in ("first", "second"))
    decided = ALL_DECISIONS - {Decision.KEEPING}
    (change,) = phase_changes([first, second], decided)
    rows, columns = second.grid
    # Not all of the array's columns have something to do, so that each that has gets a stream.
    assert columns < second.device.columns
    assert [one.tiles for one in change.changes if one.loads] == [rows] * columns
    (apart,) = phase_changes([first, second], decided - {Decision.BROADCAST})
    assert [one.tiles for one in apart.changes if one.loads] == [1] * rows * columns
    control = second.device.control
    assert change.set_up(control).seconds < apart.set_up(control).seconds


def test_where_nothing_is_known_of_packets_each_core_is_loaded_with_its_own() -> None:
    source = "".join(
        SCALED.format(name=name, scale="2.0", op=op) for name, op in (("first", "mulf"), ("second", "addf"))
    )
    compiled = npuflow.compile(source, device="npu1")
    calls = [compiled[name].compiled for name in ("first", "second")]
    assert phase_changes(calls, ALL_DECISIONS) == phase_changes(calls, ALL_DECISIONS - {Decision.BROADCAST})
