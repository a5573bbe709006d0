"""What a search may change in a mapping: sizes of tiles and of pieces in L2, and slots. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from npuflow.ops.products import padded
from npuflow.strategy.mapping import Mapping
from npuflow.strategy.space import Space

_FURTHER = 8  # sizes that divide a share are looked for up to so many times a size


@dataclass(frozen=True)
class Neighbours:
    """Of mappings of a space. A place is a loop's tile, or behind all loops a streamed one's piece in L2."""

    space: Space

    @cached_property
    def places(self) -> tuple[int, ...]:
        """What may change its size."""
        return (*self.space.open, *self.in_l2)

    @cached_property
    def in_l2(self) -> tuple[int, ...]:
        """The places of pieces in L2."""
        loops = len(self.space.group.sizes)
        return tuple(range(loops, loops + len(self.space.group.streamed))) if self.space.opens_l2 else ()

    def size(self, candidate: Mapping, place: int) -> int:
        return (*candidate.tiles, *candidate.in_l2)[place]

    def room(self, candidate: Mapping, place: int) -> tuple[int, int]:
        """The steps in which a size changes, and the most that it can be."""
        loops, streamed = len(candidate.tiles), self.space.group.streamed
        if place < loops:
            return self.space.units[place], self.space.share(candidate, place)
        unit = candidate.tiles[streamed[place - loops]]
        return unit, padded(self.space.group.sizes[streamed[place - loops]], unit)

    def resized(self, candidate: Mapping, place: int, size: int) -> Mapping:
        """The candidate with another size; pieces in L2 are made of tiles."""
        loops, streamed, in_l2 = len(candidate.tiles), self.space.group.streamed, list(candidate.in_l2)
        if place >= loops:
            in_l2[place - loops] = size
            return replace(candidate, in_l2=tuple(in_l2))
        if place in streamed and self.space.opens_l2:
            number, whole = streamed.index(place), self.space.group.sizes[place]
            parts = -(-whole // in_l2[number])
            in_l2[number] = padded(-(-whole // parts), size)
        return replace(candidate.with_tile(place, size), in_l2=tuple(in_l2))

    def streaming(self, candidate: Mapping, loop: int, size: int) -> Mapping:
        """The candidate with such pieces of a streamed loop, of which L2 has one at a time where that is open."""
        resized = self.resized(candidate, loop, size)
        place = len(candidate.tiles) + self.space.group.streamed.index(loop)
        return self.resized(resized, place, size) if self.space.opens_l2 else resized

    def larger(self, candidate: Mapping) -> Iterator[Mapping]:
        for place in self.places:
            unit, most = self.room(candidate, place)
            for size in _next_sizes(self.size(candidate, place), most, unit):
                yield self.resized(candidate, place, size)

    def changed(self, candidate: Mapping) -> Iterator[tuple[Mapping, tuple[int, ...]]]:
        """The candidate with one change, and where room may be made for it.

        One size is larger and another one cut, L2 has less of a loop at a time, or slots are given away or taken.
        """
        for place in self.places:
            size, (unit, most) = self.size(candidate, place), self.room(candidate, place)
            for larger in sorted({_tightest(size, most, unit), min(2 * size, most)}) if size < most else ():
                grown = self.resized(candidate, place, larger)
                cut = ((self.smaller(grown, other), other) for other in self.places if other != place)
                yield from ((changed, self.places) for changed, other in cut if changed is not None)
        shorter = (self._shorter(candidate, place) for place in self.in_l2)
        yield from ((changed, self.places) for changed in shorter if changed is not None)
        depths = candidate.depths
        for name in self.space.slots:
            yield replace(candidate, depths=depths.with_other(name)), self.places

    def _shorter(self, candidate: Mapping, place: int) -> Mapping | None:
        """The candidate with more and shorter pieces of a streamed loop in L2, and a tile that divides them."""
        loop = self.space.group.streamed[place - len(candidate.tiles)]
        size, whole, unit = self.size(candidate, place), self.space.group.sizes[loop], self.space.units[loop]
        parts = -(-whole // size)
        piece, tile = padded(-(-whole // (parts + max(1, parts // 2))), unit), candidate.tiles[loop]
        if piece >= size or loop not in self.space.open:
            return self.smaller(candidate, place)
        tile = next(tile for tile in range(min(tile, piece) // unit * unit, 0, -unit) if piece % tile == 0)
        return self.resized(self.resized(candidate, loop, tile), place, piece)

    def smaller(self, candidate: Mapping, place: int) -> Mapping | None:
        """The candidate with the next smaller size, of somewhat more equal parts; None where it is the smallest."""
        size, (unit, most) = self.size(candidate, place), self.room(candidate, place)
        parts = -(-most // size)
        cut = min(padded(-(-most // (parts + max(1, parts // 2))), unit), padded(size, unit) - unit)
        return self.resized(candidate, place, cut) if cut > 0 else None


def _next_sizes(size: int, share: int, unit: int) -> set[int]:
    """Twice the size, the next that divides the whole share, and those that cut it into equal parts just above."""
    if size >= share:
        return set()
    parts = -(-share // size)
    equal = (-(-share // max(1, parts - 1)), -(-share // max(1, parts // 2)), 2 * size)
    steps, whole = size // unit, share // unit
    divisor = next((d for d in range(steps + 1, min(whole, _FURTHER * steps) + 1) if whole % d == 0), whole)
    return {min(padded(one, unit), share) for one in equal} | {divisor * unit, share}


def _tightest(size: int, share: int, unit: int) -> int:
    """Of the sizes up to twice a size, that which cuts a share with the least left over; the largest of equals."""
    sizes = range(size + unit, min(2 * size, share + unit), unit)
    return min(sizes, key=lambda one: (padded(share, one), -one), default=min(2 * size, share))
