"""How a linalg op's operands are indexed: sums of multiples of loops. Reads IR and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import dynamic_marker, shape_of
from npuflow.ops.once import once

_KIND = re.compile(r"<(\w+)>")


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
        span = 1
        for loop, coefficient in self.terms:
            span += coefficient * (tiles[loop] - 1)
        return span

    def distinct(self, sizes: Sequence[int]) -> int:
        """How many different values it takes while every loop goes through its size."""
        if len(self.terms) < 2:
            return prod(sizes[loop] for loop, _ in self.terms)
        if len(self.terms) == 2:
            (first, a), (second, b) = self.terms
            n, m, common = sizes[first], sizes[second], gcd(a, b)
            # a i + b j is the same for i + b and j - a, each divided by what the two have in common.
            return n * m - max(0, n - abs(b) // common) * max(0, m - abs(a) // common)
        values = {0}
        for loop, coefficient in self.terms:
            values = {value + coefficient * step for value in values for step in range(sizes[loop])}
        return len(values)

    def renamed(self, loops: Sequence[int]) -> Linear:
        return Linear(tuple(sorted((loops[loop], coefficient) for loop, coefficient in self.terms)), self.constant)


@once
def iterators(op: ir.Operation) -> list[str]:
    """What each loop is, `parallel` or `reduction`; an op without a list of that is a named contraction."""
    if "iterator_types" not in op.attributes:
        summed = {int(loop) for loop in linalg.infer_contraction_dimensions(op).k}
        return ["reduction" if loop in summed else "parallel" for loop in range(maps_of(op)[0].n_dims)]
    return _KIND.findall(str(op.attributes["iterator_types"]))  # one text for all: most of the time is its making


def is_reduction(op: ir.Operation, loop: int) -> bool:
    return iterators(op)[loop] == "reduction"


def maps_of(op: ir.Operation) -> list[ir.AffineMap]:
    """The indexing maps as they stand."""
    return [ir.AffineMapAttr(attribute).value for attribute in linalg.get_indexing_maps(op)]


def set_maps(op: ir.Operation, maps: Iterable[ir.AffineMap]) -> None:
    """Gives an op other indexing maps."""
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])


@once
def input_count(op: ir.Operation) -> int:
    """How many of a linalg.generic's operands are inputs."""
    return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0])


@once
def linear_maps(op: ir.Operation) -> list[tuple[Linear, ...]] | None:
    """The indexing maps of an op as sums of loops; None where one is something else."""
    found = [linear_dims(map_) for map_ in maps_of(op)]
    return None if None in found else [dims for dims in found if dims is not None]


def linear_dims(map_: ir.AffineMap) -> tuple[Linear, ...] | None:
    """What a map gives as sums of its dimensions; None where something is none."""
    dims = [_linear(result) for result in map_.results]
    return None if None in dims else tuple(dim for dim in dims if dim is not None)


def composed(outer: ir.AffineMap, inner: ir.AffineMap) -> ir.AffineMap:
    """`outer` of what `inner` gives."""
    results = [ir.AffineExpr.compose(expression, inner) for expression in outer.results]
    return ir.AffineMap.get(inner.n_dims, 0, results)


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
        return Linear(tuple((loop, c * factor) for loop, c in scaled.terms), scaled.constant * factor)
    sums: dict[int, int] = {}
    for loop, coefficient in (*left.terms, *right.terms):
        sums[loop] = sums.get(loop, 0) + coefficient
    return Linear(tuple(sorted((loop, c) for loop, c in sums.items() if c)), left.constant + right.constant)


@once
def loop_extents(op: ir.Operation) -> list[int]:
    """The size of each loop, read off the dimensions that are plain loops; 0 where nothing tells."""
    extents = [0] * maps_of(op)[0].n_dims
    for value, dims in zip(op.operands, linear_maps(op) or []):
        if not isinstance(value.type, ir.ShapedType):
            continue
        for size, dim in zip(shape_of(value), dims):
            if dim.loop is not None and size != dynamic_marker():
                extents[dim.loop] = size
    return extents


def folds_by(op: ir.Operation, name: str) -> bool:
    """Whether all that an op does is to fold elements of its first input into its only result by an operation."""
    if len(op.results) != 1 or not input_count(op):
        return False
    block = op.regions[0].blocks[0]
    first, *rest = (inner.operation for inner in block.operations)
    folded = {block.arguments[0], block.arguments[input_count(op)]}
    is_yielded = len(rest) == 1 and [*rest[0].operands] == [*first.results]
    return is_yielded and first.name == name and {*first.operands} == folded
