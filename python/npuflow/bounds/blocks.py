"""Block sizes that are worth trying: of those that cut an extent into as many blocks, the smallest one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Attained:
    """The least that a family of schedules moves: what stays in the fast memory, and its extents."""

    bytes: int
    stays: str
    block: tuple[int, ...]


def bytes_of(found: Attained | None) -> int | None:
    """What the best blocks move, if there are any."""
    return None if found is None else found.bytes


def blocks_of(extent: int, block: int) -> int:
    return -(-extent // block)


def block_sizes(extent: int, most: int) -> Iterator[int]:
    """From the largest on, for each number of blocks the smallest size that makes so many; at most `most`."""
    size = min(extent, most)
    while size > 0:
        smallest = blocks_of(extent, blocks_of(extent, size))
        yield smallest
        size = smallest - 1


def least(found: list[Attained | None]) -> Attained | None:
    """The one that moves least, the first of those that move alike."""
    return min((one for one in found if one is not None), key=lambda one: one.bytes, default=None)


def most_columns(rows: int, width: int, along_rows: int, along_columns: int, room: int) -> int:
    """Columns of a block of elements of `width` that stays, beside what comes for it.

    That is an element for each row, `along_rows` wide, and single ones for columns, or the other way round.
    """
    of_rows = (room - rows * along_rows - along_columns) // (rows * width)
    of_columns = (room - along_rows) // (rows * width + along_columns)
    return max(of_rows, of_columns)
