"""How many different patterns an access is: each way to be cut off at edges, in some turns of loops, is one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Access, Limit

_MOST_TURNS = 1 << 16  # beyond, a limit is taken to cut in one way


def cut_patterns(access: Access, loops: Mapping[str, int], places: Mapping[str, int], own: Mapping[str, int]) -> int:
    """The patterns of the engine that needs most of them, of like ones with the coordinates `own`.

    Turns of `loops` that leave the same indices share a pattern; those at different `places` never do. Loops further
    out are taken to stand at their beginning.
    """
    used = {name for limit in access.limits for name in limit.bound.counters} - loops.keys() - places.keys()
    spans = [range(own.get(name, 1)) for name in used]
    return max(_patterns(access, loops, places, dict(zip(used, values))) for values in product(*spans))


def _patterns(access: Access, loops: Mapping[str, int], places: Mapping[str, int], at: Mapping[str, int]) -> int:
    ranges = {**loops, **places}
    fixed = {name: Affine(value) for name, value in at.items()}
    cuts = [_Cut.of(limit, limit.bound.substitute(fixed), access.sizes) for limit in access.limits]
    count, free = 1, set(places)
    for group in _groups(cuts):
        names = sorted({name for cut in group for name in cut.bound.counters})
        free -= set(names)
        apart = prod(places[name] for name in names if name in places)
        if prod(ranges[name] for name in names) > _MOST_TURNS:
            count *= apart * 2 ** len(group)
            continue
        turns = (dict(zip(names, values)) for values in product(*(range(ranges[name]) for name in names)))
        count *= len({_way(group, turn, places) for turn in turns})
    return count * prod(places[name] for name in free)


@dataclass(frozen=True, eq=False)
class _Cut:
    """A limit's bound: at `least` or below it leaves nothing, at `most` or above everything."""

    bound: Affine
    least: int
    most: int

    @staticmethod
    def of(limit: Limit, bound: Affine, sizes: Sequence[int]) -> _Cut:
        reach = [weight * (size - 1) for weight, size in zip(limit.weights, sizes)]
        return _Cut(bound, sum(min(0, r) for r in reach), 1 + sum(max(0, r) for r in reach))

    def at(self, turn: Mapping[str, int]) -> int:
        value = self.bound.constant + sum(c * turn[name] for name, c in self.bound.terms)
        return max(self.least, min(self.most, value))


def _way(group: Sequence[_Cut], turn: Mapping[str, int], places: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
    return tuple(turn[name] for name in turn if name in places), tuple(cut.at(turn) for cut in group)


def _groups(cuts: Sequence[_Cut]) -> Iterator[list[_Cut]]:
    """Limits whose bounds depend on the same loops or places, directly or through others; those that vary at all."""
    left = [cut for cut in cuts if cut.bound.counters]
    while left:
        group, joined = [], [left.pop(0)]
        while joined:
            group += joined
            names = {name for cut in joined for name in cut.bound.counters}
            joined = [cut for cut in left if cut.bound.counters & names]
            left = [cut for cut in left if cut not in joined]
        yield group
