"""The estimate that ranks strategies: what it counts, and that it ranks as the simulator does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import npuflow
from npuflow.report.losses import without_launch
from npuflow.simulate.run import simulate
from npuflow.strategy.choose import Given, complete
from npuflow.strategy.footprint import Problem, TailOperand
from npuflow.strategy.matmul_estimate import MatmulEstimate, streams_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import load_device

NPU2 = load_device("npu2")
PROBLEM = Problem(1024, 512, 256, 1, ("i8", "i8", "i32"), 1, 1, 4, 4)
STRATEGY = Strategy((4, 8), (256, 256, 256), (64, 32, 64), (8, 8, 8))


def descriptors(problem: Problem, strategy: Strategy = STRATEGY) -> list[int]:
    return [stream.descriptors(NPU2) for stream in streams_of(problem, strategy)]


def test_loops_that_a_descriptor_covers_need_no_others() -> None:
    """4 blocks along m, 2 along n.

    The left operand goes through 4 rows' channels. With all of K it is there for both blocks along n, and its loop
    along m is covered. The right one's loop along n is covered, and both of the result's.
    """
    assert descriptors(PROBLEM) == [4, 8 * 4, 8]


def test_what_is_there_in_part_comes_again() -> None:
    """With half of K at a time the left operand comes for every block; a descriptor covers the loop along K."""
    assert descriptors(replace(PROBLEM, k=512)) == [4 * 4 * 2, 8 * 4, 8]


def test_blocks_that_are_cut_off_need_descriptors_of_their_own() -> None:
    """1000 rows are no multiple of 256: the loop along m is not covered. 500 columns: neither is the one along n."""
    assert descriptors(replace(PROBLEM, m=1000)) == [4 * 4, 8 * 4, 8 * 4]
    assert descriptors(replace(PROBLEM, m=1000, n=500)) == [4 * 4, 8 * 4 * 2, 8 * 4 * 2]


def test_what_shares_a_channel_is_set_up_block_by_block() -> None:
    """A bias along n takes the right operand's channels."""
    with_bias = replace(PROBLEM, has_tail=True, tail_operands=(TailOperand(False, True, 4),))
    assert descriptors(with_bias) == [4, 8 * 4 * 2, 8 * 4 * 2, 8]


def test_runs_that_adjoin_count_as_one_where_the_device_joins_them() -> None:
    """32 bytes per column of a row-major right operand and 128 of the result are runs of 256 and 1024 bytes there."""
    joining = replace(NPU2, dram=replace(NPU2.dram, joins_runs=True))
    lhs, rhs, result = streams_of(PROBLEM, STRATEGY)
    for stream, pitch in ((rhs, 512), (result, 2048)):
        alone = NPU2.dram.efficiency(stream.run_bytes, write=stream.is_result, pitch_bytes=pitch)
        joined = NPU2.dram.efficiency(8 * stream.run_bytes, write=stream.is_result, pitch_bytes=pitch)
        assert stream.seconds(NPU2) / stream.seconds(joining) == pytest.approx(joined / alone)
    assert lhs.seconds(joining) == lhs.seconds(NPU2)


def test_a_short_matmul_turns_the_array_or_takes_less_of_it() -> None:
    """64 columns are 8 for each of 8 columns of the array, but 16 for each of its 4 rows."""
    problem = Problem(3136, 64, 64, 1, ("i8", "i8", "i32"), 1, 1, 4, 1, has_tail=True)
    estimate = MatmulEstimate(problem, NPU2)
    upright = complete(problem, Given(turned=0), NPU2, whole_k=False)
    assert estimate.rank(complete(problem, Given(), NPU2, whole_k=False)) < estimate.rank(upright)


@pytest.mark.parametrize("array", [(4, 8), (2, 4), (1, 8)])
def test_an_array_that_is_asked_for_is_taken(array: tuple[int, int]) -> None:
    for problem in (PROBLEM, replace(PROBLEM, m=8), replace(PROBLEM, n=8)):
        assert complete(problem, Given(array=array), NPU2, whole_k=False).array == array


MATMUL = """
func.func @matmul(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{m}x{n}xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %c = linalg.matmul {{npu.strategy = {strategy}}} ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>)
                     outs(%init : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  return %c : tensor<{m}x{n}xi32>
}}
"""
TILES = (
    ((4, 8), (64, 32, 64), 256), ((4, 8), (16, 16, 64), 64), ((4, 8), (128, 8, 32), 256), ((4, 4), (32, 64, 32), 256),
    ((4, 2), (64, 64, 32), 128), ((1, 8), (64, 16, 64), 256), ((4, 8), (8, 64, 128), 256), ((2, 2), (64, 64, 64), 64),
)  # fmt: skip


def test_the_ranking_is_the_simulators() -> None:
    """Tiles of all kinds on the same problem: ranks correlate by at least 0.9, and the first is near the best.

    Over 155 strategies of 12 layers (see docs/networks.md) the correlation is 0.95 to 0.99.
    """
    m, n, k = PROBLEM.m, PROBLEM.n, PROBLEM.k
    estimated, simulated = [], []
    for grid, tile, k2 in TILES:
        strategy = Strategy(grid, (tile[0] * grid[0], tile[1] * grid[1], k2), tile, (8, 8, 8))
        said = f"#npu.strategy<{{grid = {list(grid)}, tile_l2 = {list(strategy.tile_l2)}, tile_l1 = {list(tile)}}}>"
        text = MATMUL.format(m=m, n=n, k=k, strategy=said)
        program = npuflow.compile(text, device="npu2").functions[0].compiled.program
        simulated.append(simulate(without_launch(program)).seconds)
        estimated.append(MatmulEstimate(PROBLEM, NPU2).seconds(strategy))
    ranks = [np.argsort(np.argsort(times)) for times in (estimated, simulated)]
    assert np.corrcoef(*ranks)[0, 1] >= 0.9
    assert simulated[int(np.argmin(estimated))] <= 1.2 * min(simulated)
