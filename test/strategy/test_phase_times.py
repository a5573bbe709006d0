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
from npuflow.strategy.strategy import Strategy

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, problems


def _at_home(group: Group, names: set[str]) -> Group:
    tensors = (replace(tensor, at_home=tensor.name in names) for tensor in group.tensors)
    return replace(group, tensors=tuple(tensors))


@given(st.data())
@drawn(few=25, many=500)
def test_what_is_taken_costs_little_more_in_dram_and_takes_clearly_less_at_home(data: st.DataObject) -> None:
    device = DEVICES["npu2"]
    group = data.draw(problems(device))
    ways = ranked_with_costs(group, Strategy(), device, 64)
    times = PhaseTimes(_at_home(group, {tensor.name for tensor in group.tensors if tensor.name != "rhs"}), device)
    started = replace(device.control, descriptor_seconds=device.control.start_seconds)
    at_home, costs = Estimate(times.at_home, replace(device, control=started)), {one.strategy: one.cost for one in ways}
    best, taken = ways[0].strategy, times.faster(ways[0].strategy, ways)
    played = [at_home.played_cost(mapping_of(group, way)) for way in taken]
    assert played == sorted(played)
    for way, own in zip(taken, played):
        assert own < 0.97 * at_home.played_cost(mapping_of(group, best))
        assert costs[way] <= 1.16 * costs[best]
