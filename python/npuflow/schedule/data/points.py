"""How far an engine has come in its program, counted in turns of its loops. Pure.

What stands before another step in the text comes first of the two for the first time, and for the last time as well:
in the same turn of the loops that both are in, or in an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from npuflow.schedule.data import model


@dataclass(frozen=True)
class PlacedLeaf:
    """A step that is no loop: the how many-th it is, the loops around it with their trips, what it goes through.

    Loops are told apart by numbers, as their counters may have one name. `each` are the loops over coordinates, by
    number and coordinate: every one of like things sees one turn of those.
    """

    step: model.Step
    index: int
    loops: tuple[tuple[int, int], ...]
    each: tuple[tuple[int, str], ...]

    @property
    def total(self) -> int:
        """How often it is carried out."""
        return prod(trips for _, trips in self.loops)

    def shares(self, within: frozenset[int]) -> bool:
        """Whether it is in one of some loops over coordinates."""
        return any(number in within for number, _ in self.each)


@dataclass(frozen=True)
class Point:
    """In front of a step, in these turns of the loops around it.

    `within` are the loops over coordinates of which some turns are still to come.
    """

    turns: tuple[tuple[int, int], ...]
    index: int
    within: frozenset[int] = frozenset()

    def done(self, leaf: PlacedLeaf) -> int:
        """How often a step has been carried out."""
        shared = turn = 0
        for (mine, at), (its, trips) in zip(self.turns, leaf.loops):
            if mine != its:
                break
            turn, shared = turn * trips + at, shared + 1
        inside = prod(trips for _, trips in leaf.loops[shared:])
        return (turn + (leaf.index < self.index)) * inside

    def is_before(self, other: Point) -> bool:
        """Whether the other one comes later."""
        for (mine, at), (its, then) in zip(self.turns, other.turns):
            if mine != its:
                break
            if at != then:
                return at < then
        return self.index < other.index


def first(leaf: PlacedLeaf) -> Point:
    """In front of a step for the first time."""
    turns = tuple((number, 0) for number, _ in leaf.loops)
    return Point(turns, leaf.index, frozenset(number for number, _ in leaf.each))


def behind(leaf: PlacedLeaf, turn: int) -> Point:
    """Behind a step, when it has been carried out `turn` times before."""
    turns: list[tuple[int, int]] = []
    for number, trips in reversed(leaf.loops):
        turns.append((number, turn % trips))
        turn //= trips
    return Point(tuple(reversed(turns)), leaf.index + 1)


def last(leaf: PlacedLeaf) -> Point:
    """Behind a step for the last time."""
    return behind(leaf, leaf.total - 1)


def earliest(leaf: PlacedLeaf, is_reached: Callable[[Point], bool]) -> Point | None:
    """Behind a step for the first time that something holds, which then stays so; None if it never does."""
    low, high = 0, leaf.total
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(behind(leaf, middle)) else (middle + 1, high)
    return behind(leaf, low) if low < leaf.total else None


def leaves(engine: model.Engine) -> tuple[PlacedLeaf, ...]:
    """The steps of an engine's program, in the order of the text; none of loops without a turn."""
    found: list[PlacedLeaf] = []
    numbers = iter(range(1 << 30))

    def add(
        steps: tuple[model.Step, ...], loops: tuple[tuple[int, int], ...], each: tuple[tuple[int, str], ...]
    ) -> None:
        for step in steps:
            if isinstance(step, model.Repeat):
                if step.trips > 0:
                    add(step.body, (*loops, (next(numbers), step.trips)), each)
            elif isinstance(step, model.Each):
                add(step.body, loops, (*each, (next(numbers), step.coordinate)))
            else:
                found.append(PlacedLeaf(step, len(found), loops, each))

    add(engine.program, (), ())
    return tuple(found)
