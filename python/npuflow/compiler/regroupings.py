"""Other groups as one, by what parts of a function take once all is decided. Pure.

Estimates know little of what stays on the chip, and of what comes ahead, and nothing of how much parts get in each
other's way: what parts take is another part of their estimates in each function, and in some of its groups another one
than in most. So the function is taken apart anew, as it was by estimates, with what is known: what its parts took, and
for all other sets of groups the lower of two estimates, each times what parts take of theirs in the mean: what isn't as
fast is found out by trying.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from operator import mul

from npuflow.compiler.compiled import Sequence as PartSequence
from npuflow.network.partition import Price, best_partition
from npuflow.ops.estimated import Estimates, Names
from npuflow.ops.refused import CACHED, TILED

# Of the time behind the launch, what has to be gained so that it is worth while to compile what changes, and to plan
# all parts anew.
MUCH = 0.0075


@dataclass(frozen=True)
class Regrouping:
    """Groups that were one, by their names, to be apart, and others to be one; `seconds` may be gained by that."""

    apart: frozenset[Names]
    as_one: frozenset[Names]
    seconds: float = field(compare=False)
    why: str = field(compare=False)

    @property
    def groups(self) -> Names:
        return frozenset[str]().union(*self.apart, *self.as_one)

    def is_better(self, one: PartSequence, other: PartSequence) -> bool:
        """Whether these groups, and those that became one with them, take less time in one sequence than in another."""
        return _seconds_of(self.groups, _took(one)) < _seconds_of(self.groups, _took(other))


def regroupings(sequence: PartSequence, estimated: Mapping[Names, Estimates]) -> tuple[Regrouping, ...]:
    """Those that may gain much, the most first, no two of them of the same group."""
    took = _took(sequence)
    known = [groups for groups in took if all(estimated.get(groups, (0.0,)))]
    if not known:
        return ()
    all_ = sum(took[groups] for groups in known)
    shares = [all_ / sum(each) for each in zip(*(estimated[groups] for groups in known))]
    lower = {groups: min(map(mul, shares, seconds)) for groups, seconds in estimated.items()}
    expected = {**lower, **took}
    least = MUCH * (sequence.seconds - sequence.device.control.launch_seconds)
    found = [_regrouping(before, after, expected) for before, after in _changes([*took], _best(expected))]
    return tuple(sorted((one for one in found if one.seconds > least), key=lambda one: -one.seconds))


def _took(sequence: PartSequence) -> dict[Names, float]:
    """How long parts take, each with the change in front of it, by the groups that it is made of."""
    if not sequence.changes:
        return {}
    ends = [sequence.timed[0].launch_us, *(phase.end_us for phase in sequence.timed)]
    took: dict[Names, float] = {}
    for call, (begin, end) in zip(sequence.compiled.calls.calls, pairwise(ends), strict=True):
        groups = frozenset(call.made_of) - {CACHED, TILED}
        if groups:  # of which parts of rows have the same
            took[groups] = took.get(groups, 0.0) + (end - begin) * 1e-6
    return took


def _best(expected: Mapping[Names, float]) -> list[Names]:
    """The sets of groups that take least time together."""
    names = sorted(frozenset[str]().union(*expected), key=lambda name: (len(name), name))
    number = {name: number for number, name in enumerate(names)}
    prices = {frozenset([each]): Price(inf) for each in number.values()}
    prices |= {frozenset(number[name] for name in groups): Price(seconds) for groups, seconds in expected.items()}
    return [frozenset(names[each] for each in members) for members in best_partition(len(names), prices)]


def _changes(before: list[Names], after: list[Names]) -> Iterator[tuple[list[Names], list[Names]]]:
    """Which sets become which others, as few at a time as can be told apart."""
    left = [groups for groups in after if groups not in before]
    while left:
        now, new = list[Names](), [left.pop(0)]
        while True:
            groups = frozenset[str]().union(*now, *new)
            more = [each for each in before if each not in now and each & groups]
            others = [each for each in left if each & groups]
            if not more and not others:
                break
            now, new, left = [*now, *more], [*new, *others], [each for each in left if each not in others]
        yield now, new


def _regrouping(before: list[Names], after: list[Names], expected: Mapping[Names, float]) -> Regrouping:
    now, then = (sum(expected[groups] for groups in each) for each in (before, after))
    why = f"as they were they take {now * 1e6:.3g} us, and may take {then * 1e6:.3g} us"
    apart, as_one = (frozenset(groups for groups in each if len(groups) > 1) for each in (before, after))
    return Regrouping(apart, as_one, now - then, why)


def _seconds_of(groups: Names, took: Mapping[Names, float]) -> float:
    """How long all parts take that are made of any of these groups."""
    return sum(seconds for each, seconds in took.items() if each & groups)
