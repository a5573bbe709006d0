"""How measured designs without matrix instructions are built: their grids and tiles, and what they work on. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import ceil

from npuflow.ops.products import largest_divisor
from npuflow.validate.measurements import ELEMENT_BYTES, Measurement

# Operators that work on rows of M x N elements; a tile is so many rows, one where a measurement doesn't say.
ROW_OPS = ("rmsnorm", "layernorm", "softmax", "rope")
_BLOCK_ROWS = re.compile(r"rows per column per launch (?P<rows>[1-9]\d{0,8})\b")


@dataclass(frozen=True)
class VectorDesign:
    """How one row is built: a bundle's grid and tile, and the slots of what comes in, in L2 and L1.

    So many tiles as are `folded` are one task for each channel, and waited for; 0: all are set up ahead.
    """

    grid: tuple[int, int]
    tile_l1: tuple[int, ...]
    depth: int
    folded: int = 0

    @property
    def strategy(self) -> str:
        fields = {
            "grid": list(self.grid),
            "tile_l1": list(self.tile_l1),
            "depth_l1": self.depth,
            "depth_l2": self.depth,
        }
        return f"#npu.strategy<{{{', '.join(f'{name} = {value}' for name, value in fields.items())}}}>"


def vector_design_of(row: Measurement) -> VectorDesign:
    """A tile of rows is one row where nothing is said.

    The slots of a matrix-vector product are its stack's, as is what it folds, unless the note says otherwise.
    """
    tile = row.l1_m or 1 if row.op in ROW_OPS else row.l1_m
    if row.op == "rope":
        tile *= row.n
    if row.op != "matvec":
        return VectorDesign((row.rows, row.cols), (tile,), 2)
    depth = 2 if "A double-buffered" in row.note else row.stack.matvec_depth
    return VectorDesign((row.rows, row.cols), (tile,), depth, _folded(row))


def spread(row: Measurement, columns: int) -> Measurement:
    """The row on as many columns as its cores can stand in, where its stack goes straight from DRAM to L1.

    Such streams take the channels of shims one after the other: which column their core stands in plays no part. Here
    they pass the memory tiles of their columns, and cores of one column would take turns at these.
    """
    if row.op == "matvec" or not row.stack.straight:
        return row
    cores = row.rows * row.cols
    taken = largest_divisor(cores, columns)
    return replace(row, rows=cores // taken, cols=taken)


def _folded(row: Measurement) -> int:
    """The tiles of a matrix-vector product that are one task: of as many blocks as its stack folds of those there are.

    A block is a tile for each core, or as many as the note's rows are.
    """
    said = _BLOCK_ROWS.search(row.note)
    tiles = max(1, int(said["rows"]) // row.l1_m) if said else 1
    return row.stack.blocks_folded(ceil(row.m / (row.l1_m * tiles * row.rows * row.cols))) * tiles


def lacks_sizes(row: Measurement) -> bool:
    """Whether a row leaves out a size that its operator needs: of its shape, tile or grid."""
    if not (row.rows and row.cols):
        return True
    if row.op in ROW_OPS:
        return not row.n
    return not row.l1_m or (row.op == "matvec" and not row.k)


def vector_work(row: Measurement) -> int:
    """Multiplications of a matrix-vector product, elements of anything else."""
    return row.m * max(1, row.k) * max(1, row.n)


def vector_traffic_bytes(row: Measurement) -> int:
    """What is read and written at least."""
    elements = {
        "matvec": row.m * row.k + row.k + row.m,
        "rmsnorm": 2 * row.m * row.n + row.n,
        "layernorm": 2 * (row.m * row.n + row.n),
        "softmax": 2 * row.m * row.n,
        "rope": 3 * row.m * row.n,
        "gelu": 2 * row.m,
    }
    return elements.get(row.op, 3 * row.m) * ELEMENT_BYTES[row.in_type]
