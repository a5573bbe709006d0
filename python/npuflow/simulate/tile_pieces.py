"""How memory tiles share a tensor: pieces of so many bytes in turn, if they do. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.places import Places


@dataclass(frozen=True)
class TilePieces:
    """The columns whose tiles have a tensor's pieces of so many bytes in turn."""

    columns: tuple[int, ...]
    piece_bytes: int


def pieces_of_tiles(columns: Places, element_bytes: int) -> TilePieces:
    """By the column that has each element, -1 for none; raises NotAtHomeError where these aren't pieces in turn."""
    changes = np.flatnonzero(np.diff(columns)) + 1
    piece = int(changes[0]) if len(changes) else len(columns)
    turn = tuple(dict.fromkeys(columns[::piece].tolist()))
    dealt = np.repeat(np.resize(turn, -(-len(columns) // piece)), piece)[: len(columns)]
    if -1 in turn or not np.array_equal(dealt, columns):
        raise NotAtHomeError("tiles have other parts of it than pieces in turn")
    return TilePieces(turn, piece * element_bytes)
