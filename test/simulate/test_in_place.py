"""Programs whose result stays in the tiles that collect it: the same numbers, and nothing of it leaves for DRAM."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import npuflow
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.simulate.faults import faults
from npuflow.simulate.home_ports import HOME_LEVEL
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.in_place import in_place, pieces_in_place
from npuflow.simulate.places import access_of, existing, in_pattern, places_of
from npuflow.simulate.program import FlatAccess, FlatAffine, FlatLimit
from npuflow.simulate.run import simulate
from npuflow.simulate.tile_pieces import TilePieces
from npuflow.target import load_device

NPU2 = load_device("npu2")
# Of 256 columns of i32, among eight tiles.
PIECES = TilePieces(tuple(range(8)), 128)
MATMUL = """
func.func @f(%x: tensor<{m}x64xi8>, %w: tensor<64x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{m}x{n}xi32>
  %sums = linalg.fill ins(%zero : i32) outs(%empty : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %r = linalg.matmul{said} ins(%x, %w : tensor<{m}x64xi8>, tensor<64x{n}xi8>) outs(%sums : tensor<{m}x{n}xi32>)
      -> tensor<{m}x{n}xi32>
  return %r : tensor<{m}x{n}xi32>
}}
"""


def matmul(m: int, n: int, said: str = "") -> CompiledFunction:
    strategy = f" {{npu.strategy = #npu.strategy<{{{said}}}>}}" if said else ""
    return npuflow.compile(MATMUL.format(m=m, n=n, said=strategy), device="npu2")["f"].compiled


# Columns along n, one block or several; rows of cores that have all, or are cut off.
@pytest.mark.parametrize(
    ("m", "n", "said"),
    [
        (128, 256, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]"),
        (256, 256, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]"),
        (100, 256, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]"),
        (56, 256, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]"),
        (128, 192, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]"),
    ],
)
def test_results_are_the_same_and_stay_in_the_tiles(m: int, n: int, said: str) -> None:
    function = matmul(m, n, said)
    result = function.results[0]
    found = pieces_in_place(function.program, NPU2, result)
    assert found == TilePieces(tuple(range(n // 32)), 32 * 4)
    moved = in_place(function.program, NPU2, result, found)
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, spec.shape).astype(np.int8) for spec in function.signature.inputs]
    run = execute_function(function.at_home(moved), inputs)
    assert not list(faults(run.results))
    np.testing.assert_array_equal(run.outputs[0], inputs[0].astype(np.int32) @ inputs[1].astype(np.int32))
    assert {memory.level for memory in moved.program.memories if memory.name == result} == {HOME_LEVEL}


def test_takes_no_longer_and_needs_no_task() -> None:
    function = matmul(256, 256, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]")
    moved = in_place(function.program, NPU2, function.results[0], PIECES)
    before, after = simulate(function.program), simulate(moved.program)
    assert after.cycles < before.cycles
    names = {engine.name for engine in moved.program.engines}
    assert not any(name.startswith("shim dma") and " in " in name for name in names)
    # Four rows of cores in each of eight columns, two blocks each: one descriptor that steps on, and none on to DRAM.
    assert [chain.descriptors for chain in moved.chains] == [0, 1, 1, 1, 1] * 8
    assert all(chain.instead is not None for chain in moved.chains)


def test_what_columns_share_otherwise_goes_another_way() -> None:
    uneven = matmul(128, 200, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]")
    assert pieces_in_place(uneven.program, NPU2, uneven.results[0]) is None
    with pytest.raises(NotAtHomeError, match="no result"):
        in_place(uneven.program, NPU2, uneven.arguments[0], PIECES)


def test_half_a_pack_of_rows_is_no_pattern() -> None:
    """Cores send packs of 8x8, of which the last has 4 rows."""
    function = matmul(60, 256, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]")
    with pytest.raises(NotAtHomeError, match="no pattern"):
        in_place(function.program, NPU2, function.results[0], PIECES)


def test_places_and_back() -> None:
    """Rows of 6 in pieces of 3, two rows apart, of which the last isn't there."""
    access = FlatAccess("b", (4, 6), (12, 1), 1, FlatAffine(5), limits=(FlatLimit((1, 0), FlatAffine(3)),))
    assert places_of(access).tolist() == [5 + 12 * row + column for row in range(4) for column in range(6)]
    assert existing(access).tolist() == [True] * 18 + [False] * 6
    places = places_of(access).reshape(8, 3)
    apart = in_pattern(places, 4)
    assert apart is not None
    assert apart.shape == (4, 2, 3)
    assert access_of(access, apart).strides == (12, 3, 1)
    assert in_pattern(places, 2) is None
    assert in_pattern(np.array([0, 1, 3]), 4) is None
    assert prod(apart.shape) == prod(access.sizes)


def test_blocks_that_nobody_takes_are_not_made_again_and_again() -> None:
    """Of three blocks, three rows of cores have nothing of the last."""
    function = matmul(288, 256, "grid = [4, 8], tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]")
    with pytest.raises(NotAtHomeError, match="nobody takes"):
        in_place(function.program, NPU2, function.results[0], PIECES)
