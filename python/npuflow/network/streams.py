"""Which tiles are sent the same as one stream of packets, and what such a stream brings. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from npuflow.network.phases import NOTHING_DIFFERS, Piece, Tile, TileChange


@dataclass(frozen=True)
class Differs:
    """What differs in a tile, and what it gets for that."""

    change: TileChange = NOTHING_DIFFERS
    pieces: frozenset[Piece] = frozenset()

    def __add__(self, other: Differs) -> Differs:
        return Differs(self.change + other.change, self.pieces | other.pieces)


OfTiles = Mapping[Tile, Differs]


def streams(programs: OfTiles, others: OfTiles, columns: int) -> tuple[TileChange, ...]:
    """What differs in tiles, with the tiles together that one stream reaches.

    The programs of tiles, and the rest of what they get, are one stream where these are the same tiles.
    """
    found = dict(_reached(programs, columns))
    for tiles, one in _reached(others, columns):
        found[tiles] = found.get(tiles, Differs()) + one
    return tuple(
        replace(one.change, columns=frozenset(column for _, _, column in tiles), tiles=len(tiles))
        for tiles, one in found.items()
    )


def _reached(differing: OfTiles, columns: int) -> Iterator[tuple[frozenset[Tile], Differs]]:
    """The tiles that get the same: any of a column, or the same rows of all columns; each alone if there are none."""
    if not columns:
        yield from ((frozenset({tile}), one) for tile, one in differing.items())
        return
    alike: dict[tuple[int, Differs], dict[int, list[Tile]]] = defaultdict(lambda: defaultdict(list))
    for tile, one in differing.items():
        alike[tile[0], one][tile[2]].append(tile)
    for (_, one), by_column in alike.items():
        rows = {frozenset(row for _, row, _ in tiles) for tiles in by_column.values()}
        if len(by_column) == columns and len(rows) == 1:
            yield frozenset(chain.from_iterable(by_column.values())), one
        else:
            yield from ((frozenset(tiles), one) for tiles in by_column.values())
