"""The search of one unit: its groups one after the other, each by candidates that are compiled and simulated."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import inf

from npuflow.bindings import ir
from npuflow.dialect.context import new_context
from npuflow.strategy.space import Array
from npuflow.strategy.strategy import BUNDLE_FIELDS, MATMUL_FIELDS, Strategy, strategy_from
from npuflow.target import Device
from npuflow.tuning.cache import ResultFile, Value
from npuflow.tuning.candidates import Candidates, RankedStrategy, stated
from npuflow.tuning.runners import LOST, Submit, run_in_order
from npuflow.tuning.subjects import TunableGroup, TuningUnit
from npuflow.tuning.trial import Said, StrategyTrial, TrialOutcome, run_trial

_FEWEST = 8  # candidates of a group, however many groups a function has
_BESIDE = 3  # so many of the best are gone on from, in rounds of so many candidates:
_ROUND = 24
_Found = tuple[Sequence[RankedStrategy], str]
_MOST_LISTED = 1000  # what is beside a mapping is tens of others


@dataclass(frozen=True)
class TriedStrategy:
    """A candidate with its outcome; the estimate of the default, which no search ranked, is not known."""

    strategy: str
    estimated_seconds: float | None
    outcome: TrialOutcome


@dataclass(frozen=True)
class GroupTuning:
    """What was tried for a group, the default first; `best` is the number of the one that is kept.

    The search is cut where time ran out before it had tried all that it would have. `proof` says how good the best by
    the estimate is, if that is known.
    """

    label: str
    tried: tuple[TriedStrategy, ...]
    best: int
    is_cut: bool
    proof: str = ""


@dataclass(frozen=True)
class UnitTuning:
    """What became of a unit: `said` are the best strategies and where they stand."""

    name: str
    default: TrialOutcome
    best: TrialOutcome
    groups: tuple[GroupTuning, ...]
    said: Said


@dataclass
class _Trying:
    """The candidates of a group in the order in which they are tried, with estimates, and what came out so far."""

    estimates: dict[str, float | None]
    outcomes: dict[str, TrialOutcome]

    @property
    def left(self) -> list[str]:
        return [text for text in self.estimates if text not in self.outcomes]

    def has_all(self, listed: Sequence[tuple[str, float]]) -> bool:
        return all(text in self.estimates for text, _ in listed)

    def plan(self, listed: Sequence[tuple[str, float]], most: int) -> None:
        """Adds what is listed, in order, as long as there are no more than so many."""
        for text, seconds in listed:
            if len(self.estimates) < most:
                self.estimates.setdefault(text, seconds)

    def best(self, count: int) -> list[str]:
        """The fastest, of equals those that move less, then those that came first."""
        right = [text for text in self.estimates if text in self.outcomes and not self.outcomes[text].refusal]
        return sorted(right, key=lambda text: (self.outcomes[text].cycles, self.outcomes[text].l3_bytes))[:count]

    def result(self, label: str, proof: str, *, is_cut: bool) -> GroupTuning:
        tried = [
            TriedStrategy(text, self.estimates[text], self.outcomes[text])
            for text in self.estimates
            if text in self.outcomes
        ]
        (best,) = self.best(1)
        return GroupTuning(label, tuple(tried), [one.strategy for one in tried].index(best), is_cut, proof)


@dataclass
class UnitSearch:
    """A unit on its way; `at_once` candidates are under way at a time, until `deadline`."""

    unit: TuningUnit
    device: Device
    results: ResultFile
    submit: Submit
    candidates: int
    at_once: int
    deadline: float = inf
    on_tried: Callable[[], None] = lambda: None
    _said: dict[int, str] = field(default_factory=dict)

    def run(self) -> UnitTuning:
        default = self._default()
        groups = self.unit.groups
        if default.refusal or len(default.used) != len(groups):
            return UnitTuning(self.unit.name, default, default, (), ())
        self._said = {
            one.place: _text(stated(_strategy(used, one), is_matmul=one.group.packed))
            for one, used in zip(groups, default.used)
        }
        array = _strategy(default.used[0], groups[0]).array if len(groups) > 1 else None
        each = max(_FEWEST, self.candidates // len(groups))
        tuned, best = [], default
        for number, group in enumerate(groups):
            now = time.monotonic()
            until = now + max(0.0, self.deadline - now) / (len(groups) - number)
            tuned.append(self._tune(group, array, each, until))
            kept = tuned[-1].tried[tuned[-1].best]
            self._said[group.place] = kept.strategy
            best = kept.outcome
        return UnitTuning(self.unit.name, default, best, tuple(tuned), tuple(sorted(self._said.items())))

    def _default(self) -> TrialOutcome:
        """How the unit is compiled when nobody says anything."""
        if (known := self._known(())) is not None:
            return known
        outcome = run_trial(self.unit.trial)
        self._keep((), outcome)
        return outcome

    def _tune(self, group: TunableGroup, array: Array | None, count: int, until: float) -> GroupTuning:
        """The default and half of the candidates as estimates rank them; then, in rounds, what is beside the best."""
        first = self._said[group.place]
        candidates, trying = Candidates(group, self.device, array), _Trying({first: None}, {})
        ranked, proof = self._listed(f"best {count} of {group.place} on {array}", lambda: candidates.ranked(count))
        trying.plan(ranked, 1 + count // 2)
        while trying.left:
            self._try(group, trying, until)
            if trying.left:
                return trying.result(group.label, proof, is_cut=True)
            best = trying.best(_BESIDE)
            name = f"beside {' and '.join(best)} of {group.place} on {array}"
            near, _ = self._listed(name, partial(_beside, candidates, [_strategy(text, group) for text in best]))
            planned = len(trying.estimates)
            trying.plan([*near, *(ranked if trying.has_all(near) else [])], min(planned + _ROUND, 1 + count))
        return trying.result(group.label, proof, is_cut=False)

    def _listed(self, name: str, find: Callable[[], _Found]) -> tuple[list[tuple[str, float]], str]:
        """Candidates and their estimated seconds, in order, and what is proved of them; found once."""
        if (known := self.results.get(name)) is None:
            found, proof = find()
            ranked = [[_text(one.strategy), one.estimated_seconds] for one in found[:_MOST_LISTED]]
            known = {"ranked": ranked, "proof": proof}
            self.results.add(name, known)
        listed = known["ranked"]
        assert isinstance(listed, list)
        return [(str(text), float(seconds)) for text, seconds in listed], str(known["proof"])

    def _try(self, group: TunableGroup, trying: _Trying, until: float) -> None:
        """Finds out what is left, as long as there is time; the first of all is tried in any case."""
        said = {text: tuple(sorted({**self._said, group.place: text}.items())) for text in trying.left}
        for text in trying.left:
            if (known := self._known(said[text])) is not None:
                trying.outcomes[text] = known
                self.on_tried()
        left = trying.left
        trials: list[StrategyTrial] = [replace(self.unit.trial, said=said[text]) for text in left]

        def goes_on() -> bool:
            return time.monotonic() < until or not trying.outcomes

        for number, outcome in run_in_order(self.submit, trials, self.at_once, goes_on):
            trying.outcomes[left[number]] = outcome
            self._keep(said[left[number]], outcome)
            self.on_tried()

    def _known(self, said: Said) -> TrialOutcome | None:
        value = self.results.get(_name(said))
        return None if value is None else _outcome_of(value)

    def _keep(self, said: Said, outcome: TrialOutcome) -> None:
        """What was lost may be found another time."""
        if not outcome.refusal.startswith(LOST):
            self.results.add(_name(said), _value_of(outcome))


def _beside(candidates: Candidates, strategies: Sequence[Strategy]) -> _Found:
    return candidates.beside(strategies), ""


def _name(said: Said) -> str:
    return "tried " + "; ".join(f"{place} {text}" for place, text in said)


def _value_of(outcome: TrialOutcome) -> Value:
    return asdict(outcome)


def _outcome_of(value: Value) -> TrialOutcome:
    return TrialOutcome(**{**value, "used": tuple(value["used"])})  # type: ignore[arg-type]


def _text(strategy: Strategy) -> str:
    with new_context():
        return str(strategy.to_attribute())


def _strategy(text: str, group: TunableGroup) -> Strategy:
    with new_context():
        return strategy_from(ir.Attribute.parse(text), MATMUL_FIELDS if group.group.packed else BUNDLE_FIELDS)
