"""Ops that move data between levels, as transfers: copies, packs, unpacks, transpositions and gathers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuflow.bindings import ir, linalg
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.indices import Extent
from npuflow.schedule.nest.nest import L2, L3, Dimension, End, Factor, Transfer
from npuflow.schedule.nest.views import View, limit_of, padded_size, swapped, tiled, whole_outer


def read_copy(op: ir.Operation, source: View, target: View, pads: bool) -> Transfer:
    """memref.copy; where it `pads`, it goes through all of the target's piece, and what doesn't exist is zeros."""
    lowers = [[extent.lower for extent in view.extents] for view in (source, target)]
    assert lowers[0] == lowers[1], "one size on both sides cancels only the same maximum"
    if pads:
        return _padded_copy(op, source, target)
    widens = (source.buffer.space, target.buffer.space) == (L2, L3)
    outer, inner = (source, target) if source.buffer.space == L3 else (target, source)
    dimensions = []
    for d, extent in enumerate(source.extents):
        size = padded_size(extent.full, inner, d) if widens else extent.full
        factor = Factor(size, 1, source.strides[d], target.strides[d])
        dimensions.append(Dimension((factor,), limit_of(outer, d, size), extent.lower))
    return _transfer(op, source, target, dimensions, pads)


def _padded_copy(op: ir.Operation, source: View, target: View) -> Transfer:
    dimensions = []
    for d, extent in enumerate(source.extents):
        size = padded_size(extent.full, target, d)
        before = target.places[d].constant % size
        if before and extent.lower is not None:
            what = f"dimension {d} of {op.name} has {before} indices of padding besides {extent.lower}"
            raise fail(op, what, "let the target begin where its padding does")
        limit, lower = limit_of(source, d, size), extent.lower
        if before:
            # The side that is read begins earlier, too: its indices are those of the target's piece.
            source, target = source.back(d, before), target.back(d, before)
            limit, lower = (limit if limit is not None else Affine(extent.full)) + before, Affine(before)
        dimensions.append(Dimension((Factor(size, 1, source.strides[d], target.strides[d]),), limit, lower))
    return _transfer(op, source, target, dimensions, True)


def read_pack(op: ir.Operation, plain: View, packed: View, pads: bool) -> Transfer:
    """linalg.pack"""
    pads = pads or len(op.operands) > 2
    packed = whole_outer(packed, len(plain.extents)) if pads else packed
    return _transfer(op, plain, packed, [tiled(d, plain, packed, op) for d in range(len(plain.extents))], pads)


def read_unpack(op: ir.Operation, packed: View, plain: View) -> Transfer:
    """linalg.unpack"""
    dimensions = [swapped(tiled(d, plain, packed, op)) for d in range(len(plain.extents))]
    return _transfer(op, packed, plain, dimensions, False)


def read_transpose(op: ir.Operation, source: View, target: View, pads: bool) -> Transfer:
    """linalg.transpose, as the copy that it is when the source's dimensions are put in the target's order."""
    order = [int(p) for p in ir.DenseI64ArrayAttr(op.attributes["permutation"])]
    return read_copy(op, source.permuted(order), target, pads)


def is_movement(op: ir.Operation) -> bool:
    """Whether a linalg.generic only puts elements of its one input elsewhere."""
    body = op.regions[0].blocks[0]
    ops = [child.operation for child in body.operations]
    return len(ops) == 1 and len(op.operands) == 2 and list(ops[0].operands) == [body.arguments[0]]


def read_gather(op: ir.Operation, source: View, target: View, pads: bool) -> Transfer:
    """A linalg.generic that only yields its input: both sides step as their maps say."""
    if pads and not target.is_whole:
        raise fail(op, f"a gather leaves part of {target.buffer.name} zero", "copy first, and gather then")
    gather = _Gather(op, source, target)
    dimensions = gather.dimensions()
    source = replace(source, offset=gather.source_offset())
    return _transfer(op, source, target, dimensions, False)


@dataclass(frozen=True)
class _Gather:
    op: ir.Operation
    source: View
    target: View

    def maps(self) -> tuple[list[ir.AffineExpr], list[ir.AffineExpr]]:
        read, written = (ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(self.op))
        return list(read.results), list(written.results)

    def source_offset(self) -> Affine:
        """The view's, and the constants in its map."""
        constants = [linear_form(self.op, result)[1] for result in self.maps()[0]]
        return self.source.offset + sum(c * s for c, s in zip(constants, self.source.strides))

    def dimensions(self) -> list[Dimension]:
        """One per dimension of the source, whose loops are its factors; limits are those of either side."""
        read, written = self.maps()
        found: dict[int, int] = {}
        for d, result in enumerate(written):
            if not isinstance(result, ir.AffineDimExpr):
                raise fail(self.op, f"a movement writes at {result}", "write at plain loops, each in one dimension")
            found[result.position] = d
        forms = [linear_form(self.op, result) for result in read]
        loops = [loop for weights, _ in forms for loop in weights]
        if sorted(loops) != sorted(found):
            what = f"a movement reads along loops {sorted(loops)} and writes along {sorted(found)}"
            raise fail(self.op, what, "let each loop be in one dimension of either side, and broadcast in a kernel")
        return [self._dimension(d, weights, constant, found) for d, (weights, constant) in enumerate(forms)]

    def _dimension(self, d: int, weights: dict[int, int], constant: int, written: dict[int, int]) -> Dimension:
        factors = tuple(
            Factor(
                self.target.extents[written[loop]].full,
                weight,
                weight * self.source.strides[d],
                self.target.strides[written[loop]],
            )
            for loop, weight in sorted(weights.items(), key=lambda item: -item[1])
        )
        limit = self.source.extents[d].limit
        cut = [loop for loop in weights if self.target.extents[written[loop]].limit is not None]
        if any(extent.lower is not None for extent in (self.source.extents[d], *self._of(weights, written))):
            raise fail(self.op, "a gather has padding in front of an edge", "copy first, and gather then")
        if cut and (limit is not None or len(weights) > 1 or weights[cut[0]] != 1):
            raise fail(self.op, "a gather is cut off in what it reads and in what it writes", "pad one of them")
        if cut:
            return Dimension(factors, limit_of(self.target, written[cut[0]], factors[0].size))
        return Dimension(factors, limit - constant if limit is not None else None)

    def _of(self, weights: dict[int, int], written: dict[int, int]) -> list[Extent]:
        return [self.target.extents[written[loop]] for loop in weights]


def linear_form(op: ir.Operation, expression: ir.AffineExpr) -> tuple[dict[int, int], int]:
    """A sum of constant multiples of loops: each loop's factor, and the constant."""
    if isinstance(expression, ir.AffineConstantExpr):
        return {}, int(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position: 1}, 0
    if isinstance(expression, (ir.AffineAddExpr, ir.AffineMulExpr)):
        left, right = linear_form(op, expression.lhs), linear_form(op, expression.rhs)
        if isinstance(expression, ir.AffineAddExpr):
            sums = dict(left[0])
            for loop, factor in right[0].items():
                sums[loop] = sums.get(loop, 0) + factor
            return sums, left[1] + right[1]
        if not left[0] or not right[0]:
            form, scale = (right, left[1]) if not left[0] else (left, right[1])
            return {loop: factor * scale for loop, factor in form[0].items()}, form[1] * scale
    raise fail(op, f"{op.name} reads at {expression}", "read at sums of constant multiples of loops")


def _transfer(op: ir.Operation, source: View, target: View, dimensions: Sequence[Dimension], pads: bool) -> Transfer:
    kept = tuple(d for d in dimensions if d.extent != 1 or d.is_limited)
    return Transfer(End(source.buffer, source.offset), End(target.buffer, target.offset), kept, pads, location_of(op))
