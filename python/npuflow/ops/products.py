"""Sums of products: which loops of an op a matrix instruction goes through, and how much of it is used.

An instruction multiplies m x k by k x n. Loops of the same role are one dimension to it, as long as operands are
indexed by them alone: pixels of a window are not, since neighbours share what they read. Of those each row is read in
vectors, of which an instruction may take some from the end of one row and some from the beginning of the next; window
positions repeat them. Where an instruction's m is a patch of pixels (`patches`), the two innermost loops are cut into
patches. Everything here reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import element_type_of
from npuflow.core.passes import ops_of
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import RUNNING
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import Linear, input_count, is_reduction, iterators, linear_maps
from npuflow.ops.once import once
from npuflow.ops.patches import Extent, image_of_line, patch_count
from npuflow.ops.streams import reducers, stream_of
from npuflow.target import MatmulShape

# What may make something else than a number of a zero.
_INFINITE = ("arith.div", "arith.rem", "math.log", "math.rsqrt", "math.powf", "math.atan2", "math.fpowi")


# On ops whose pixels may be taken for other rows and columns than they lie in.
RESHAPED = "npu.reshaped"


@dataclass(frozen=True)
class Head:
    """What is computed of one factor's elements before they are multiplied, once for a tile."""

    dims: tuple[Linear, ...]
    operations: int

    def steps(self, tiles: Sequence[int]) -> int:
        """Operations for a tile of so many iterations of each loop."""
        return self.operations * prod(dim.extent(tiles) for dim in self.dims)


@dataclass(frozen=True)
class Products:
    """The loops of a sum of products by role; `single` ones are no part of an instruction, which is repeated for each.

    `rows` are those of m whose turns an instruction may share, but in whole vectors only.
    `windowed` are the inputs indexed by sums of loops; `gathered` is the same op once those have been copied so that
    every loop has a dimension of its own, as in a matmul. `heads` are what factors take that are not bare. `pixels` are
    the two innermost m loops, rows and columns of an image, where m isn't one line: one loop, perhaps packed. `taps`
    are the loops over a window's positions.
    """

    types: tuple[str, str, str]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    single: tuple[int, ...]
    windowed: tuple[int, ...] = ()
    gathered: Products | None = None
    heads: tuple[Head, ...] = ()
    rows: tuple[int, ...] = ()
    pixels: tuple[int, ...] = ()
    taps: tuple[int, ...] = ()
    may_reshape: bool = True

    def issued(
        self, tiles: Sequence[int], instruction: MatmulShape, vector_bytes: int, *, reshaped: bool = True
    ) -> int:
        """The multiplications that instructions do for a tile, idle ones included; `reshaped` as of `image`."""
        m, n, k, rows, single = [prod([tiles[loop] for loop in loops]) for loops in self._roles]
        if instruction.any_shape:
            return m * n * k * rows * single
        if instruction.patch:
            apart = {*self.m, *self.rows} - set(self.pixels or self.m)
            patches = patch_count(self.image(tiles, instruction, reshaped=reshaped), _extent(instruction))
            pixels = patches * instruction.m * prod(tiles[loop] for loop in apart)
        else:
            loaded = instruction.rows_per_load(vector_bytes)
            pixels = padded(rows * padded(m, loaded), instruction.m)
        return pixels * padded(n, instruction.n) * padded(k, instruction.k) * single

    @cached_property
    def _roles(self) -> tuple[tuple[int, ...], ...]:
        return (self.m, self.n, self.k, self.rows, self.single)

    def image(self, tiles: Sequence[int], instruction: MatmulShape, *, reshaped: bool = True) -> Extent:
        """A tile's pixels as rows and columns: as they lie, or, in one line, `reshaped` so that patches are full.

        Windows see their neighbours in the rows above and below, so that only single pixels can be reshaped.
        """
        rows, columns = (tiles[loop] for loop in self.pixels) if self.pixels else (prod(tiles[i] for i in self.m), 1)
        patch = _extent(instruction)
        if not (reshaped and self.may_reshape) or min(rows, columns) > 1 or any(tiles[loop] > 1 for loop in self.taps):
            return rows, columns
        line = image_of_line(rows * columns, patch)
        return line if patch_count(line, patch) < patch_count((rows, columns), patch) else (rows, columns)


def _extent(instruction: MatmulShape) -> Extent:
    rows, columns = instruction.patch
    return rows, columns


def padded(size: int, unit: int) -> int:
    """A size rounded up to a multiple of a unit."""
    return -(-size // unit) * unit


def largest_divisor(number: int, at_most: int) -> int:
    """The largest divisor of a number up to another one."""
    return next((divisor for divisor in range(at_most, 0, -1) if number % divisor == 0), 1)


def sums_products(op: ir.Operation) -> bool:
    """Whether an op adds a product of two factors to what it has."""
    return factors_of(op) is not None


def pads_streamed(bundle: Bundle) -> bool:
    """Whether zeros may fill up streamed loops: where products are summed, one factor of which is read as it is.

    What ops in between make of zeros is multiplied by zeros then, as long as it is a number.
    """
    stream = stream_of(bundle)
    reducing = reducers(bundle, stream.loops)
    if any(RUNNING in bundle.ops[index].attributes for index in stream.ops):
        return False
    between = [bundle.ops[index] for index in stream.ops if index not in reducing]
    return (
        bool(reducing)
        and all(_has_bare_factor(bundle.ops[index], bundle) for index in reducing)
        and not any(inner.name.startswith(_INFINITE) for op in between for inner in ops_of(op))
    )


def _has_bare_factor(op: ir.Operation, bundle: Bundle) -> bool:
    bare = [factor.inputs[0] for factor in factors_of(op) or () if factor.is_bare]
    return any(not bundle.is_internal(op.operands[number]) for number in bare)


def keep_reshaped(op: ir.Operation, new: ir.Operation) -> None:
    """Marks an op that another one is written as, if that other one is marked."""
    if RESHAPED in op.attributes:
        new.attributes[RESHAPED] = op.attributes[RESHAPED]


@once
def match_products(op: ir.Operation) -> Products | None:
    """The roles of an op's loops, if it sums products that matrix instructions could do: with an m, an n and a k."""
    has_loops = op.name == "linalg.generic" or linalg.isa_contraction_op(op)
    factors = factors_of(op) if has_loops else None
    maps = linear_maps(op)
    if factors is None or maps is None:
        return None
    lhs, rhs = ({loop for number in factor.inputs for loop in _loops(maps[number])} for factor in factors)
    loops = range(len(iterators(op)))
    reduced = {loop for loop in loops if is_reduction(op, loop)}
    inputs = tuple(number for number in range(input_count(op)) if any(len(dim.terms) > 1 for dim in maps[number]))
    windowed = {loop for number in inputs for dim in maps[number] if len(dim.terms) > 1 for loop, _ in dim.terms}
    sets = (lhs - rhs - reduced, rhs - lhs - reduced, lhs & rhs & reduced)
    roles = [[loop for loop in loops if loop in role] for role in sets]
    if not all(roles):
        return None
    m, n, k = roles
    pixels = [loop for loop in m if loop in windowed]
    is_line = len(m) == 1 or len(m) == len(n) == len(k) == 2  # packing splits each loop into two
    channels, taps = [[loop for loop in k if (loop in windowed) == is_tap] for is_tap in (False, True)]
    kept = (tuple(pixels[-1:] or m), tuple(n), tuple(channels or k[-1:]))
    types = (factors[0].element_type, factors[1].element_type, str(element_type_of(op.operands[input_count(op)])))
    heads = tuple(Head(maps[factor.inputs[0]], factor.operations) for factor in factors if not factor.is_bare)
    image = () if is_line else tuple(m[-2:])
    whole = replace(_with_single(types, (tuple(m), tuple(n), tuple(k)), loops), heads=heads, pixels=image)
    direct = replace(_with_single(types, kept, loops), heads=heads, pixels=image, taps=tuple(taps))
    rows = tuple(loop for loop in m if loop in direct.single)
    single = tuple(loop for loop in direct.single if loop not in rows)
    may = RESHAPED in op.attributes
    gathered = replace(whole, may_reshape=may) if inputs else None
    return replace(direct, single=single, rows=rows, windowed=inputs, gathered=gathered, may_reshape=may)


def _loops(dims: Sequence[Linear]) -> set[int]:
    return {loop for dim in dims for loop, _ in dim.terms}


def _with_single(
    types: tuple[str, str, str], kept: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], loops: range
) -> Products:
    return Products(types, *kept, tuple(loop for loop in loops if not any(loop in role for role in kept)))
