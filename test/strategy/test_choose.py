"""The strategy that is chosen keeps to what was said, fits where anything fits, and never fails to answer."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.strategy.choose import Given, complete
from npuflow.strategy.feasibility import violations
from npuflow.strategy.footprint import Problem, padded_macs

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, devices, givens, problems

CUBE = Problem(1024, 1024, 1024, 1, ("i8", "i8", "i32"), 1, 1, 4, 4)


@given(st.data())
@drawn(few=40, many=1000)
def test_without_a_word_something_that_fits_is_chosen(data: st.DataObject) -> None:
    device = data.draw(devices())
    problem = data.draw(problems(device))
    strategy = complete(problem, Given(), device, whole_k=False)
    assert violations(problem, strategy, device, whole_k=False) == ()


@given(st.data())
@drawn(few=40, many=1000)
def test_what_is_given_is_kept(data: st.DataObject) -> None:
    device = data.draw(devices())
    problem, said = data.draw(problems(device)), data.draw(givens())
    strategy = complete(problem, said, device, data.draw(st.booleans()))
    for field in fields(Given):
        value = getattr(said, field.name)
        assert value is None or getattr(strategy, field.name) == value


@given(st.data())
@drawn(few=40, many=1000)
def test_no_core_has_nothing_but_padding(data: st.DataObject) -> None:
    device = data.draw(devices())
    problem = data.draw(problems(device))
    strategy = complete(problem, Given(), device, whole_k=False)
    (rows, columns), (m, n, _) = strategy.grid, strategy.pack
    assert (rows - 1) * m < problem.m
    assert (columns - 1) * n < problem.n


def test_the_type_decides_the_packed_shape() -> None:
    for device in DEVICES.values():
        for lhs, rhs, acc in device.supported_types():
            problem = Problem(64, 64, 64, 1, (lhs, rhs, acc), 1, 1, 4, 4)
            first = device.matmul_shapes(lhs, rhs, acc)[0]
            strategy = complete(problem, Given(), device, whole_k=False)
            if not device.accepts_any_shape(lhs, rhs, acc):
                assert strategy.pack == (first.m, first.n, first.k)


def test_a_large_cube_uses_every_core_and_double_buffers() -> None:
    for device in DEVICES.values():
        strategy = complete(CUBE, Given(), device, whole_k=False)
        assert strategy.array == (device.rows, device.columns)
        assert (strategy.depth_l1, strategy.depth_l2) == (2, 2)
        assert padded_macs(CUBE, strategy) <= 1.2 * CUBE.m * CUBE.n * CUBE.k


def test_all_of_k_in_l2_shrinks_the_block() -> None:
    """1024 bytes of K per row: 512 KiB hold at most 256 + 256 rows and columns, less where C and slots take room."""
    device = DEVICES["toy"]
    strategy = complete(CUBE, Given(), device, whole_k=True)
    m, n, _ = strategy.tile_l2
    assert violations(CUBE, strategy, device, whole_k=True) == ()
    assert strategy.depth_l2 * (m + n) * 1024 + m * n * 4 <= 2 * 262144
