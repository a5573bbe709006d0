"""Strategies while tensors stay on the chip: near to the best with these in DRAM, and clearly faster without."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.ops.linear import Linear
from npuflow.strategy.choose import ranked_by_estimate, ranked_with_costs
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group, Role, Tensor
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.phase_times import PhaseTimes, against_more, seconds_in_a_row
from npuflow.strategy.room import home_room, tile_descriptors
from npuflow.strategy.strategy import Strategy

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, matmul_group, problems


def _at_home(group: Group, names: set[str]) -> Group:
    tensors = (replace(tensor, at_home=tensor.name in names, number=n) for n, tensor in enumerate(group.tensors))
    return replace(group, tensors=tuple(tensors))


def _played(times: PhaseTimes, strategy: Strategy) -> float:
    """What a strategy costs with those of the tensors at home that it leaves room for; others come from DRAM again."""
    group, device, mapping = times.at_home, times.device, mapping_of(times.at_home, strategy)
    started = replace(device, control=replace(device.control, descriptor_seconds=device.control.start_seconds))
    room = {one.name: sum(home_room(group, mapping, device, one.number or 0)) for one in group.tensors if one.at_home}
    sizes = {one.name: prod(one.shape) * one.element_bytes for one in group.tensors}
    kept = {name for name, left in room.items() if left >= sizes[name]}
    estimate = Estimate(_at_home(group, kept), started)
    tasks = sum(each.descriptors for name, each in estimate.transfers(mapping).items() if name not in kept)
    cost = estimate.played_cost(mapping)
    elsewhere = sum(sizes[name] for name in room.keys() - kept) / device.dram.total_bytes_per_second
    return max(cost, (cost + tasks * device.control.descriptor_seconds) / 2) + elsewhere


@given(st.data())
@drawn(few=25, many=500)
def test_what_is_taken_costs_little_more_in_dram_and_at_home_takes_clearly_less_time_or_fewer_descriptors(
    data: st.DataObject,
) -> None:
    device = DEVICES["npu2"]
    group = data.draw(problems(device))
    ways = ranked_with_costs(group, Strategy(), device, 64)
    times = PhaseTimes(_at_home(group, {tensor.name for tensor in group.tensors if tensor.name != "rhs"}), device)
    costs = {one.strategy: one.cost for one in ways}
    best, taken = ways[0].strategy, times.better(ways[0].strategy, ways)
    own, most = _played(times, best), tile_descriptors(times.at_home, mapping_of(group, best), device)
    played = [_played(times, way) for way in taken]
    least = min([own, *played])
    if least < 0.96 * own:
        # Of what is as fast, or nearly, the first costs least in DRAM; then come others, the faster the sooner.
        alike = [costs[way] for way, cost in zip(taken, played) if cost <= 1.01 * least]
        assert costs[taken[0]] == min(alike)
        assert played[0] <= 1.01 * least
        assert all(later >= sooner / 1.01 for sooner, later in itertools.pairwise(played))
    else:
        assert all(cost >= 0.96 * own for cost in played)
    for way, cost in zip(taken, played):
        assert costs[way] <= 2.01 * costs[best]
        is_lighter = tile_descriptors(times.at_home, mapping_of(group, way), device) < most
        assert cost < 0.97 * own or (is_lighter and cost <= own)


def test_of_what_is_no_slower_the_fewest_descriptors_are_taken() -> None:
    device, group = DEVICES["npu2"], matmul_group(128, 512, 768, types=("bf16", "bf16", "f32"))
    ways = ranked_with_costs(group, Strategy(), device, 1)
    times = PhaseTimes(_at_home(group, {tensor.name for tensor in group.tensors if tensor.name != "rhs"}), device)
    best, first = ways[0].strategy, times.better(ways[0].strategy, ways)[0]
    needed = [tile_descriptors(group, mapping_of(group, way), device) for way in (best, first)]
    assert needed[1] < needed[0]


def test_a_tensor_without_a_channel_is_no_tensor_at_home() -> None:
    """Two operands for each of four rows leave a memory tile no channel out, two rows leave one.

    Who makes it then writes it to DRAM as well.
    """
    device = DEVICES["npu2"]
    dims, shape = (Linear(((0, 1),)), Linear(((1, 1),))), (128, 256)
    tensors = tuple(
        Tensor(name, role, dims, shape, 4) for name, role in zip("xyz", (Role.INPUT, Role.INPUT, Role.OUTPUT))
    )
    group = _at_home(Group(shape, 2, (), tensors, (), pads_streamed=False), {"x"})
    times, nowhere = PhaseTimes(group, device), PhaseTimes(_at_home(group, set()), device)
    elsewhere = prod(shape) * 4 / device.dram.total_bytes_per_second
    for grid, is_at_home in (((4, 8), False), ((2, 8), True)):
        strategy = Strategy(grid=grid, spread=(0, 1), tile_l1=(16, 32), order=(0, 1), depth_l2=2, depth_l1=2)
        assert (times._cost(strategy) == pytest.approx(nowhere._cost(strategy) + elsewhere)) != is_at_home


def test_what_is_best_with_tensors_at_home_is_looked_at_as_well() -> None:
    device, group = DEVICES["npu2"], matmul_group(196, 512, 1024, types=("i8", "i8", "i32"))
    best = ranked_with_costs(group, Strategy(), device, 1)[0]
    at_home = _at_home(group, {tensor.name for tensor in group.tensors if tensor.name != "rhs"})
    times, ways = PhaseTimes(at_home, device), ranked_by_estimate(at_home.numbered({}), Strategy(), device, 128)
    assert times.better(best.strategy, [best]) == []
    faster = times.better(best.strategy, [best], ways)
    assert faster
    assert faster[0] in {way.strategy for way in ways}
    assert _played(times, faster[0]) < 0.97 * _played(times, best.strategy)


def test_tasks_that_nobody_has_time_to_set_up_count() -> None:
    device, dims, shape = DEVICES["npu2"], (Linear(((0, 1),)), Linear(((1, 1),))), (1024, 512)
    tensors = tuple(Tensor(name, role, dims, shape, 1) for name, role in (("x", Role.INPUT), ("y", Role.OUTPUT)))
    group = _at_home(Group(shape, 2, (), tensors, (), pads_streamed=False), set())
    way = Strategy(grid=(4, 8), spread=(0, 1), tile_l1=(128, 64), order=(0, 1), depth_l2=2, depth_l1=2)

    def cost(descriptor_seconds: float) -> float:
        control = replace(device.control, descriptor_seconds=descriptor_seconds)
        return PhaseTimes(group, replace(device, control=control))._cost(way)

    # 16 tasks, all of which the phase has time for; or of which others have no time for half.
    assert cost(1e-6) == cost(5e-7)
    assert cost(1e-5) == pytest.approx((cost(1e-6) + 16e-5) / 2)


def test_streams_that_tiles_wait_for_count_by_columns() -> None:
    device, group = DEVICES["npu2"], matmul_group(128, 512, 768, types=("bf16", "bf16", "f32"))
    at_home = _at_home(group, {tensor.name for tensor in group.tensors})
    free, waiting = PhaseTimes(at_home, device), PhaseTimes(at_home, device, 1e-3)
    ways = [one.strategy for one in ranked_with_costs(group, Strategy(), device, 1)]
    counted = {way.array[1]: waiting._cost(way) - free._cost(way) for way in ways}
    assert counted == {columns: pytest.approx(1e-3 * {8: 9}.get(columns, 2 * columns)) for columns in counted}
    assert len(counted) > 1


@pytest.mark.parametrize(
    ("times", "change", "before", "total"),
    [
        ([(10.0, 6.0)], 4.0, None, 10.0),  # a launch has its first part set up, which takes no change
        ([(10.0, 6.0)], 4.0, 5.0, 9.0),  # 10 + 4 of which 5 go by while something in front works
        ([(10.0, 6.0), (9.0, 5.0)], 0.0, None, 15.0),  # the second one's 4 go by while the first one works
        ([(10.0, 6.0), (9.0, 5.0)], 8.0, None, 21.0),  # 6 of the second one's 12 do
        ([(10.0, 6.0), (9.0, 5.0), (9.0, 5.0)], 8.0, None, 33.0),  # nothing goes by while the array is held up
        ([(3.0, 2.0), (2.0, 1.0), (9.0, 5.0)], 0.0, None, 12.0),  # 3 + 1 + 8: a short one leaves little time
    ],
)
def test_parts_in_a_row_are_set_up_while_the_one_in_front_works(
    times: list[tuple[float, float]], change: float, before: float | None, total: float
) -> None:
    assert seconds_in_a_row(times, change, before) == total


def test_more_parts_have_to_be_clearly_faster() -> None:
    assert against_more(103.0, 1, 2) < 100.0 < against_more(105.0, 1, 2)
    assert against_more(103.0, 2, 2) == against_more(103.0, 3, 2) == 103.0
