"""Tiles of one size, a step apart: what each needs of a value is again such steps, halo included. Pure.

Tile t of a value has its indices from `begin` + t * `step` on, `extent` of them. Other than spans, steps aren't cut off
where the value ends: what lies outside of it is there in every tile, so that all tiles are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.split.spans import Span
from npuflow.split.windows import SlidingWindow


@dataclass(frozen=True)
class Steps:
    """Where the tiles of a value begin, and how many indices each has."""

    step: int
    begin: int
    extent: int

    def span(self, tile: int, size: int) -> Span:
        """What a tile has of a value that has `size` indices."""
        begin = self.begin + tile * self.step
        first, last = max(0, min(begin, size)), max(0, min(begin + self.extent, size))
        return Span(first, last - first)

    def end(self, tiles: int) -> int:
        """One behind the last index of so many tiles."""
        return self.begin + (tiles - 1) * self.step + self.extent

    def read(self, window: SlidingWindow) -> Steps:
        """What the windows of these indices read; the padding counts as outside of the value."""
        begin = self.begin * window.stride - window.pad_before
        return Steps(self.step * window.stride, begin, (self.extent - 1) * window.stride + window.extent)

    def overhangs(self, tiles: int, size: int) -> bool:
        """Whether some tile has indices that the value hasn't."""
        return self.begin < 0 or self.end(tiles) > size
