"""Which groups of a function run as one: the cheapest way to take it apart into sets of groups. Pure.

A set is one of which nobody reads anything but what its last group makes, so that sets can run one after the other:
of two sets that each needed something of the other, the last groups would need each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Members = frozenset[int]


@dataclass(frozen=True, order=True)
class Price:
    """What a set of groups costs, and what decides between equals: the memory that it takes."""

    seconds: float
    memory_bytes: int = 0

    def __add__(self, other: Price) -> Price:
        return Price(self.seconds + other.seconds, self.memory_bytes + other.memory_bytes)


def cones(readers: Sequence[frozenset[int]], most: int) -> Iterator[Members]:
    """The connected sets of two groups up to `most` of which only the last is read by others, or by nobody.

    `readers` are the groups that read each one's results, and one number more for whoever is no group; a group comes
    before its readers.
    """
    makers: list[set[int]] = [set() for _ in (*readers, ())]
    for group, others in enumerate(readers):
        for other in others:
            makers[other].add(group)
    for root in range(len(readers)):
        seen: set[Members] = set()
        left: list[Members] = [frozenset([root])]
        while left:
            members = left.pop()
            for maker in sorted({each for member in members for each in makers[member]} - members):
                grown = members | {maker}
                if len(grown) <= most and readers[maker] <= members and grown not in seen:
                    seen.add(grown)
                    left.append(grown)
        yield from sorted(seen, key=sorted)


def best_partition(count: int, prices: Mapping[Members, Price]) -> tuple[Members, ...]:
    """The sets that groups 0 up to `count` come apart into, at the least price; each by itself where nothing is said.

    Of the groups that are left, the last one ends the set that it is in: all that read it are in others already. So a
    state is what is left, and of a chain there are as many as it has groups.
    """
    by_last: dict[int, list[Members]] = {}
    for members in prices:
        by_last.setdefault(max(members), []).append(members)
    best: dict[Members, tuple[Price, tuple[Members, ...]]] = {frozenset(): (Price(0.0), ())}

    def solve(left: Members) -> tuple[Price, tuple[Members, ...]]:
        stack = [left]
        while stack:
            state = stack[-1]
            ways = _ways(state, by_last)
            missing = [rest for rest in (state - way for way in ways) if rest not in best]
            if missing:
                stack += missing
                continue
            stack.pop()
            if state not in best:
                found = [(prices.get(way, Price(0.0)) + best[state - way][0], way) for way in ways]
                price, way = min(found, key=lambda each: (each[0], sorted(each[1])))
                best[state] = (price, (way, *best[state - way][1]))
        return best[left]

    return tuple(reversed(solve(frozenset(range(count)))[1]))


def _ways(left: Members, by_last: Mapping[int, Sequence[Members]]) -> list[Members]:
    """The sets that the last of the groups that are left may be in."""
    if not left:
        return []
    last = max(left)
    found = [members for members in by_last.get(last, ()) if members <= left]
    alone = frozenset([last])
    return found if alone in found else [alone, *found]
