"""Which tensors between phases stay in memory tiles, each in slabs of equal size, and where in them. Pure.

A home is at its tiles from the phase that makes the tensor to the last that reads it, above what phases themselves need
there. In a phase, a slab is read or written by a channel of its tile that the phase leaves alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

# Of choices that are looked at; networks whose tensors all have a home take one for each tensor.
_MOST_CHOICES = 20_000


@dataclass(frozen=True)
class Slab:
    """Where a part of a tensor lies: the memory tile of a column, and the address there."""

    column: int
    address: int


@dataclass(frozen=True)
class Home:
    """Where a tensor lies: in slabs of so many bytes, the last of which may have fewer, one after the other."""

    slabs: tuple[Slab, ...]
    slab_bytes: int


@dataclass(frozen=True)
class HomeCandidate:
    """A tensor that may stay: made in phase `first`, read in `reads`; `saved_bytes` needn't go from or to DRAM then.

    Its phases take `late_seconds` longer, or less than no time; `places` are the columns of its slabs, the best first.
    """

    number: int
    slab_bytes: int
    first: int
    reads: tuple[int, ...]
    saved_bytes: int
    late_seconds: float
    places: tuple[tuple[int, ...], ...]

    @cached_property
    def last(self) -> int:
        return max(self.reads)

    @property
    def ways(self) -> tuple[tuple[int, bool], ...]:
        """The phases that move it, and whether they write it."""
        return (self.first, True), *((phase, False) for phase in self.reads)


@dataclass(frozen=True)
class TileRoom:
    """The bytes of a memory tile, and what each phase itself needs in each column's; what it leaves beside it.

    `channels` are those that a phase leaves, by phase, column and whether they write there.
    """

    bytes: int
    alignment_bytes: int
    needed: Mapping[tuple[int, int], int]
    channels: Mapping[tuple[int, int, bool], int]

    def free(self, phase: int, column: int) -> int:
        return self.bytes - self.needed.get((phase, column), 0)


@dataclass(frozen=True)
class Residency:
    """The tensors that stay, by number; no choice saves more than `bound_bytes`."""

    homes: Mapping[int, Home]
    saved_bytes: int
    bound_bytes: int


def choose_homes(candidates: Sequence[HomeCandidate], room: TileRoom) -> Residency:
    """The homes that save most and take no longer in all, the best of a bounded search."""
    found = _HomeChoice(sorted(candidates, key=_worth), room)
    found.search(0, (), 0, 0.0)
    return Residency(found.homes, found.saved_bytes, sum(one.saved_bytes for one in candidates))


def _worth(one: HomeCandidate) -> tuple[bool, float, int]:
    """What takes no longer comes first, by what it saves; then what takes least longer for that."""
    is_late = one.late_seconds > 0
    return is_late, one.late_seconds / max(1, one.saved_bytes) if is_late else -one.saved_bytes, one.number


@dataclass(frozen=True)
class _HousedTensor:
    """A candidate's slabs: the address of each, in the columns of its place."""

    one: HomeCandidate
    place: tuple[int, ...]
    addresses: tuple[int, ...]

    @property
    def home(self) -> Home:
        return Home(tuple(map(Slab, self.place, self.addresses)), self.one.slab_bytes)


@dataclass
class _HomeChoice:
    """Depth-first: each tensor in each of its places, or nowhere; what can't save more than the best so far is left.

    `moving` are the slabs that are moved, by phase, column and way.
    """

    candidates: Sequence[HomeCandidate]
    room: TileRoom
    homes: Mapping[int, Home] = field(default_factory=dict)
    saved_bytes: int = -1
    looked: int = 0
    moving: dict[tuple[int, int, bool], int] = field(default_factory=lambda: defaultdict(int))

    def search(self, index: int, chosen: tuple[_HousedTensor, ...], saved: int, late: float) -> None:
        rest = self.candidates[index:]
        if saved + sum(one.saved_bytes for one in rest) <= self.saved_bytes or self.looked >= _MOST_CHOICES:
            return
        if late + sum(min(0.0, one.late_seconds) for one in rest) > 0:
            return
        self.looked += 1
        if index == len(self.candidates):
            self.homes, self.saved_bytes = {placed.one.number: placed.home for placed in chosen}, saved
            return
        one = self.candidates[index]
        for place in one.places:
            placed = self._placed(one, place, chosen)
            if placed is not None:
                self._move(placed, 1)
                self.search(index + 1, (*chosen, placed), saved + one.saved_bytes, late + one.late_seconds)
                self._move(placed, -1)
        self.search(index + 1, chosen, saved, late)

    def _placed(
        self, one: HomeCandidate, place: tuple[int, ...], chosen: Sequence[_HousedTensor]
    ) -> _HousedTensor | None:
        ways = ((phase, column, writes) for column in place for phase, writes in one.ways)
        if any(self.moving[way] >= self.room.channels.get(way, 0) for way in ways):
            return None
        beside = [placed for placed in chosen if placed.one.first <= one.last and one.first <= placed.one.last]
        addresses = []
        for column in place:
            address = self._address(one, column, beside)
            if address is None:
                return None
            addresses.append(address)
        return _HousedTensor(one, place, tuple(addresses))

    def _address(self, one: HomeCandidate, column: int, beside: Sequence[_HousedTensor]) -> int | None:
        """The highest address in a tile that neither a tensor's phases need nor what is at home at the same time."""
        size = self._size(one)
        least = max(self.room.needed.get((phase, column), 0) for phase in range(one.first, one.last + 1))
        others = [
            (placed.addresses[placed.place.index(column)], self._size(placed.one))
            for placed in beside
            if column in placed.place
        ]
        for end in sorted({self.room.bytes, *(address for address, _ in others)}, reverse=True):
            address = (end - size) // self.room.alignment_bytes * self.room.alignment_bytes
            if address < least:
                return None
            if all(address + size <= other or other + taken <= address for other, taken in others):
                return address
        return None

    def _move(self, placed: _HousedTensor, sign: int) -> None:
        for column in placed.place:
            for phase, writes in placed.one.ways:
                self.moving[phase, column, writes] += sign

    def _size(self, one: HomeCandidate) -> int:
        return -(-one.slab_bytes // self.room.alignment_bytes) * self.room.alignment_bytes
