"""Which tensors between phases stay on the chip, each in slabs, and where in them. Pure.

A home is at its tiles, or clusters, from the phase that makes the tensor, or brings it from DRAM, to the last that
reads it there, above what phases themselves need. In a phase, a slab may take a channel of its tile that the phase
leaves alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from npuflow.network.spread import TensorSpread

# Of choices that are looked at; networks whose tensors all have a home take one for each tensor.
_MOST_CHOICES = 5_000
# Of orders that are tried where that doesn't settle it, and of changes to the best of them.
_MOST_ORDERS = 200
_MOST_CHANGES = 1000
# What a change has to win.
_LEAST_SECONDS = 1e-9


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

    def channels(self, place: tuple[int, ...]) -> tuple[tuple[int, int, bool], ...]:
        """The channels that its slabs take in a place: by phase, column and whether they write there."""
        if place not in self._channels:
            self._channels[place] = tuple((phase, column, writes) for column in place for phase, writes in self.moves)
        return self._channels[place]

    @cached_property
    def _channels(self) -> dict[tuple[int, ...], tuple[tuple[int, int, bool], ...]]:
        return {}


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

    def least_address(self, first: int, last: int, column: int) -> int:
        """The end of what phases from one to another need in a column's."""
        asked = first, last, column
        if asked not in self._least:
            self._least[asked] = max(self.needed.get((phase, column), 0) for phase in range(first, last + 1))
        return self._least[asked]

    @cached_property
    def _least(self) -> dict[tuple[int, int, int], int]:
        return {}


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
    ways = [sorted(ways, key=room.gained, reverse=True) for ways in tensors]
    found = _HomeChoice(sorted(ways, key=lambda ways: _worth(ways[0], room)), room)
    found.search(0, (), 0.0, 0.0)
    if found.looked >= _MOST_CHOICES:
        found.reorder()
    found.improve()
    homes = {placed.one.number: placed.home for placed in found.best}
    chosen = {placed.one.number: placed.one for placed in found.best}
    saved = sum(one.saved_bytes for one in chosen.values())
    return Residency(homes, chosen, saved, sum(max(one.saved_bytes for one in ways) for ways in tensors))


def home_beside(one: HomeCandidate, others: Mapping[HomeCandidate, Home], room: TileRoom) -> Home | None:
    """A home for a tensor in what others leave, the best of its places; None where there is none."""
    housed = [
        _HousedTensor(other, tuple(slab.column for slab in home.slabs), tuple(slab.address for slab in home.slabs))
        for other, home in others.items()
    ]
    found = _beside(housed, room).placed(one)
    return None if found is None else found.home


def _beside(housed: Sequence[_HousedTensor], room: TileRoom) -> _HomeChoice:
    """A choice beside tensors that have their homes."""
    found = _HomeChoice((), room)
    for placed in housed:
        found.move(placed, 1)
    return found


def _are_near(placed: _HousedTensor, one: HomeCandidate, place: Sequence[int]) -> bool:
    """Whether a tensor may be in the way of another in a place: at the same time in the same memories."""
    return placed.one.first <= one.last and one.first <= placed.one.last and not {*placed.place}.isdisjoint(place)


def _worth(one: HomeCandidate, room: TileRoom) -> tuple[bool, float, int]:
    """What takes no longer comes first, by what it wins; then what takes least longer for what it saves."""
    is_late = one.late_seconds > 0
    return is_late, one.late_seconds / max(1, one.saved_bytes) if is_late else -room.gained(one), one.number


def _won(ways: Sequence[HomeCandidate]) -> float:
    """The time that a tensor may make others take: less than nothing, or nothing."""
    return min(0.0, *(one.late_seconds for one in ways))


@dataclass(frozen=True)
class _HousedTensor:
    """A candidate's slabs: the address of each, in the columns of its place."""

    one: HomeCandidate
    place: tuple[int, ...]
    addresses: tuple[int, ...]

    @property
    def home(self) -> Home:
        one = self.one
        return Home(tuple(map(Slab, self.place, self.addresses)), one.piece_bytes, one.in_place, one.spread)


@dataclass
class _HomeChoice:
    """Depth-first: each tensor in each way and place, or nowhere; what can't win more than the best so far is left.

    `moving` are the slabs of what is chosen that are moved, by phase, column and way, and `lying` all of these by
    column: the first and the last phase in which one is there, and its bytes.
    """

    tensors: Sequence[Sequence[HomeCandidate]]
    room: TileRoom
    best: Sequence[_HousedTensor] = ()
    gained: float = -1.0
    looked: int = 0
    moving: dict[tuple[int, int, bool], int] = field(default_factory=lambda: defaultdict(int))
    lying: dict[int, list[tuple[int, int, int, int]]] = field(default_factory=lambda: defaultdict(list))

    def search(self, index: int, chosen: tuple[_HousedTensor, ...], gained: float, late: float) -> None:
        most, won = self._left[index]
        if gained + most <= self.gained + _LEAST_SECONDS or self.looked >= _MOST_CHOICES or late + won > 0:
            return
        self.looked += 1
        if index == len(self.tensors):
            self.best, self.gained = chosen, gained
            return
        for placed in (placed for way in self.tensors[index] for placed in self.ways(way)):
            one = placed.one
            self.move(placed, 1)
            self.search(index + 1, (*chosen, placed), gained + self.room.gained(one), late + one.late_seconds)
            self.move(placed, -1)
        self.search(index + 1, chosen, gained, late)

    @cached_property
    def _left(self) -> Sequence[tuple[float, float]]:
        """What the tensors from each on may gain at most, and the time that they may make others take."""
        rests = [self.tensors[index:] for index in range(len(self.tensors) + 1)]
        return [(sum(map(self._most_gained, rest)), sum(map(_won, rest))) for rest in rests]

    def _most_gained(self, ways: Sequence[HomeCandidate]) -> float:
        return max(0.0, self.room.gained(ways[0]))

    def reorder(self) -> None:
        """Gives tensors the first place that is left, in many orders: those that found none come first in the next."""
        order, tried = tuple(self.tensors), set[tuple[int, ...]]()
        while len(tried) < _MOST_ORDERS and (numbers := tuple(ways[0].number for ways in order)) not in tried:
            tried.add(numbers)
            chosen = self._in_order(order)
            for placed in chosen:
                self.move(placed, -1)
            gained = self._gained(chosen)
            if gained > self.gained and sum(placed.one.late_seconds for placed in chosen) <= 0:
                self.best, self.gained = chosen, gained
            stay = {placed.one.number for placed in chosen}
            order = tuple(sorted(order, key=lambda ways: ways[0].number in stay))

    def improve(self) -> None:
        """Gives tensors other places as long as that wins something, and one that is in the way another, or none."""
        waiting, looked = list(self.tensors), 0
        while waiting and looked < _MOST_CHANGES:
            better = self._better(waiting.pop(0))
            looked += 1
            if better is not None:
                self.best, self.gained = better, self._gained(better)
                waiting = list(self.tensors)

    def _better(self, ways: Sequence[HomeCandidate]) -> list[_HousedTensor] | None:
        """What wins more than the best so far, with a tensor in another place than there."""
        now = [placed for placed in self.best if placed.one.number == ways[0].number]
        for way, place in ((one, place) for one in ways for place in one.places):
            near = [placed for placed in self.best if placed not in now and _are_near(placed, way, place)]
            for away in ([], *([placed] for placed in near)):
                others = self._others(away)
                most = self.room.gained(way) + sum(self._most_gained(ways) for ways in others)
                if most <= self._gained([*now, *away]) + _LEAST_SECONDS:
                    continue
                found = self._with([placed for placed in self.best if placed not in (*now, *away)], way, place, others)
                late = sum(placed.one.late_seconds for placed in found)
                if late <= 0 and self._gained(found) > self.gained + _LEAST_SECONDS:
                    return found
        return None

    def _others(self, away: Sequence[_HousedTensor]) -> list[Sequence[HomeCandidate]]:
        return [ways for ways in self.tensors if any(placed.one.number == ways[0].number for placed in away)]

    def _with(
        self,
        housed: list[_HousedTensor],
        way: HomeCandidate,
        place: tuple[int, ...],
        others: Sequence[Sequence[HomeCandidate]],
    ) -> list[_HousedTensor]:
        """Tensors and one more in a place, then others wherever these leave them one; none where that has no room."""
        beside = _beside(housed, self.room)
        placed = beside.housed(way, place, {})
        if placed is None:
            return []
        found = [*housed, placed]
        beside.move(placed, 1)
        for ways in others:
            again = next((one for each in ways if (one := beside.placed(each)) is not None), None)
            if again is not None:
                found.append(again)
                beside.move(again, 1)
        return found

    def _gained(self, housed: Iterable[_HousedTensor]) -> float:
        return sum(self.room.gained(placed.one) for placed in housed)

    def _in_order(self, order: Sequence[Sequence[HomeCandidate]]) -> list[_HousedTensor]:
        """Each tensor in the first place that others leave it, where all together need take no longer."""
        chosen = list[_HousedTensor]()
        late = sum(map(_won, order))
        for ways in order:
            late -= _won(ways)
            fast = (one for one in ways if late + one.late_seconds <= 0)
            placed = next((found for one in fast if (found := self.placed(one)) is not None), None)
            if placed is not None:
                late += placed.one.late_seconds
                chosen.append(placed)
                self.move(placed, 1)
        return chosen

    def placed(self, one: HomeCandidate) -> _HousedTensor | None:
        """A tensor in the first of its places that others leave it."""
        return next(self.ways(one), None)

    def ways(self, one: HomeCandidate) -> Iterator[_HousedTensor]:
        """A tensor in each of its places that others leave it, as long as these are the same."""
        known = dict[int, int | None]()
        return (way for place in one.places if (way := self.housed(one, place, known)) is not None)

    def housed(self, one: HomeCandidate, place: tuple[int, ...], known: dict[int, int | None]) -> _HousedTensor | None:
        """A tensor in a place; None where others leave it none. `known` are its addresses by column."""
        moving, channels = self.moving, self.room.channels
        for way in one.channels(place):
            if moving[way] >= channels.get(way, 0):
                return None
        addresses = []
        for column in place:
            address = known[column] if column in known else known.setdefault(column, self._address(one, column))
            if address is None:
                return None
            addresses.append(address)
        return _HousedTensor(one, place, tuple(addresses))

    def _address(self, one: HomeCandidate, column: int) -> int | None:
        """The highest address in a tile that neither a tensor's phases need nor what is at home at the same time."""
        size, alignment, first, last = self._size(one), self.room.alignment_bytes, one.first, one.last
        least = self.room.least_address(first, last, column)
        others = [(low, high) for begin, end, low, high in self.lying[column] if begin <= last and first <= end]
        for top in sorted({self.room.bytes, *(begin for begin, _ in others)}, reverse=True):
            address = (top - size) // alignment * alignment
            if address < least:
                return None
            for begin, end in others:
                if begin < address + size and address < end:
                    break
            else:
                return address
        return None

    def move(self, placed: _HousedTensor, sign: int) -> None:
        """Takes the channels and the bytes of a tensor's slabs, or gives them back."""
        one, size = placed.one, self._size(placed.one)
        for way in one.channels(placed.place):
            self.moving[way] += sign
        for column, address in dict(zip(reversed(placed.place), reversed(placed.addresses))).items():
            slab = one.first, one.last, address, address + size
            if sign > 0:
                self.lying[column].append(slab)
            else:
                self.lying[column].remove(slab)

    def _size(self, one: HomeCandidate) -> int:
        return -(-one.slab_bytes // self.room.alignment_bytes) * self.room.alignment_bytes
