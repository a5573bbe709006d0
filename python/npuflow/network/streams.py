"""Which tiles are sent the same as one stream of packets, and what such a stream brings. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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
    alike: dict[tuple[int, Differs], list[Tile]] = defaultdict(list)
    for tile, one in differing.items():
        alike[tile[0], one].append(tile)
    for (_, one), tiles in alike.items():
        rows: dict[int, set[int]] = defaultdict(set)
        for _, row, column in tiles:
            rows[column].add(row)
        if len(rows) == columns and all(its == rows[0] for its in rows.values()):
            yield frozenset(tiles), one
            continue
        for own in [[tile for tile in tiles if tile[2] == c] for c in rows] if columns else [[tile] for tile in tiles]:
            yield frozenset(own), one
