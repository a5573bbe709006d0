"""What crosses between L3 and L2, and how often: arithmetic a person can redo."""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path

import pytest

from npuflow.ops.linear import Linear
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group, M, N, Role, Tensor
from npuflow.strategy.mapping import Depths, Mapping, Spread, mapping_of
from npuflow.strategy.strategy import Strategy

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, TailOperand, matmul_group

ROW, COLUMN, SUMMED = (Linear(((loop, 1),)) for loop in range(3))
STRATEGY = Strategy((2, 2), (64, 64, 256), (32, 32, 32), (4, 8, 8), depth_l2=2, depth_l1=2)
BIASED = matmul_group(100, 130, 300, result_bytes=1, tail_operands=(TailOperand((N,), 4),))


def moved(group: Group, mapping: Mapping) -> dict[str, int]:
    """What crosses between L3 and L2 for each tensor."""
    return {name: each.bytes for name, each in Estimate(group, DEVICES["npu1"]).transfers(mapping).items()}


def test_traffic_of_a_matmul_by_hand() -> None:
    """2 x 3 blocks: A crosses three times, B twice, the bias with each block, the result once."""
    assert moved(BIASED, mapping_of(BIASED, STRATEGY)) == {
        "lhs": 100 * 300 * 3,
        "rhs": 300 * 130 * 2,
        "tail0": 130 * 4 * 2,
        "result": 100 * 130,
    }


def test_what_comes_whole_stays_until_it_is_another() -> None:
    """All of K is one piece: A's rows stay for the inner loop's 3 blocks, B's columns come with each of 2 x 3."""
    group = matmul_group(100, 130, 256)
    assert moved(group, mapping_of(group, STRATEGY)) == {
        "lhs": 100 * 256,
        "rhs": 256 * 130 * 2,
        "result": 100 * 130 * 4,
    }
    # With a single block along n, B comes once.
    group = matmul_group(100, 64, 256)
    assert moved(group, mapping_of(group, STRATEGY))["rhs"] == 256 * 64


def test_each_batch_crosses_once_more() -> None:
    one, three = (matmul_group(100, 130, 300, batch=batch) for batch in (1, 3))
    once, thrice = (moved(group, mapping_of(group, STRATEGY)) for group in (one, three))
    assert thrice == {name: 3 * bytes_ for name, bytes_ in once.items()}


def norm(*inputs: tuple[Linear, ...]) -> Group:
    """Inputs of a 64x128 f32 op that sums over a third loop of 16."""
    sizes = (64, 128, 16)
    tensors = [
        Tensor(f"in{i}", Role.INPUT, dims, tuple(sizes[dim.loop or 0] for dim in dims), 4)
        for i, dims in enumerate(inputs)
    ]
    tensors.append(Tensor("out", Role.OUTPUT, (ROW, COLUMN), (64, 128), 4))
    return Group(sizes, 2, (), tuple(tensors), (), pads_streamed=False)


def spread_over(grid: tuple[int, int]) -> Mapping:
    return Mapping((16, 16, 16), Spread(grid, 0, 1), Depths(), (0, 1))


@pytest.mark.parametrize(
    ("dims", "copies"),
    [
        ((SUMMED,), 8),  # neither
        ((ROW,), 1),  # by rows: a memory tile has the parts of its rows
        ((ROW, SUMMED), 1),
        ((COLUMN,), 1),  # each column has its own
        ((COLUMN, SUMMED), 1),
        ((ROW, COLUMN), 1),
    ],
)
def test_what_follows_neither_the_columns_nor_goes_by_rows_is_read_once_per_column(
    dims: tuple[Linear, ...], copies: int
) -> None:
    """4 x 8 blocks of 16x16 are all of it, so each copy comes once and whole."""
    group, mapping = norm(dims), spread_over((4, 8))
    (tensor,) = group.inputs
    assert moved(group, mapping)["in0"] == copies * prod(tensor.shape) * 4
    assert moved(group, mapping)["out"] == 64 * 128 * 4


def test_a_row_of_cores_has_one_copy_while_channels_by_rows_are_left_for_it() -> None:
    """What a single row needs alike goes by rows, unless two others follow the columns."""
    one, two = norm((SUMMED,), (ROW, COLUMN)), norm((SUMMED,), (ROW, COLUMN), (COLUMN,))
    mapping = spread_over((1, 8))
    # 4 x 1 blocks along rows: it stays for all of them, in each column.
    assert moved(one, mapping)["in0"] == 16 * 4
    assert moved(two, mapping)["in0"] == 8 * 16 * 4


def test_one_column_reads_everything_once() -> None:
    group, mapping = norm((SUMMED,), (ROW, COLUMN)), spread_over((4, 1))
    assert moved(group, mapping) == {"in0": 16 * 4, "in1": 64 * 128 * 4, "out": 64 * 128 * 4}


@pytest.mark.parametrize(("turned", "columns"), [(None, 4), (1, 2)])
def test_copies_of_a_matmuls_operands_and_of_what_its_tail_reads(turned: int | None, columns: int) -> None:
    """Operands and results are parted; what follows one side is too, be it by rows or columns; a scalar is not."""
    tails = tuple(TailOperand(loops, 4) for loops in ((), (M,), (N,), (M, N)))
    group = matmul_group(64, 128, 32, result_bytes=1, tail_operands=tails)
    mapping = mapping_of(group, Strategy((2, 4), (64, 128, 32), (32, 32, 32), (4, 8, 8), turned=turned))
    assert moved(group, mapping) == {
        "lhs": 64 * 32,
        "rhs": 32 * 128,
        "tail0": columns * 4,
        "tail1": 64 * 4,
        "tail2": 128 * 4,
        "tail3": 64 * 128 * 4,
        "result": 64 * 128,
    }


def test_columns_that_share_rows_of_windows_read_each_its_own() -> None:
    """20 results of 3 rows over 4 columns, 5 in each: 7 rows for every column, of 22; rows of cores share one's."""
    dims = (Linear(((0, 1), (2, 1))), COLUMN)
    tensors = (Tensor("in", Role.INPUT, dims, (22, 16), 1), Tensor("out", Role.OUTPUT, (ROW, COLUMN), (20, 16), 1))
    group = Group((20, 16, 3), 2, (), tensors, (), pads_streamed=False)
    by_columns = Mapping((5, 4, 3), Spread((4, 4), 1, 0), Depths(), (0, 1))
    assert moved(group, by_columns) == {"in": 4 * 7 * 16, "out": 20 * 16}
    by_rows = Mapping((5, 4, 3), Spread((4, 4), 0, 1), Depths(), (0, 1))
    assert moved(group, by_rows) == {"in": 22 * 16, "out": 20 * 16}


def test_what_pieces_of_a_window_share_comes_with_each_of_them() -> None:
    """3 rows of a window over 55, 2 apart: 7 blocks of 4 results reach over 9 rows each, of which 1 is the next one's.

    Row by row of the window, each of the blocks' 7 rows come 3 times, and nothing that one piece has twice.
    """
    window, image = Linear(((0, 2), (1, 1))), (55,)
    tensors = (Tensor("in", Role.INPUT, (window,), image, 1), Tensor("out", Role.OUTPUT, (ROW,), (27,), 1))
    group = Group((27, 3), 1, (1,), tensors, (), pads_streamed=False)
    whole, pieces = (Mapping((4, size), Spread((1, 1), 0, 0), Depths(), (0,)) for size in (3, 1))
    assert moved(group, whole)["in"] == 55 + 6
    assert moved(group, pieces)["in"] == 3 * 7 * 7
