"""In which order a systolic array goes through the tiles of a matmul, or of two that are fused. Pure.

Four results are worked on side by side: of each tile of the reduction, the array does one step for each of them before
it goes on to the next tile. Every step's operands come from DRAM for that step alone, whoever had them before. Of a
fused pair, the results are rows of blocks: first all of the intermediate result of each, summed up over K, then what it
gives, summed up over L; so it never leaves the chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias, TypeVar

SIDE_BY_SIDE = 4

Result = TypeVar("Result")


@dataclass(frozen=True)
class Tile:
    """A piece of a matrix: its first row and column, and how many there are of each."""

    matrix: str
    row: int
    column: int
    rows: int
    columns: int

    @property
    def elements(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True)
class TileStep:
    """What the array does at once, `result += lhs x rhs`, for one of the results that are worked on side by side.

    The first step on a result begins with zero, the last one ends it.
    """

    place: int
    lhs: Tile
    rhs: Tile
    result: Tile
    begins: bool
    ends: bool


@dataclass(frozen=True)
class SingleMatmul:
    """C[M,N] = A[M,K] B[K,N], in tiles."""

    m: int
    k: int
    n: int
    tile_m: int
    tile_k: int
    tile_n: int

    @property
    def inputs(self) -> dict[str, tuple[int, int]]:
        return {"A": (self.m, self.k), "B": (self.k, self.n)}

    @property
    def result(self) -> tuple[str, tuple[int, int]]:
        return "C", (self.m, self.n)

    @property
    def macs(self) -> int:
        return self.m * self.k * self.n

    @property
    def count(self) -> int:
        """How many steps there are."""
        return prod((-(-self.m // self.tile_m), -(-self.k // self.tile_k), -(-self.n // self.tile_n)))

    def steps(self) -> Iterator[TileStep]:
        rows, columns = _pieces(self.m, self.tile_m), _pieces(self.n, self.tile_n)
        summed = _pieces(self.k, self.tile_k)
        for group in _groups(list(product(rows, columns))):
            for (k, depth), (place, ((m, height), (n, width))) in product(summed, enumerate(group)):
                lhs, rhs = Tile("A", m, k, height, depth), Tile("B", k, n, depth, width)
                yield TileStep(place, lhs, rhs, Tile("C", m, n, height, width), k == 0, k + depth == self.k)


@dataclass(frozen=True)
class FusedPair:
    """E[M,N] = (A[M,K] B[K,L]) D[L,N], `tile_m` rows at a time; C = A B stays on the chip."""

    m: int
    k: int
    l: int  # noqa: E741  (the name that the measurements have for it)
    n: int
    tile_m: int
    tile_k: int
    tile_l: int

    @property
    def inputs(self) -> dict[str, tuple[int, int]]:
        return {"A": (self.m, self.k), "B": (self.k, self.l), "D": (self.l, self.n)}

    @property
    def result(self) -> tuple[str, tuple[int, int]]:
        return "E", (self.m, self.n)

    @property
    def macs(self) -> int:
        return self.m * self.l * (self.k + self.n)

    @property
    def count(self) -> int:
        """How many steps there are."""
        return -(-self.m // self.tile_m) * (-(-self.k // self.tile_k) + -(-self.l // self.tile_l))

    def steps(self) -> Iterator[TileStep]:
        first, second = _pieces(self.k, self.tile_k), _pieces(self.l, self.tile_l)
        for group in _groups(_pieces(self.m, self.tile_m)):
            for (k, depth), (place, (m, height)) in product(first, enumerate(group)):
                lhs, rhs = Tile("A", m, k, height, depth), Tile("B", k, 0, depth, self.l)
                yield TileStep(place, lhs, rhs, Tile("C", m, 0, height, self.l), k == 0, k + depth == self.k)
            for (l, depth), (place, (m, height)) in product(second, enumerate(group)):  # noqa: E741
                lhs, rhs = Tile("C", m, l, height, depth), Tile("D", l, 0, depth, self.n)
                yield TileStep(place, lhs, rhs, Tile("E", m, 0, height, self.n), l == 0, l + depth == self.l)


TiledWork: TypeAlias = SingleMatmul | FusedPair


def _pieces(size: int, tile: int) -> list[tuple[int, int]]:
    """Begin and length of each tile of a dimension; the last one is what is left."""
    return [(begin, min(tile, size - begin)) for begin in range(0, size, tile)]


def _groups(results: Sequence[Result]) -> Iterator[Sequence[Result]]:
    for begin in range(0, len(results), SIDE_BY_SIDE):
        yield results[begin : begin + SIDE_BY_SIDE]
