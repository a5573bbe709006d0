"""The front: what nothing beats in time, traffic, L2 and L1 at once; and what the others lost to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npuflow.tuning.front import costs_of, pareto_front, why_others_lost
from npuflow.tuning.search_unit import GroupTuning, TriedStrategy
from npuflow.tuning.trial import TrialOutcome

_SMALL = st.integers(1, 4)
_OUTCOMES = st.builds(TrialOutcome, cycles=_SMALL, l3_bytes=_SMALL, l1_bytes=_SMALL, l2_bytes=_SMALL)


def tuning_of(outcomes: list[TrialOutcome]) -> GroupTuning:
    tried = tuple(TriedStrategy(str(number), 1.0, outcome) for number, outcome in enumerate(outcomes))
    right = [number for number, outcome in enumerate(outcomes) if not outcome.refusal]
    return GroupTuning("group", tried, min(right, key=lambda number: outcomes[number].cycles), is_cut=False)


@given(st.lists(_OUTCOMES, min_size=1, max_size=12))
def test_the_front_is_what_nothing_dominates(outcomes: list[TrialOutcome]) -> None:
    costs = {costs_of(outcome) for outcome in outcomes}
    undominated = {
        one for one in costs if all(other == one or any(o > own for own, o in zip(one, other)) for other in costs)
    }
    front = pareto_front(tuning_of(outcomes))
    assert {costs_of(one.outcome) for one in front} == undominated
    assert len(front) == len(undominated)


def test_refused_strategies_are_on_no_front() -> None:
    front = pareto_front(tuning_of([TrialOutcome(cycles=5), TrialOutcome(refusal="needs 9, has 8")]))
    assert [one.strategy for one in front] == ["0"]


def test_losers_are_counted_by_what_they_lose_more_to_than_the_best() -> None:
    # Of 100 cycles, 60 are DRAM's, of which the best has 50 of 80 as well; the cores' 30 are what makes it slower.
    best = TrialOutcome(cycles=80, saved={"dram": 50 / 80, "compute": 0.0})
    slower = TrialOutcome(cycles=100, saved={"dram": 0.6, "compute": 0.3})
    slowest = TrialOutcome(cycles=200, saved={"dram": 0.9, "compute": 0.0})
    lost = why_others_lost(tuning_of([best, slower, slowest, TrialOutcome(cycles=80)]))
    assert [(one.cause, one.count, one.nearest.strategy) for one in lost] == [("compute", 1, "1"), ("dram", 1, "2")]
    assert (lost[0].saves_seconds, lost[0].best_saves_seconds) == (30.0, 0.0)
