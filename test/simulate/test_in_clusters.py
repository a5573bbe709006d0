"""Tensors that clusters keep: who has room for what, and what they take from each other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from npuflow.network.spread import TensorSpread
from npuflow.simulate.at_clusters import AtClusters, taken_moves
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.in_clusters import from_windows, in_windows, places_in, spread_of, transfers_of
from npuflow.simulate.platform import Platform
from npuflow.simulate.program import (
    FlatBuffer,
    FlatEngine,
    FlatMemory,
    FlatReceive,
    FlatSend,
    FlatStream,
    Program,
    contiguous,
)
from npuflow.simulate.run import POISON
from npuflow.target import load_device

# An image of 2 channels, 4 rows and 3 columns: rows two by two.
SHAPE = (2, 4, 3)
ELEMENTS = np.arange(24).reshape(SHAPE)


def rows(first: int, last: int) -> np.ndarray:
    return ELEMENTS[:, first:last].reshape(-1)


def test_periods_are_those_that_take_least_room() -> None:
    """With a row of each other's, 3 of 4 rows of a channel; in a row of all elements it would be 21 of 24."""
    spread = spread_of({0: rows(0, 2), 1: rows(2, 4)}, [{0: rows(0, 3), 1: rows(1, 4)}], SHAPE, 1)
    assert spread.period == 12
    assert spread.windows == {0: (0, 9), 1: (3, 12)}


def test_what_nobody_makes_stays_elsewhere() -> None:
    with pytest.raises(NotAtHomeError, match="no cluster makes some of it"):
        spread_of({0: rows(0, 2)}, [], SHAPE, 1)


def test_windows_begin_with_what_is_made_there() -> None:
    spread = spread_of({0: rows(0, 2), 1: rows(2, 4)}, [{0: rows(0, 3), 1: rows(1, 4)}], SHAPE, 2)
    data = np.arange(24, dtype=np.int16)
    windows = in_windows("x", spread, data)
    poison = np.full(3, POISON * 257, np.uint16).view(np.int16)
    assert np.array_equal(windows["x in 0"].view(np.int16)[:9], [*range(6), *poison])
    assert np.array_equal(windows["x in 1"].view(np.int16)[:9], [*poison, *range(6, 12)])
    assert np.array_equal(from_windows("x", spread, windows).view(np.int16), data)


@pytest.mark.parametrize(
    ("elements", "shapes"),
    [
        pytest.param(range(5, 9), [(1, 4)], id="a run"),
        pytest.param([0, 1, 6, 7, 12, 13], [(3, 2)], id="the same part of each row"),
        pytest.param([0, 1, 4, 5, 6], [(1, 2), (1, 3)], id="runs of several lengths"),
    ],
)
def test_transfers_go_on_by_the_same_steps(elements: list[int], shapes: list[tuple[int, ...]]) -> None:
    found = list(transfers_of(np.array(elements), []))
    assert sorted(np.concatenate([each.reshape(-1) for each in found])) == sorted(elements)
    assert [each.shape for each in found] == shapes


def test_transfers_go_on_so_in_windows_as_well() -> None:
    """Every fifth element of two periods of 10, of which a window has the first eight."""
    spread = TensorSpread({1: (0, 8)}, 10, bytes(20), 1)
    elements = np.array([0, 5, 10, 15])
    assert len(list(transfers_of(elements, []))) == 1
    found = list(transfers_of(elements, [partial(places_in, spread, 1)]))
    assert [places_in(spread, 1, each).reshape(-1).tolist() for each in found] == [[0, 5], [8, 13]]


def test_a_tile_that_had_another_tensor_before_stays_where_it_is() -> None:
    """As where a scatter's kernel writes over some of what came."""
    device = load_device("toy-scratchpad")
    scratchpad = Platform(device).memory_names(device.kernel_level)[0]
    sent = FlatEngine("out", (FlatSend("leaves", contiguous("tile", (4,), 4)),))
    written = FlatEngine("port in", (FlatReceive("leaves", contiguous("y", (4,), 4)),))
    brought = FlatEngine("in", (FlatReceive("comes", contiguous("tile", (4,), 4)),))
    program = Program(
        engines=(sent, written),
        memories=(FlatMemory(scratchpad, device.kernel_level, 16), FlatMemory("y", device.dram_level, 16)),
        buffers=(FlatBuffer("tile", scratchpad, 16), FlatBuffer("y", "y", 16)),
        streams=(FlatStream("leaves", "out", ("port in",)), FlatStream("comes", "port out", ("in",))),
    )
    assert taken_moves(AtClusters(program, device, "y")).bodies == {"out": ()}
    with pytest.raises(NotAtHomeError, match="its tiles have another tensor before, or after"):
        taken_moves(AtClusters(replace(program, engines=(sent, written, brought)), device, "y"))
