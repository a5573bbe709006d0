"""Where a core's programs lie in its memory, and what is loaded from phase to phase. Pure.

Programs call kernels by addresses, so each piece is linked to one, and comes there whenever it is loaded. Pieces that
no phase runs together may be linked to the same place: each lets go of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from npuflow.core.answers import Answers
from npuflow.network.phases import Piece, phases_of_pieces, size_of

Image = frozenset[Piece]

_NOTHING: Image = frozenset()

# Phases from one piece to another that are few.
_NEAR = 3


@dataclass(frozen=True)
class ProgramRoom:
    """A memory of so many bytes, 0 for any number; a load takes as long as to bring `load_bytes` beside its own."""

    bytes: int
    load_bytes: int = 0

    def holds(self, image: Image) -> bool:
        return not self.bytes or size_of(image) <= self.bytes

    def loads(self, needs: Sequence[Image]) -> Sequence[Image]:
        """What it is loaded with in front of each phase, by what phases run.

        All phases are linked together, or each load by itself, or each half of the phases: whichever takes least. All
        cores that run the same, and plans of a function that differ in nothing that cores run, ask the same.
        """
        return _LOADS.of((self, *needs), lambda: self._least_loads(needs))

    def _least_loads(self, needs: Sequence[Image]) -> list[Image]:
        if not self.bytes:
            return [frozenset(chain.from_iterable(needs)), *[_NOTHING] * (len(needs) - 1)]
        found, uses = [self._each_by_itself(needs)], phases_of_pieces(needs)
        for order in (_by_bytes, _by_phases):
            linked = _linked(sorted(uses, key=order(uses)), uses, self.bytes)
            if linked is not None:
                found.append([*_loads(needs, uses, _sharing(linked))])
        if (middle := _middle(needs)) is not None:
            found.append([*self.loads(needs[:middle]), *self.loads(needs[middle:])])
        return min(found, key=self._takes)

    def _takes(self, loads: Sequence[Image]) -> int:
        return sum(self.load_bytes + size_of(image) for image in loads if image)

    def _each_by_itself(self, needs: Sequence[Image]) -> list[Image]:
        """The programs of next phases that fit together, all anew where one isn't there."""
        found: list[Image] = []
        present = _NOTHING
        for number, need in enumerate(needs):
            is_there = need <= present
            present = present if is_there else self._fitting(needs[number:])
            found.append(_NOTHING if is_there else present)
        return found

    def _fitting(self, needs: Sequence[Image]) -> Image:
        found = needs[0]
        for need in needs[1:]:
            if not self.holds(found | need):
                break
            found |= need
        return found


_LOADS: Answers[Sequence[Image]] = Answers(256)


def _middle(needs: Sequence[Image]) -> int | None:
    """The phase nearest to the middle that runs something else than the one before."""
    changes = (number for number, (before, need) in enumerate(pairwise(needs), 1) if before != need)
    return min(changes, key=lambda number: abs(2 * number - len(needs)), default=None)


# Where pieces are linked to

# The phases that run each piece, in order.
Uses = Mapping[Piece, Sequence[int]]

Order = Callable[[Piece], tuple[object, ...]]

# The bytes that two pieces in one place are loaded with again, and how soon behind each other they come.
Cost = tuple[int, float]


def _by_bytes(uses: Uses) -> Order:
    """What is most of all loads comes first."""
    return lambda piece: (-piece.size * len(uses[piece]), -piece.size, str(piece.content))


def _by_phases(uses: Uses) -> Order:
    """What most phases run comes first, then what is needed first."""
    return lambda piece: (-len(uses[piece]), uses[piece][0], -piece.size, str(piece.content))


def _linked(pieces: Sequence[Piece], uses: Uses, room: int) -> Mapping[Piece, int] | None:
    """The address of each piece in this order, where it costs least; None where one of them has none."""
    found: dict[Piece, int] = {}
    for piece in pieces:
        near = [each for each in found if _are_near(uses[piece], uses[each])]
        taken = [(found[each], found[each] + each.size, _cost(piece, each, uses)) for each in near]
        ends = {0, *(end for _, end, _ in taken), *(begin - piece.size for begin, _, _ in taken)}
        places = (at for at in ends if 0 <= at <= room - piece.size)
        costs = ((_cost_of_covering(at, at + piece.size, taken), at) for at in places)
        known = [(cost, at) for cost, at in costs if cost is not None]
        if not known:
            return None
        _, found[piece] = min(known)
    return found


def _are_near(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether of two pieces neither is done with long before the other is needed."""
    return one[0] <= other[-1] + _NEAR and other[0] <= one[-1] + _NEAR


def _cost(one: Piece, other: Piece, uses: Uses) -> Cost | None:
    """What two pieces in one place cost; None where a phase runs both.

    What comes soon behind what it covers can't come along with something before.
    """
    if not {*uses[one]}.isdisjoint(uses[other]):
        return None
    runs = sorted([*((number, one) for number in uses[one]), *((number, other) for number in uses[other])], key=_number)
    loads = [(piece, number - at) for (at, before), (number, piece) in pairwise(runs) if before != piece]
    again = loads[1:]  # when the second of them comes first, that is not again
    return sum(piece.size for piece, _ in again), sum(piece.size / phases for piece, phases in loads)


def _number(use: tuple[int, Piece]) -> int:
    return use[0]


def _cost_of_covering(begin: int, end: int, taken: Sequence[tuple[int, int, Cost | None]]) -> Cost | None:
    """What it costs to cover what is taken from one address to another; None where that can't be."""
    again, soon = 0, 0.0
    for first, last, cost in taken:
        if first < end and begin < last:
            if cost is None:
                return None
            again, soon = again + cost[0], soon + cost[1]
    return again, soon


# What is loaded then


def _sharing(linked: Mapping[Piece, int]) -> Mapping[Piece, list[Piece]]:
    """The pieces that each piece covers."""
    found: dict[Piece, list[Piece]] = {piece: [] for piece in linked}
    by_address = sorted(linked, key=lambda piece: linked[piece])
    for place, piece in enumerate(by_address):
        for other in by_address[place + 1 :]:
            if linked[other] >= linked[piece] + piece.size:
                break
            found[piece].append(other)
            found[other].append(piece)
    return found


def _loads(needs: Sequence[Image], uses: Uses, covers: Mapping[Piece, Sequence[Piece]]) -> Iterator[Image]:
    """In front of each phase what isn't there, and with that what next ones lack, over nothing that is needed again."""
    present: set[Piece] = set()
    for number, need in enumerate(needs):
        loaded: set[Piece] = set()
        for later in needs[number:]:
            missing = later - present
            if not missing and not loaded:
                break
            held = {each for piece in missing for each in covers[piece]} & present
            if later is not need and any(uses[each][-1] >= number for each in held):
                break
            present = (present - held) | missing
            loaded |= missing
        yield frozenset(loaded)
