"""Strategies while tensors stay on the chip: near to the best with these in DRAM, and clearly faster without."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.strategy.choose import ranked_with_costs
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.phase_times import PhaseTimes
from npuflow.strategy.room import tile_descriptors
from npuflow.strategy.strategy import Strategy

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, matmul_group, problems


def _at_home(group: Group, names: set[str]) -> Group:
    tensors = (replace(tensor, at_home=tensor.name in names) for tensor in group.tensors)
    return replace(group, tensors=tuple(tensors))


@given(st.data())
@drawn(few=25, many=500)
def test_what_is_taken_costs_little_more_in_dram_and_at_home_takes_clearly_less_time_or_fewer_descriptors(
    data: st.DataObject,
) -> None:
    device = DEVICES["npu2"]
    group = data.draw(problems(device))
    ways = ranked_with_costs(group, Strategy(), device, 64)
    times = PhaseTimes(_at_home(group, {tensor.name for tensor in group.tensors if tensor.name != "rhs"}), device)
    started = replace(device.control, descriptor_seconds=device.control.start_seconds)
    at_home, costs = Estimate(times.at_home, replace(device, control=started)), {one.strategy: one.cost for one in ways}
    best, taken = ways[0].strategy, times.better(ways[0].strategy, ways)
    own, most = at_home.played_cost(mapping_of(group, best)), tile_descriptors(group, mapping_of(group, best), device)
    played = [at_home.played_cost(mapping_of(group, way)) for way in taken]
    assert not played or played[0] <= min(own, *played)
    assert played == sorted(played) or all(cost >= 0.96 * own for cost in played)
    for way, cost in zip(taken, played):
        assert costs[way] <= 1.16 * costs[best]
        is_lighter = tile_descriptors(group, mapping_of(group, way), device) < most
        assert cost < 0.97 * own or (is_lighter and cost <= own)


def test_of_what_is_no_slower_the_fewest_descriptors_are_taken() -> None:
    device, group = DEVICES["npu2"], matmul_group(128, 256, 768, types=("bf16", "bf16", "f32"))
    ways = ranked_with_costs(group, Strategy(), device, 64)
    times = PhaseTimes(_at_home(group, {tensor.name for tensor in group.tensors if tensor.name != "rhs"}), device)
    best, first = ways[0].strategy, times.better(ways[0].strategy, ways)[0]
    needed = [tile_descriptors(group, mapping_of(group, way), device) for way in (best, first)]
    assert needed[1] < needed[0]
