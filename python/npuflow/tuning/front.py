"""What a search shows of a group: the strategies that nothing beats in everything, and why the others lost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.tuning.search_unit import GroupTuning, TriedStrategy
from npuflow.tuning.trial import TrialOutcome


def costs_of(outcome: TrialOutcome) -> tuple[int, int, int, int]:
    """What is better the less it is: cycles, bytes at DRAM's edge, and the room taken in L2 and in L1."""
    return outcome.cycles, outcome.l3_bytes, outcome.l2_bytes, outcome.l1_bytes


def right_ones(tuning: GroupTuning) -> list[TriedStrategy]:
    """What wasn't refused."""
    return [one for one in tuning.tried if not one.outcome.refusal]


def pareto_front(tuning: GroupTuning) -> list[TriedStrategy]:
    """The strategies of which no other is as good in time, traffic, L2 and L1 and better in one; the fastest first.

    Of several that take the same in all of these, the first that was tried stands for them.
    """
    first: dict[tuple[int, int, int, int], TriedStrategy] = {}
    for one in right_ones(tuning):
        first.setdefault(costs_of(one.outcome), one)
    kept = [costs for costs in first if not any(_beats(other, costs) for other in first)]
    return [first[costs] for costs in sorted(kept)]


def _beats(one: Sequence[int], other: Sequence[int]) -> bool:
    return one != other and all(own <= its for own, its in zip(one, other))


@dataclass(frozen=True)
class LostTo:
    """So many lost to a cause: the nearest of them is that much slower, and without the cause would save more.

    `saves_seconds` is what the nearest would save without it, `best_saves_seconds` what the best would.
    """

    cause: str
    count: int
    nearest: TriedStrategy
    saves_seconds: float
    best_saves_seconds: float


def why_others_lost(tuning: GroupTuning) -> list[LostTo]:
    """The strategies slower than the best by what they lose more to than it does, the most frequent cause first."""
    best = tuning.tried[tuning.best].outcome
    by_cause: dict[str, list[TriedStrategy]] = {}
    for one in right_ones(tuning):
        if one.outcome.cycles > best.cycles:
            by_cause.setdefault(_cause(one.outcome, best), []).append(one)
    found = []
    for cause, lost in by_cause.items():
        nearest = min(lost, key=lambda one: one.outcome.cycles)
        saves, best_saves = (_saved_seconds(each, cause) for each in (nearest.outcome, best))
        found.append(LostTo(cause, len(lost), nearest, saves, best_saves))
    return sorted(found, key=lambda one: (-one.count, one.cause))


def _cause(outcome: TrialOutcome, best: TrialOutcome) -> str:
    """What would save most more of it than of the best."""
    return max(outcome.saved, key=lambda name: _saved_seconds(outcome, name) - _saved_seconds(best, name))


def _saved_seconds(outcome: TrialOutcome, cause: str) -> float:
    return outcome.saved.get(cause, 0.0) * outcome.seconds
