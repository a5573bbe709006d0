"""How much of L1 and L2 a strategy needs, buffer by buffer. Pure arithmetic.

The names and sizes are those of the buffers that the pipelines really allocate; `test/strategy` holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npuflow.ops.products import padded
from npuflow.strategy.strategy import Strategy
from npuflow.strategy.vector_cycles import VectorWork


@dataclass(frozen=True)
class TailOperand:
    """A tensor that the tail reads beside the sum, and whether it varies along m and n."""

    along_m: bool
    along_n: bool
    element_bytes: int

    def slot_descriptors(self, rows: int) -> int:
        """What a slot takes in a memory tile: one to be filled, and one for every part that it is emptied in."""
        return 1 + (rows if self.along_m and self.along_n else 1)

    def bytes(self, m: int, n: int) -> int:
        return (m if self.along_m else 1) * (n if self.along_n else 1) * self.element_bytes


@dataclass(frozen=True)
class Problem:
    """One matmul group: sizes in elements, element sizes in bytes, types by MLIR name.

    A sum that is not filled continues a given one, which comes in through L2. `rhs_along_k` says that the right
    operand's elements lie side by side along k; `tail` is what is done with the sums.
    """

    m: int
    n: int
    k: int
    batch: int
    types: tuple[str, str, str]
    lhs_bytes: int
    rhs_bytes: int
    acc_bytes: int
    result_bytes: int
    has_tail: bool = False
    is_filled: bool = True
    tail_operands: tuple[TailOperand, ...] = ()
    rhs_along_k: bool = False
    tail: VectorWork | None = None


@dataclass(frozen=True)
class Buffer:
    """A buffer of `depth` slots."""

    name: str
    slot_bytes: int
    depth: int = 1

    @property
    def bytes(self) -> int:
        return self.slot_bytes * self.depth

    def __str__(self) -> str:
        return f"{self.name} {self.depth}x{self.slot_bytes}" if self.depth > 1 else f"{self.name} {self.slot_bytes}"


def l1_buffers(problem: Problem, strategy: Strategy) -> tuple[Buffer, ...]:
    """The buffers in one core's L1."""
    m, n, k = strategy.tile_l1
    buffers = [
        Buffer("lhs", m * k * problem.lhs_bytes, strategy.slots_lhs[1]),
        Buffer("rhs", k * n * problem.rhs_bytes, strategy.slots_rhs[1]),
        Buffer("acc", m * n * problem.acc_bytes, strategy.depth_result),
    ]
    if problem.has_tail:
        buffers.append(Buffer("result", m * n * problem.result_bytes, strategy.depth_result))
    return (*buffers, *_tail_buffers(problem, m, n, strategy))


def l2_buffers(problem: Problem, strategy: Strategy, whole_k: bool) -> tuple[Buffer, ...]:
    """The buffers in the L2 that the grid shares; `whole_k` keeps all of K there instead of one tile of it."""
    m, n, tile_k = strategy.tile_l2
    k = padded(problem.k, tile_k) if whole_k else tile_k
    buffers = [
        Buffer("lhs", m * k * problem.lhs_bytes, strategy.slots_lhs[0]),
        Buffer("rhs", k * n * problem.rhs_bytes, strategy.slots_rhs[0]),
        Buffer("result", m * n * problem.result_bytes, strategy.depth_result),
    ]
    if problem.has_tail and not problem.is_filled:
        buffers.append(Buffer("sum", m * n * problem.acc_bytes))
    return (*buffers, *_tail_buffers(problem, m, n, strategy))


def _tail_buffers(problem: Problem, m: int, n: int, strategy: Strategy) -> tuple[Buffer, ...]:
    sizes = (operand.bytes(m, n) for operand in problem.tail_operands)
    return tuple(Buffer(f"tail{i}", size, strategy.depth_tail) for i, size in enumerate(sizes))


def l2_descriptors(problem: Problem, strategy: Strategy) -> int:
    """The descriptors of a memory tile's channels that serve columns: of an operand, what tails read, and results."""
    rows, _ = strategy.array
    operand = strategy.slots_lhs if strategy.turned else strategy.slots_rhs
    by_columns = (t for t in problem.tail_operands if (t.along_m if strategy.turned else t.along_n))
    parts = sum(tail.slot_descriptors(rows) for tail in by_columns)
    return 2 * operand[0] + strategy.depth_tail * parts + strategy.depth_result * (1 + -(-rows // 2))


def fullest_l2_bytes(buffers: tuple[Buffer, ...], strategy: Strategy, device_columns: int) -> int:
    """What the buffers take of the L2 of the grid's columns, as if every memory tile were as full as the fullest.

    What is divided by the array's rows lies in as many memory tiles as divide them evenly, all else in every column's.
    """
    rows, columns = strategy.array
    by_rows = "rhs" if strategy.turned else "lhs"
    tiles = row_tiles(rows, device_columns)
    divided = sum(buffer.bytes for buffer in buffers if buffer.name == by_rows)
    return total_bytes(buffers) - divided + -(-divided * columns // tiles)


def row_tiles(rows: int, device_columns: int) -> int:
    """Memory tiles that hold what is divided by the array's rows: as many as divide them evenly."""
    return max(tiles for tiles in range(1, device_columns + 1) if rows % tiles == 0)


def total_bytes(buffers: tuple[Buffer, ...]) -> int:
    return sum(buffer.bytes for buffer in buffers)


def l3_traffic_bytes(problem: Problem, strategy: Strategy) -> int:
    """What crosses between L3 and L2: each operand once per block that needs it, the result once.

    What all blocks of the inner loop need, whole, or all of the outer one as well, comes once.
    """
    m, n, k = problem.m, problem.n, problem.k
    blocks_m, blocks_n, steps = (-(-size // tile) for size, tile in zip((m, n, k), strategy.tile_l2))
    if steps == 1:
        blocks_m, blocks_n = (1 if blocks_n == 1 else blocks_m), 1
    moved = m * k * problem.lhs_bytes * blocks_n + k * n * problem.rhs_bytes * blocks_m + m * n * problem.result_bytes
    return problem.batch * moved


def padded_macs(problem: Problem, strategy: Strategy) -> int:
    """Multiply-accumulates including those on padding."""
    sizes = (problem.m, problem.n, problem.k)
    return problem.batch * prod(padded(size, tile) for size, tile in zip(sizes, strategy.tile_l2))
