"""A group mapped onto an array: tiles, the grid over them, the order of blocks, slots. Pure data.

A `Strategy` is how people and attributes say it, matmuls in their words and bundles in theirs; a `Mapping` is what both
mean, and what room, estimates and searches work on. What follows from it the native core finds
(`native/src/mapping.cpp`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from npuflow.strategy.group import BATCH, Group, M, MatmulOperand, N, Tiles
from npuflow.strategy.strategy import Sizes, Strategy


@dataclass(frozen=True)
class Spread:
    """The grid, and the loops of the space that its rows and columns follow."""

    grid: tuple[int, int]
    rows: int
    columns: int

    @property
    def loops(self) -> tuple[int, int]:
        return self.rows, self.columns

    def cores(self, loop: int) -> int:
        """Over how many cores a loop is spread."""
        return (self.grid[0] if loop == self.rows else 1) * (self.grid[1] if loop == self.columns else 1)

    def block(self, tiles: Tiles) -> list[int]:
        """The tiles of a whole block."""
        return [tile * self.cores(loop) for loop, tile in enumerate(tiles)]


@dataclass(frozen=True)
class Depths:
    """Slots of what comes in, in L2 and L1, and of results; a matmul's operands, and what its tail reads, may differ.

    With `hold`, what stays in L2 while the innermost loop over blocks steps is whole there, and comes into L1 from it
    in pieces of streamed loops. `between` is for what matrix and vector engines hand to each other: with two slots they
    work side by side, on different tiles.
    """

    l2: int = 2
    l1: int = 2
    result: int = 1
    hold: bool = False
    lhs: Sizes = ()
    rhs: Sizes = ()
    tail: int = 1
    between: int = 1

    def of(self, operand: MatmulOperand | None) -> tuple[int, int]:
        """Slots in L2 and in L1 of what comes in."""
        if operand is MatmulOperand.START:
            return 1, 0
        if operand is MatmulOperand.TAIL:
            return self.tail, self.tail
        own = self.lhs if operand is MatmulOperand.LHS else self.rhs if operand is MatmulOperand.RHS else ()
        return (own[0], own[1]) if own else (self.l2, self.l1)


@dataclass(frozen=True)
class Mapping:
    """How a group might be mapped: a core's tile of every loop, and in `in_l2` the pieces of streamed loops there.

    With `whole`, L2 has all of these pieces of what comes in at a time.
    """

    tiles: Sizes
    spread: Spread
    depths: Depths
    order: Sizes
    in_l2: Sizes = ()
    pack: Sizes = ()
    whole: bool = False


def mapping_of(group: Group, strategy: Strategy, *, whole_k: bool = False) -> Mapping:
    """What a complete strategy means for a group; with `whole_k`, all of a matmul's K is in L2."""
    if not group.packed:
        tiles = [*strategy.tile_l1, *group.sizes[group.space :]]
        for loop, tile in zip(group.streamed, strategy.stream):
            tiles[loop] = tile
        return Mapping(tuple(tiles), spread_of(strategy), slots_of(strategy), strategy.order, strategy.stream_l2)
    m, n, k = strategy.tile_l1
    spread, slots, order, in_l2 = spread_of(strategy), slots_of(strategy), (BATCH, M, N), (strategy.tile_l2[2],)
    return Mapping((m, n, 1, k), spread, slots, order, in_l2, strategy.pack, whole_k)


def spread_of(strategy: Strategy) -> Spread:
    """The loops that the array's rows and columns follow: a matmul's go along m and n."""
    rows, columns = strategy.spread or ((N, M) if strategy.turned else (M, N))
    return Spread(strategy.array, rows, columns)


def slots_of(strategy: Strategy) -> Depths:
    """Slots of a group's buffers; one each where nothing is said."""
    return Depths(
        strategy.depth_l2 or 1,
        strategy.depth_l1 or 1,
        strategy.depth_result or 1,
        bool(strategy.hold),
        strategy.depth_lhs,
        strategy.depth_rhs,
        strategy.depth_tail or 1,
        strategy.depth_between or 1,
    )


def strategy_of(group: Group, mapping: Mapping, given: Strategy) -> Strategy:
    """How a group's strategy says a mapping, beside what is given."""
    spread, depths = mapping.spread, mapping.depths
    if not group.packed:
        stream = tuple(mapping.tiles[loop] for loop in group.streamed)
        return Strategy(
            grid=spread.grid,
            spread=(spread.rows, spread.columns),
            tile_l1=mapping.tiles[: group.space],
            order=mapping.order,
            stream=stream,
            stream_l2=() if mapping.in_l2 == stream else mapping.in_l2,
            depth_result=depths.result,
            gather=1 if group.gathers else None,
            hold=1 if depths.hold else None,
            depth_between=depths.between if depths.between > 1 else None,
            depth_l2=depths.l2,
            depth_l1=depths.l1,
        )
    m, n, _, k = mapping.tiles
    along_m, along_n = spread.cores(M), spread.cores(N)
    return replace(
        given,
        grid=(along_m, along_n),
        tile_l2=given.tile_l2 or (m * along_m, n * along_n, *mapping.in_l2),
        tile_l1=(m, n, k),
        pack=mapping.pack,
        turned=given.turned if spread.rows == M else 1,
        depth_result=given.depth_result or (depths.result if depths.result > 1 else None),
        depth_tail=given.depth_tail or (depths.tail if depths.tail > 1 else None),
        depth_between=given.depth_between or (depths.between if depths.between > 1 else None),
        depth_l2=depths.l2,
        depth_l1=depths.l1,
    )
