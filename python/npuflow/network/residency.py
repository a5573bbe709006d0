"""Which tensors between phases stay on the chip, each in slabs, and where in them. Pure.

A home is at its tiles, or clusters, from the phase that makes the tensor, or brings it from DRAM, to the last that
reads it there, above what phases themselves need. In a phase, a slab may take a channel of its tile that the phase
leaves alone. The search itself is native (`native/src/home_search.cpp`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from npuflow import _native
from npuflow.core.once_of_object import once_of_object
from npuflow.network.spread import TensorSpread

# Of choices that are looked at; networks whose tensors all have a home take one for each tensor.
_MOST_CHOICES = 5_000
# Of orders that are tried where that doesn't settle it, and of changes to the best of them.
_MOST_ORDERS = 200
_MOST_CHANGES = 1000


@dataclass(frozen=True)
class Slab:
    """Where a part of a tensor lies: the memory tile of a column, and the address there."""

    column: int
    address: int


@dataclass(frozen=True)
class Home:
    """Where a tensor lies: its pieces of so many bytes, the last of which may have fewer, dealt out to slabs in turn.

    Where there is a piece for each slab, they lie one after the other. With `in_place` the tiles that collect it from
    cores keep it, with a `spread` the clusters that make it: a piece is what one of them has room for then.
    """

    slabs: tuple[Slab, ...]
    piece_bytes: int
    in_place: bool = False
    spread: TensorSpread | None = None

    def pieces(self, size: int) -> Iterator[tuple[int, int, int]]:
        """Of a tensor of so many bytes, each piece's slab, its place there, and its bytes, in the tensor's order."""
        if self.spread is not None:
            yield from self._spread_pieces(self.spread)
            return
        for number, begin in enumerate(range(0, size, self.piece_bytes)):
            turn, slab = divmod(number, len(self.slabs))
            yield slab, turn * self.piece_bytes, min(self.piece_bytes, size - begin)

    def _spread_pieces(self, spread: TensorSpread) -> Iterator[tuple[int, int, int]]:
        slabs = {slab.column: number for number, slab in enumerate(self.slabs)}
        for owner, begin, end in spread.runs():
            yield slabs[owner], spread.place(owner, begin) * spread.element_bytes, (end - begin) * spread.element_bytes

    def slab_bytes(self, size: int) -> list[int]:
        """The bytes in each slab."""
        if self.spread is not None:
            return [self.spread.window_bytes(slab.column) for slab in self.slabs]
        count, pieces = len(self.slabs), -(-size // self.piece_bytes)
        found = [-(-(pieces - slab) // count) * self.piece_bytes for slab in range(count)]
        found[(pieces - 1) % count] -= pieces * self.piece_bytes - size
        return found


@dataclass(frozen=True)
class HomeCandidate:
    """A way for a tensor to stay: made in phase `first`, read in `reads`; `saved_bytes` needn't go to and fro then.

    What is in DRAM as well is `brought` by that phase, and others but those may read it in DRAM.

    Its phases take `late_seconds` longer, or less than no time; `places` are the columns of its slabs, the best first.
    A slab has `slab_bytes` at most, in pieces of `piece_bytes`, and takes a channel in each of `moves`, phases and
    whether they write it.
    """

    number: int
    slab_bytes: int
    piece_bytes: int
    first: int
    reads: tuple[int, ...]
    saved_bytes: int
    late_seconds: float
    places: tuple[tuple[int, ...], ...]
    moves: tuple[tuple[int, bool], ...]
    in_place: bool = False
    brought: bool = False
    spread: TensorSpread | None = None

    @cached_property
    def last(self) -> int:
        return max(self.reads)


@dataclass(frozen=True)
class TileRoom:
    """The bytes of a memory tile, and what each phase itself needs in each column's; what it leaves beside it.

    `channels` are those that a phase leaves, by phase, column and whether they write there. DRAM takes `byte_seconds`
    for a byte.
    """

    bytes: int
    alignment_bytes: int
    needed: Mapping[tuple[int, int], int]
    channels: Mapping[tuple[int, int, bool], int]
    byte_seconds: float = 0.0

    def gained(self, one: HomeCandidate) -> float:
        """The time that a tensor's phases win, and DRAM, for what others bring, in that it stays."""
        return one.saved_bytes * self.byte_seconds - one.late_seconds

    def free(self, phase: int, column: int) -> int:
        return self.bytes - self.needed.get((phase, column), 0)


@dataclass(frozen=True)
class Residency:
    """The tensors that stay, by number, where and in which way; no choice saves more than `bound_bytes`."""

    homes: Mapping[int, Home]
    ways: Mapping[int, HomeCandidate]
    saved_bytes: int
    bound_bytes: int


def choose_homes(tensors: Sequence[Sequence[HomeCandidate]], room: TileRoom) -> Residency:
    """The homes that win most time, phases' and DRAM's, and take no longer in all, the best of a bounded search.

    Of each tensor there are ways to stay.
    """
    ordered = [sorted(ways, key=room.gained, reverse=True) for ways in tensors]
    ordered.sort(key=lambda ways: _worth(ways[0], room))
    options = [[(_way_of(one), room.gained(one), one.late_seconds) for one in ways] for ways in ordered]
    found, _ = _native.search_homes(options, _native_room(room), _MOST_CHOICES, _MOST_ORDERS, _MOST_CHANGES)
    homes, chosen = dict[int, Home](), dict[int, HomeCandidate]()
    for tensor, option, place, addresses in found:
        one = ordered[tensor][option]
        homes[one.number], chosen[one.number] = _home(one, place, addresses), one
    saved = sum(one.saved_bytes for one in chosen.values())
    return Residency(homes, chosen, saved, sum(max(one.saved_bytes for one in ways) for ways in tensors))


def home_beside(one: HomeCandidate, others: Mapping[HomeCandidate, Home], room: TileRoom) -> Home | None:
    """A home for a tensor in what others leave, the best of its places; None where there is none."""
    there = [
        (_way_of(other), [slab.column for slab in home.slabs], [slab.address for slab in home.slabs])
        for other, home in others.items()
    ]
    found = _native.home_beside(_way_of(one), there, _native_room(room))
    return None if found is None else _home(one, *found)


@once_of_object
def _way_of(one: HomeCandidate) -> _native.HomeWay:
    """What it takes of memory tiles."""
    return _native.HomeWay(one.slab_bytes, one.first, one.last, one.places, one.moves)


@once_of_object
def _native_room(room: TileRoom) -> _native.SlabRoom:
    """What is needed there and left, for the native search."""
    needed = [(*where, size) for where, size in room.needed.items()]
    channels = [(*where, left) for where, left in room.channels.items()]
    return _native.SlabRoom(room.bytes, room.alignment_bytes, needed, channels)


def _home(one: HomeCandidate, place: int, addresses: Sequence[int]) -> Home:
    """A tensor in one of its places."""
    slabs = tuple(map(Slab, one.places[place], addresses))
    return Home(slabs, one.piece_bytes, one.in_place, one.spread)


def _worth(one: HomeCandidate, room: TileRoom) -> tuple[bool, float, int]:
    """What takes no longer comes first, by what it wins; then what takes least longer for what it saves."""
    is_late = one.late_seconds > 0
    return is_late, one.late_seconds / max(1, one.saved_bytes) if is_late else -room.gained(one), one.number
