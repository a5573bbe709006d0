"""What a bundle is: ops that run together on one tile of a core, with nothing but L1 between them.

Each op is a linalg.generic whose operands are indexed by sums of multiples of loops. Loops of different ops that walk
along the same dimension of a value between them are one loop of the bundle. The bundle's *space* are the loops that
every op has and that are parallel in all: they are split into tiles. A *head*, a cheap elementwise op in front, may
lack one: it is computed again for each tile. All other loops stay whole inside of a tile, but for those that may be
streamed (`streams`). Where ops say that rows are kept (`npu.row_loop`), their loops over a tile's rows are one, of
which each op has made some rows more, its *first* ones, before the others begin. Everything here reads IR and changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.bundle_ops import Problem, is_bundle_op, op_problem
from npuflow.ops.contraction import BUNDLE, ROW_LOOP, STEP_LOOP, Contraction, bundle_number, is_head, tail_of, users
from npuflow.ops.linear import Linear, input_count, is_reduction, iterators, linear_maps, loop_extents
from npuflow.ops.union import Union


@dataclass(frozen=True)
class KeptRows:
    """The loop over a tile's rows, which go in steps, and how many rows each op makes before the first of them."""

    loop: int
    first: tuple[int, ...]


@dataclass(frozen=True)
class Bundle:
    """Ops in program order, the one whose results leave the bundle last; loops are numbered, the space's first.

    Where rows are `kept`, the size of their loop is what the last op has of it in a tile.
    """

    ops: tuple[ir.Operation, ...]
    sizes: tuple[int, ...]
    space: int
    loops: tuple[tuple[int, ...], ...]
    kept: KeptRows | None = field(default=None)

    @property
    def root(self) -> ir.Operation:
        return self.ops[-1]

    @property
    def most_tiles(self) -> int:
        """As many as there are points of the space."""
        return prod(self.sizes[: self.space])

    def maps(self, index: int) -> list[tuple[Linear, ...]]:
        """For each operand of an op, its dimensions as sums of the bundle's loops."""
        found = linear_maps(self.ops[index])
        assert found is not None
        return [tuple(linear.renamed(self.loops[index]) for linear in dims) for dims in found]

    def own_sizes(self, index: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Sizes of loops as an op has them, which makes more rows than the last one where rows are kept."""
        if self.kept is None:
            return tuple(sizes)
        rows, first = self.kept.loop, self.kept.first[index]
        return tuple(size + first if loop == rows else size for loop, size in enumerate(sizes))

    def inner(self, index: int) -> list[int]:
        """The loops of an op that are not of the space, as the bundle numbers them."""
        return [loop for loop in self.loops[index] if loop >= self.space]

    def is_internal(self, value: ir.Value) -> bool:
        return any(value == result for op in self.ops for result in op.results)


def make_bundle(ops: Sequence[ir.Operation]) -> Bundle:
    """The bundle of ops in program order."""
    extents = [loop_extents(op) for op in ops]
    union, windowed = _walked_alike(ops)
    classes = union.classes([(i, own) for i in range(len(ops)) for own in range(len(extents[i]))])
    space = [members for members in classes if _is_space(members, ops, extents) and not windowed & set(members)]
    space.sort(key=lambda members: next(own for i, own in members if i == len(ops) - 1))
    numbers = {member: number for number, members in enumerate(space) for member in members}
    sizes = [extents[members[0][0]][members[0][1]] for members in space]
    rows = _row_loops(ops)
    kept = None
    if rows:
        heights = [extents[i][loop] for i, loop in enumerate(rows)]
        kept = KeptRows(len(sizes), tuple(height - heights[-1] for height in heights))
        numbers |= {(i, loop): len(sizes) for i, loop in enumerate(rows)}
        sizes.append(heights[-1])
    for members in classes:
        if members[0] in numbers:
            continue
        shared = len({i for i, _ in members}) == len(members) and len({extents[i][own] for i, own in members}) == 1
        for group in [members] if shared else [[member] for member in members]:
            numbers |= dict.fromkeys(group, len(sizes))
            sizes.append(extents[group[0][0]][group[0][1]])
    loops = tuple(tuple(numbers[i, own] for own in range(len(extents[i]))) for i in range(len(ops)))
    return Bundle(tuple(ops), tuple(sizes), len(space), loops, kept)


def _walked_alike(ops: Sequence[ir.Operation]) -> tuple[Union, set[tuple[int, int]]]:
    """Which loops, by op, walk along the same dimension of a value between ops, or in step; and which do by windows."""
    union = Union()
    windowed: set[tuple[int, int]] = set()
    maps = [linear_maps(op) or [] for op in ops]
    results = {result: (i, number) for i, op in enumerate(ops) for number, result in enumerate(op.results)}
    for j, op in enumerate(ops):
        for value, dims in zip(op.operands, maps[j]):
            if value not in results:
                continue
            i, number = results[value]
            written = maps[i][input_count(ops[i]) + number]
            for own, dim in zip(written, dims):
                if own.loop is not None and dim.loop is not None:
                    union.join((i, own.loop), (j, dim.loop))
                else:
                    windowed |= {(j, loop) for loop, _ in dim.terms}
    stepping = [(i, loop) for i, op in enumerate(ops) if (loop := _loop_said(op, STEP_LOOP)) is not None]
    for member in stepping[1:]:
        union.join(stepping[0], member)
    return union, windowed


def _row_loops(ops: Sequence[ir.Operation]) -> list[int]:
    """The loop of each op along which rows are kept; none where that isn't said of all."""
    found = [row_loop_of(op) for op in ops]
    return [loop for loop in found if loop is not None] if None not in found else []


def row_loop_of(op: ir.Operation) -> int | None:
    """The loop of an op along which rows are kept, if it says one that it has."""
    return _loop_said(op, ROW_LOOP)


def _loop_said(op: ir.Operation, name: str) -> int | None:
    said = op.attributes.get(name)
    loop = int(ir.IntegerAttr(said).value) if isinstance(said, ir.IntegerAttr) else -1
    return loop if 0 <= loop < len(iterators(op)) else None


def mark_row_loop(op: ir.Operation, loop: int) -> None:
    """Says that a core goes along this loop of an op in steps, and keeps rows from one to the next."""
    _mark_loop(op, ROW_LOOP, loop)


def mark_step_loop(op: ir.Operation, loop: int) -> None:
    """Says that an op goes along this loop in step with others of its bundle that say so of one of theirs."""
    _mark_loop(op, STEP_LOOP, loop)


def _mark_loop(op: ir.Operation, name: str, loop: int) -> None:
    op.attributes[name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, op.context), loop)


def bundle_of(contraction: Contraction, *, with_tail: bool = True) -> Bundle:
    """A matmul as a bundle, with its tail or alone."""
    tail = tail_of(contraction) if with_tail else None
    return make_bundle([contraction.op] if tail is None else [contraction.op, tail])


def _is_space(members: list[tuple[int, int]], ops: Sequence[ir.Operation], extents: list[list[int]]) -> bool:
    """Whether a class has one parallel loop of every op but heads, all of one size."""
    owners = sorted(i for i, _ in members)
    lacking = [ops[i] for i in range(len(ops)) if i not in owners]
    return (
        len(set(owners)) == len(owners)
        and owners[-1] == len(ops) - 1
        and all(is_head(op) for op in lacking)
        and not any(is_reduction(ops[i], loop) for i, loop in members)
        and len({extents[i][own] for i, own in members}) == 1
    )


def free_numbers(function: ir.Operation) -> Iterator[int]:
    """Numbers that no bundle of a function has."""
    taken = {bundle_number(op) for op in ops_of(function)}
    return (number for number in count() if number not in taken)


def mark_bundle(ops: Sequence[ir.Operation], number: int) -> None:
    """Marks ops as a bundle of that number."""
    for op in ops:
        op.attributes[BUNDLE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, op.context), number)


def marked_bundles(root: ir.Operation) -> list[Bundle]:
    """The bundles below `root` that were marked, in program order; what was marked and is none is left out."""
    return [make_bundle(ops) for ops in marked_groups(root) if marks_problem(ops) is None]


def marked_groups(root: ir.Operation) -> list[list[ir.Operation]]:
    """The ops below `root` that say they are in one bundle, in program order, whether or not they can be one."""
    groups: dict[tuple[ir.Operation, int | None], list[ir.Operation]] = {}
    for op in ops_of(root):
        if BUNDLE in op.attributes:
            groups.setdefault((op.parent.operation, bundle_number(op)), []).append(op)
    return list(groups.values())


def marks_problem(ops: Sequence[ir.Operation]) -> Problem | None:
    """What keeps ops that say they are in one bundle from being one, as (what, hint)."""
    hint = f"leave out {BUNDLE}, as npuflow-drop-marks does: what belongs together is found without it"
    number = bundle_number(ops[-1])
    if number is None:
        return f"{BUNDLE} is no number", hint
    for op in ops:
        if not is_bundle_op(op):
            what = op_problem(op) if op.name == "linalg.generic" else None
            return (what[0] if what else f"{op.name} is marked, and bundles have linalg.generic alone"), hint
    inner = (user for op in ops[:-1] for result in op.results for user in users(result))
    reader = next((user for user in inner if user not in ops), None)
    if reader is not None:
        return f"bundle {number} is none, as {reader.name} outside of it reads what is not its last op's", hint
    return None if make_bundle(ops).space else (f"bundle {number} is none, as its ops share no parallel loop", hint)
