"""What a bundle is: ops that run together on one tile of a core, with nothing but L1 between them.

Each op is a linalg.generic whose operands are indexed by sums of multiples of loops. Loops of different ops that walk along
the same dimension of a value between them are one loop of the bundle. The bundle's *space* are the loops that every op
has and that are parallel in all: they are split into tiles. A *head*, a cheap elementwise op in front, may lack one: it is
computed again for each tile. All other loops stay whole inside of a tile, but for the reduction loops of the only op that
has any, which may be streamed. Everything here reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import dynamic_marker, shape_of
from npuflow.core.passes import ops_of
from npuflow.frontend.contraction import BUNDLE, is_head, is_parallel, producer, static_matmuls, tail_of, users

Problem = tuple[str, str]


@dataclass(frozen=True)
class Linear:
    """sum(coefficient * loop) + constant, loops in rising order."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0

    @property
    def loop(self) -> int | None:
        """The loop that this is, where it is just one."""
        plain = len(self.terms) == 1 and self.terms[0][1] == 1 and self.constant == 0
        return self.terms[0][0] if plain else None

    def extent(self, tiles: Sequence[int]) -> int:
        """How many values it spans while every loop goes through its tile."""
        return sum(coefficient * (tiles[loop] - 1) for loop, coefficient in self.terms) + 1

    def renamed(self, loops: Sequence[int]) -> Linear:
        return Linear(tuple(sorted((loops[loop], coefficient) for loop, coefficient in self.terms)), self.constant)


@dataclass(frozen=True)
class Bundle:
    """Ops in program order, the one whose results leave the bundle last; loops are numbered, the space's first."""

    ops: tuple[ir.Operation, ...]
    sizes: tuple[int, ...]
    space: int
    loops: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> ir.Operation:
        return self.ops[-1]

    def maps(self, index: int) -> list[tuple[Linear, ...]]:
        """For each operand of an op, its dimensions as sums of the bundle's loops."""
        found = linear_maps(self.ops[index])
        assert found is not None
        return [tuple(linear.renamed(self.loops[index]) for linear in dims) for dims in found]

    def inner(self, index: int) -> list[int]:
        """The loops of an op that are not of the space, as the bundle numbers them."""
        return [loop for loop in self.loops[index] if loop >= self.space]

    def streamed(self) -> list[int]:
        """The loops that may be gone through piece by piece: those of the only op that reduces, which its heads follow."""
        owners = [index for index, op in enumerate(self.ops) if any("reduction" in kind for kind in iterators(op))]
        if len(owners) != 1 or not all(is_reduction(self.ops[owners[0]], l) for l in self._own_inner(owners[0])):
            return []
        found = self.inner(owners[0])
        others = [index for index in range(len(self.ops)) if index != owners[0] and self.inner(index)]
        if any(index > owners[0] or not set(self.inner(index)) <= set(found) for index in others):
            return []
        return found

    def heads(self, index: int) -> list[int]:
        """The ops in front of a reduction that go through its inner loops, piece by piece with it."""
        reduces = any("reduction" in kind for kind in iterators(self.ops[index]))
        return [other for other in range(index) if self.inner(other)] if reduces and self.streamed() else []

    def _own_inner(self, index: int) -> list[int]:
        return [own for own, loop in enumerate(self.loops[index]) if loop >= self.space]

    def is_internal(self, value: ir.Value) -> bool:
        return any(value == result for op in self.ops for result in op.results)


def iterators(op: ir.Operation) -> list[str]:
    return [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]


def is_reduction(op: ir.Operation, loop: int) -> bool:
    return "reduction" in iterators(op)[loop]


def input_count(op: ir.Operation) -> int:
    """How many of a linalg.generic's operands are inputs."""
    return int(list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[0])


def linear_maps(op: ir.Operation) -> list[tuple[Linear, ...]] | None:
    """The indexing maps of an op as sums of loops; None where one is something else."""
    found = []
    for attribute in linalg.get_indexing_maps(op):
        dims = [_linear(result) for result in ir.AffineMapAttr(attribute).value.results]
        if any(dim is None for dim in dims):
            return None
        found.append(tuple(dim for dim in dims if dim is not None))
    return found


def _linear(expression: ir.AffineExpr) -> Linear | None:
    if isinstance(expression, ir.AffineConstantExpr):
        return Linear((), expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return Linear(((expression.position, 1),))
    if not isinstance(expression, (ir.AffineAddExpr, ir.AffineMulExpr)):
        return None
    left, right = _linear(expression.lhs), _linear(expression.rhs)
    if left is None or right is None:
        return None
    if isinstance(expression, ir.AffineMulExpr):
        scaled, factor = (left, right.constant) if not right.terms else (right, left.constant)
        return Linear(tuple((l, c * factor) for l, c in scaled.terms), scaled.constant * factor)
    sums: dict[int, int] = {}
    for loop, coefficient in (*left.terms, *right.terms):
        sums[loop] = sums.get(loop, 0) + coefficient
    return Linear(tuple(sorted((l, c) for l, c in sums.items() if c)), left.constant + right.constant)


def loop_extents(op: ir.Operation) -> list[int]:
    """The size of each loop, read off the dimensions that are plain loops; 0 where nothing tells."""
    extents = [0] * len(iterators(op))
    for value, dims in zip(op.operands, linear_maps(op) or []):
        if not isinstance(value.type, ir.ShapedType):
            continue
        for size, dim in zip(shape_of(value), dims):
            if dim.loop is not None and size != dynamic_marker():
                extents[dim.loop] = size
    return extents


def op_problem(op: ir.Operation) -> Problem | None:
    """What keeps an op from being part of a bundle, as (what, hint)."""
    maps = linear_maps(op)
    if maps is None or any(c < 0 for dims in maps for dim in dims for _, c in dim.terms):
        return f"{op.name} has an indexing map that is no sum of loops", "index by sums of positive multiples of loops"
    if ops_of(op, "linalg.index"):
        hint = "give the positions as a tensor operand; a core doesn't know where its tile lies"
        return f"{op.name} computes with the position of an element (linalg.index)", hint
    inside = [inner for inner in ops_of(op) if any(isinstance(v.type, ir.ShapedType) for v in inner.operands)]
    if inside:
        return f"{op.name} reads a tensor from inside of its body ({inside[0].name})", "make the tensor an operand"
    captured = [v for v in op.operands if not isinstance(v.type, ir.ShapedType) and producer(v) is None]
    if captured:
        return f"{op.name} reads a scalar argument", "make it a tensor of one element"
    for dims in maps[input_count(op) :]:
        written = [dim.loop for dim in dims]
        if None in written or len(set(written)) != len(written):
            return f"{op.name} writes along sums of loops", "write along loops, each at most once"
    if 0 in loop_extents(op):
        return f"{op.name} has a loop whose size no operand gives", "index one operand by that loop alone"
    return None


def is_bundle_op(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and bool(op.results) and op_problem(op) is None


def pads_with_zeros(pad: ir.Operation) -> bool:
    """Whether a `tensor.pad` of static size adds nothing but zeros."""
    view = pad.opview
    if len(pad.operands) > 1 or not ir.RankedTensorType(view.source.type).has_static_shape:
        return False
    yielded = list(pad.regions[0].blocks[0].operations)[-1].operation.operands[0]
    constant = producer(yielded, "arith.constant")
    if constant is None:
        return False
    value = constant.attributes["value"]
    if isinstance(value, ir.FloatAttr):
        return ir.FloatAttr(value).value == 0.0
    return isinstance(value, ir.IntegerAttr) and ir.IntegerAttr(value).value == 0


def pad_problem(pad: ir.Operation) -> Problem | None:
    """What keeps a `tensor.pad` from being part of how its result is read, as (what, hint)."""
    if not pads_with_zeros(pad):
        return "tensor.pad adds something else than zeros", "pad with a constant zero"
    others = [user for user in users(pad.results[0]) if not is_bundle_op(user) or is_output(user, pad.results[0])]
    if others:
        return f"tensor.pad is read by {others[0].name}", "let linalg ops that are no matmuls read it"
    return None


def is_output(op: ir.Operation, value: ir.Value) -> bool:
    return any(value == output for output in list(op.operands)[input_count(op) :])


def make_bundle(ops: Sequence[ir.Operation]) -> Bundle:
    """The bundle of ops in program order."""
    union = _Union()
    windowed: set[tuple[int, int]] = set()
    extents = [loop_extents(op) for op in ops]
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
    classes = union.classes([(i, l) for i in range(len(ops)) for l in range(len(extents[i]))])
    space = [members for members in classes if _is_space(members, ops, extents) and not windowed & set(members)]
    space.sort(key=lambda members: next(l for i, l in members if i == len(ops) - 1))
    numbers = {member: number for number, members in enumerate(space) for member in members}
    sizes = [extents[members[0][0]][members[0][1]] for members in space]
    for members in classes:
        if members[0] in numbers:
            continue
        shared = len({i for i, _ in members}) == len(members) and len({extents[i][l] for i, l in members}) == 1
        for group in [members] if shared else [[member] for member in members]:
            numbers |= dict.fromkeys(group, len(sizes))
            sizes.append(extents[group[0][0]][group[0][1]])
    loops = tuple(tuple(numbers[i, l] for l in range(len(extents[i]))) for i in range(len(ops)))
    return Bundle(tuple(ops), tuple(sizes), len(space), loops)


def _is_space(members: list[tuple[int, int]], ops: Sequence[ir.Operation], extents: list[list[int]]) -> bool:
    """Whether a class has one parallel loop of every op but heads, all of one size."""
    own = sorted(i for i, _ in members)
    lacking = [ops[i] for i in range(len(ops)) if i not in own]
    return (
        len(set(own)) == len(own)
        and own[-1] == len(ops) - 1
        and all(is_head(op) for op in lacking)
        and not any(is_reduction(ops[i], l) for i, l in members)
        and len({extents[i][l] for i, l in members}) == 1
    )


class _Union:
    """Sets of loops, joined pair by pair."""

    def __init__(self) -> None:
        self._parents: dict[tuple[int, int], tuple[int, int]] = {}

    def _root(self, member: tuple[int, int]) -> tuple[int, int]:
        while member in self._parents:
            member = self._parents[member]
        return member

    def join(self, left: tuple[int, int], right: tuple[int, int]) -> None:
        left, right = self._root(left), self._root(right)
        if left != right:
            self._parents[right] = left

    def classes(self, members: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for member in members:
            found.setdefault(self._root(member), []).append(member)
        return list(found.values())


def find_bundles(function: ir.Operation, fits: Callable[[Bundle], bool]) -> list[Bundle]:
    """The bundles of a function, each grown from its last op towards its producers as long as it `fits`."""
    taken = {op for c in static_matmuls(function) for op in (c.op, tail_of(c)) if op is not None}
    found: list[Bundle] = []
    for op in reversed(ops_of(function, "linalg.generic")):
        if op in taken or not is_bundle_op(op):
            continue
        bundle = _grow(make_bundle([op]), taken, fits)
        taken |= set(bundle.ops)
        found.append(bundle)
    return found[::-1]


def _grow(bundle: Bundle, taken: set[ir.Operation], fits: Callable[[Bundle], bool]) -> Bundle:
    tried: set[ir.Operation] = set()
    while (candidate := next(_candidates(bundle, taken | tried), None)) is not None:
        tried.add(candidate)
        order = {op: place for place, op in enumerate(_block_ops(candidate))}
        grown = make_bundle(sorted([*bundle.ops, candidate], key=lambda op: order[op]))
        if grown.space and not _narrows(bundle, grown, candidate) and fits(grown):
            bundle = grown
    return bundle


def _narrows(bundle: Bundle, grown: Bundle, candidate: ir.Operation) -> bool:
    """Whether an elementwise op would cost loops of the space: then it is better handed over in L3.

    One whose own loops stay in the space costs none: what is done once per row, between a row's sum and its scaling.
    """
    spaces = [prod(each.sizes[: each.space]) for each in (bundle, grown)]
    return is_parallel(candidate) and spaces[1] < spaces[0] and bool(grown.inner(grown.ops.index(candidate)))


def _candidates(bundle: Bundle, closed: set[ir.Operation]) -> Iterator[ir.Operation]:
    """Producers of what the bundle reads, of which nobody else reads anything, the nearest first."""
    for op in reversed(bundle.ops):
        for number, value in enumerate(op.operands):
            found = producer(value, "linalg.generic")
            if found is None or found in closed or found in bundle.ops or not is_bundle_op(found):
                continue
            if number >= input_count(op) and len(users(value)) > 1:
                continue  # which is written over
            if all(user in bundle.ops for result in found.results for user in users(result)):
                yield found


def _block_ops(op: ir.Operation) -> list[ir.Operation]:
    return [child.operation for child in op.block.operations]


def marked_bundles(root: ir.Operation) -> list[Bundle]:
    """The bundles below `root` that were marked, in program order."""
    groups: dict[tuple[ir.Operation, int], list[ir.Operation]] = {}
    for op in ops_of(root, "linalg.generic"):
        if BUNDLE in op.attributes:
            number = int(ir.IntegerAttr(op.attributes[BUNDLE]).value)
            groups.setdefault((op.parent.operation, number), []).append(op)
    return [make_bundle(ops) for ops in groups.values()]
