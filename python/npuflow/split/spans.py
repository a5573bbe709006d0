"""Splitting an axis into tiles: evenly, one more for the first ones where that doesn't come out, or aligned. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from npuflow.errors import InputError, with_hint

# More than anybody wants to see.
MOST_TILES = 100_000


@dataclass(frozen=True, order=True)
class Span:
    """Indices from `begin` on, `size` of them."""

    begin: int
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size

    def joined(self, other: Span) -> Span:
        """All from the first of both to the last of both."""
        begin, end = min(self.begin, other.begin), max(self.end, other.end)
        return Span(begin, end - begin)


def split_sizes(size: int, tiles: int, alignment: int = 1) -> tuple[int, ...]:
    """The sizes of an axis's tiles; raises InputError where there is nothing left for the last one.

    The first `size` mod `tiles` have one more than the others. With an alignment, all but the last are the next
    multiple of it, and the last has what is left.
    """
    if tiles < 1 or size < 1 or alignment < 1:
        what = f"{size} in {tiles} tiles, aligned to {alignment}"
        raise InputError(with_hint(what, "sizes, tiles and alignments are 1 at least"))
    if tiles > MOST_TILES:
        raise InputError(with_hint(f"{tiles} tiles", f"at most {MOST_TILES}"))
    if alignment == 1:
        least, more = divmod(size, tiles)
        sizes = (*[least + 1] * more, *[least] * (tiles - more))
    else:
        whole = _aligned(size, tiles, alignment)
        sizes = (*[whole] * (tiles - 1), size - whole * (tiles - 1))
    if sizes[-1] <= 0:
        aligned = f", aligned to {alignment}" if alignment > 1 else ""
        what = f"{size} in {tiles} tiles{aligned} leaves {sizes[-1]} for the last one"
        raise InputError(with_hint(what, f"at most {_most_tiles(size, tiles, alignment)} tiles"))
    return sizes


def split_axis(size: int, tiles: int, alignment: int = 1) -> tuple[Span, ...]:
    """The tiles of an axis, one after the other."""
    found, begin = [], 0
    for each in split_sizes(size, tiles, alignment):
        found.append(Span(begin, each))
        begin += each
    return tuple(found)


def _aligned(size: int, tiles: int, alignment: int) -> int:
    """All tiles but the last one."""
    return ceil(Fraction(ceil(Fraction(size, tiles)), alignment)) * alignment


def _most_tiles(size: int, tiles: int, alignment: int) -> int:
    """The most tiles below `tiles` that leave something for the last one."""
    for fewer in range(min(tiles, size), 1, -1):
        if size > _aligned(size, fewer, alignment) * (fewer - 1):
            return fewer
    return 1
