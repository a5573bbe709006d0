"""The strategy that is chosen keeps to what was said, fits where anything fits, and never fails to answer."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.errors import Shortage
from npuflow.ops.products import padded
from npuflow.strategy.choose import complete
from npuflow.strategy.feasibility import obstacles
from npuflow.strategy.group import Group, M, N
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.room import fits, l1_buffers, l2_buffers, tile_descriptors
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, devices, givens, matmul_group, problems

CUBE = matmul_group(1024, 1024, 1024)


@given(st.data())
@drawn(few=40, many=1000)
def test_without_a_word_something_that_fits_is_chosen(data: st.DataObject) -> None:
    device = data.draw(devices())
    group = data.draw(problems(device))
    strategy = complete(group, Strategy(), device)
    assert obstacles(group, strategy, device) == ()
    assert fits(group, mapping_of(group, strategy), device)


@given(st.data())
@drawn(few=40, many=1000)
def test_what_is_given_is_kept(data: st.DataObject) -> None:
    device = data.draw(devices())
    group, said = data.draw(problems(device)), data.draw(givens())
    strategy = complete(group, said, device, whole_k=data.draw(st.booleans()))
    for name, value in said.said().items():
        assert getattr(strategy, name) == value


@given(st.data())
@drawn(few=40, many=1000)
def test_no_core_has_nothing_but_padding(data: st.DataObject) -> None:
    device = data.draw(devices())
    group = data.draw(problems(device))
    strategy = complete(group, Strategy(), device)
    (rows, columns), (m, n, _) = strategy.grid, strategy.pack
    assert (rows - 1) * m < group.sizes[M]
    assert (columns - 1) * n < group.sizes[N]


def _descriptors(group: Group, strategy: Strategy, device: Device) -> int:
    """Those of a memory tile by the estimate."""
    return tile_descriptors(group, mapping_of(group, strategy), device)


@given(st.data())
@drawn(few=5, many=200)
def test_what_lacked_descriptors_is_chosen_with_fewer_until_there_is_no_choice(data: st.DataObject) -> None:
    """Halved each time, and in the end the smallest tiles of one core, with single slots."""
    device = data.draw(devices())
    group = data.draw(problems(device))
    least, needs = complete(group, Strategy(), device, lacked=(Shortage(2, 1, 0),)), []
    for count in range(4):
        strategy = complete(group, Strategy(), device, lacked=(Shortage(2, 48, 24),) * count)
        needs.append(_descriptors(group, strategy, device))
        assert obstacles(group, strategy, device) == ()
        assert not count or needs[-1] <= needs[-2] // 2 or (strategy.depth_l2, strategy.depth_l1) == (1, 1)
    assert least.grid == (1, 1)
    assert (least.depth_l1, least.depth_l2) == (1, 1)


@given(st.data())
@drawn(few=20, many=500)
def test_there_are_no_more_slots_than_locks_count_to(data: st.DataObject) -> None:
    device = data.draw(devices())
    counting_to_one = replace(device, dmas=tuple(replace(dma, lock_max=1) for dma in device.dmas))
    group = data.draw(problems(device))
    mapping = mapping_of(group, complete(group, Strategy(), counting_to_one))
    buffers = [*l1_buffers(group, mapping), *l2_buffers(group, mapping, device.columns)]
    assert {buffer.depth for buffer in buffers} == {1}


def test_the_type_decides_the_packed_shape() -> None:
    for device in DEVICES.values():
        for lhs, rhs, acc in device.supported_types():
            first = device.matmul_shapes(lhs, rhs, acc)[0]
            strategy = complete(matmul_group(64, 64, 64, types=(lhs, rhs, acc)), Strategy(), device)
            if not device.accepts_any_shape(lhs, rhs, acc):
                assert strategy.pack == (first.m, first.n, first.k)


def test_a_packed_k_longer_than_any_start_ends() -> None:
    for k in (17, 24, 200):
        strategy = complete(matmul_group(64, 64, 512), Strategy(pack=(4, 8, k)), DEVICES["npu1"])
        assert strategy.tile_l1[2] % k == 0


def test_a_large_cube_uses_every_core_and_double_buffers() -> None:
    for device in DEVICES.values():
        strategy = complete(CUBE, Strategy(), device)
        assert strategy.array == (device.rows, device.columns)
        assert (strategy.depth_l1, strategy.depth_l2) == (2, 2)
        assert prod(padded(1024, tile) for tile in strategy.tile_l2) <= 1.2 * 1024**3


def test_all_of_k_in_l2_shrinks_the_block() -> None:
    """1024 bytes of K per row: 512 KiB hold at most 256 + 256 rows and columns, less where C and slots take room."""
    device = DEVICES["toy"]
    strategy = complete(CUBE, Strategy(), device, whole_k=True)
    m, n, _ = strategy.tile_l2
    assert obstacles(CUBE, strategy, device, whole_k=True) == ()
    assert strategy.depth_l2 * (m + n) * 1024 + m * n * 4 <= 2 * 262144
