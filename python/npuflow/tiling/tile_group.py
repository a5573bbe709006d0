"""A group cut into blocks, cores' tiles and pieces: the loops, the slices of what it reads and makes, its ops on tiles.

Every step of tiling is this, with other cuts: blocks alone, cores alone, pieces alone, or all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from npuflow.bindings import arith, ir, scf, tensor
from npuflow.core.build import (
    Mixed,
    at,
    difference,
    element_type_of,
    empty,
    extract_slice,
    insert_slice,
    minimum,
    shape_of,
    split_mixed,
    weighted_sum,
)
from npuflow.core.passes import PassContext
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import producer
from npuflow.ops.insertions import insertion_of
from npuflow.ops.linear import Linear, input_count
from npuflow.tiling.core_part import CorePart, Operands
from npuflow.tiling.cuts import Cuts
from npuflow.tiling.kept_rows import KeptRowsPart
from npuflow.tiling.regions import Region, block_region


def tile_groups(groups: Sequence[tuple[Bundle, Cuts]], context: PassContext, counted: str) -> None:
    """Puts loops with a group's ops on tiles in the place of each group, unless anything is wrong with one of them."""
    for bundle, cuts in groups if not context.failed else ():
        _Tiler(bundle, cuts).run()
        context.count(counted)


@dataclass
class _Tiler:
    """Rewrites one group."""

    bundle: Bundle
    cuts: Cuts
    loops: list[tuple[int, ir.Operation]] = field(default_factory=list)
    within: list[int] = field(default_factory=list)

    def run(self) -> None:
        root = self.bundle.root
        stepping = [loop for loop in self.cuts.order if self.cuts.block[loop] < self.bundle.sizes[loop]]
        insertion = insertion_of(root) if stepping else None
        last = root if insertion is None else insertion
        with at(last):
            outs = [empty(shape_of(result), element_type_of(result)) for result in root.results if stepping]
            if insertion is not None:
                outs, self.within = [insertion.operands[1]], list(insertion.opview.static_offsets)
            results = self._blocks(stepping, {}, outs)
        for old, new in zip(last.results, results):
            old.replace_all_uses_with(new)
        for op in reversed(self.bundle.ops if insertion is None else (*self.bundle.ops, insertion)):
            op.erase()

    def _blocks(self, loops: Sequence[int], offsets: dict[int, Mixed], outs: Sequence[ir.Value]) -> list[ir.Value]:
        """The loops over blocks, from the outermost one left on; returns what they make of `outs`."""
        if not loops:
            return self._one_block(offsets, outs)
        bounds = [
            arith.ConstantOp.create_index(n).result for n in (0, self.bundle.sizes[loops[0]], self.cuts.block[loops[0]])
        ]
        loop = scf.ForOp(*bounds, list(outs))
        self.loops.append((loops[0], loop.operation))
        with ir.InsertionPoint(loop.body):
            inner = {**offsets, loops[0]: loop.induction_variable}
            scf.YieldOp(self._blocks(loops[1:], inner, list(loop.inner_iter_args)))
        return list(loop.results)

    def _one_block(self, offsets: dict[int, Mixed], outs: Sequence[ir.Value]) -> list[ir.Value]:
        maps, operands = self._result_maps(), self._block_operands(offsets)
        made = self._spread(operands, maps) if self.cuts.grid else self._part(operands, {})
        if not outs:
            return [_cut(block, shape_of(whole)) for block, whole in zip(made, self.bundle.root.results)]
        return [self._put(block, out, dims, offsets) for block, out, dims in zip(made, outs, maps)]

    def _spread(self, operands: Operands, maps: Sequence[Sequence[Linear]]) -> list[ir.Value]:
        """A block's results, of which each core makes its part."""
        grid, root = self.cuts.grid, self.bundle.root
        keys = [(len(self.bundle.ops) - 1, input_count(root) + number) for number in range(len(root.results))]
        given = {key: operands[key] for key in keys if self.cuts.in_place and key in operands}
        blocks = [
            given.get(key) or empty([dim.extent(self.cuts.block) for dim in dims], element_type_of(result))
            for key, dims, result in zip(keys, maps, root.results)
        ]
        threads = [ir.Attribute.parse(f"#gpu.thread<{each.thread}>") for each in grid]
        counts, mapping = [each.count for each in grid], ir.ArrayAttr.get(threads)
        forall = scf.ForallOp([0] * len(grid), counts, [1] * len(grid), blocks, mapping=mapping)
        with ir.InsertionPoint(forall.body):
            targets, places = list(forall.inner_iter_args), self._places(list(forall.induction_variables))
            continued = {key: target for key, target in zip(keys, targets) if key in given}
            _insert_all(self._part({**operands, **continued}, places), targets, maps, places)
        return list(forall.results)

    def _part(self, operands: Operands, places: dict[int, Mixed]) -> list[ir.Value]:
        """What one core makes of a block, whose tiles begin at some places in it."""
        kind = CorePart if self.bundle.kept is None else KeptRowsPart
        return kind(self.bundle, self.cuts, operands).results(places)

    def _places(self, indices: Sequence[ir.Value]) -> dict[int, Mixed]:
        """Where in a block this core's tile begins, for each loop that is spread."""
        terms: dict[int, list[tuple[int, Mixed]]] = {}
        for coordinate, index in zip(self.cuts.grid, indices):
            own = terms.setdefault(coordinate.loop, [])
            own += [(coordinate.step, index)] if coordinate.count > 1 else []
        return {loop: weighted_sum(each) for loop, each in terms.items()}

    def _put(self, block: ir.Value, out: ir.Value, dims: Sequence[Linear], offsets: dict[int, Mixed]) -> ir.Value:
        """What exists of a block's result, into the whole result."""
        start = [_offset(dim, offsets) for dim in dims]
        sizes: list[Mixed] = []
        for place, extent, dim in zip(start, shape_of(block), dims):
            size = dim.extent(self.bundle.sizes)
            sizes.append(minimum(extent, difference(size, place)) if size % extent else extent)
        begins = [weighted_sum([(1, place)], begin) for place, begin in zip(start, self.within)] or start
        return insert_slice(_cut(block, sizes), out, begins, sizes)

    def _result_maps(self) -> list[tuple[Linear, ...]]:
        root = self.bundle.root
        return self.bundle.maps(len(self.bundle.ops) - 1)[input_count(root) :]

    def _block_operands(self, offsets: dict[int, Mixed]) -> Operands:
        """The block's part of every operand that comes from outside."""
        found: dict[tuple[int, int], ir.Value] = {}
        made: dict[tuple[object, ...], ir.Value] = {}
        for index, op in enumerate(self.bundle.ops):
            for number, dims in enumerate(self.bundle.maps(index)):
                value = op.operands[number]
                if not self._comes_from_outside(index, number):
                    continue
                with self._outside(dims):
                    block = self.bundle.own_sizes(index, self.cuts.block)
                    regions = tuple(self._region(dim, offsets, block) for dim in dims)
                    key = (value, tuple((region.start_key, region.extent) for region in regions))
                    if key not in made:
                        made[key] = block_region(value, regions)
                found[index, number] = made[key]
        return found

    def _outside(self, dims: Sequence[Linear]) -> AbstractContextManager[object]:
        """Where a resident operand's part is cut out: outside of the innermost loops that it doesn't follow."""
        followed = {loop for dim in dims for loop, _ in dim.terms}
        place: AbstractContextManager[object] = nullcontext()
        for loop, op in reversed(self.loops):
            if not self.cuts.resident or loop in followed:
                break
            place = ir.InsertionPoint(op)
        return place

    def _comes_from_outside(self, index: int, number: int) -> bool:
        op = self.bundle.ops[index]
        value = op.operands[number]
        if not isinstance(value.type, ir.ShapedType) or self.bundle.is_internal(value):
            return False
        if producer(value, "tensor.empty") is not None:
            return False
        if number < input_count(op):
            return True
        used = any(True for _ in op.regions[0].blocks[0].arguments[number].uses)
        return used and producer(value, "linalg.fill") is None

    def _region(self, dim: Linear, offsets: dict[int, Mixed], block: Sequence[int]) -> Region:
        """Where a block's part of a dimension lies, and the last place it can begin at."""
        last = dim.constant
        for loop, coefficient in dim.terms:
            if loop in offsets:
                size, step = self.bundle.sizes[loop], self.cuts.block[loop]
                last += coefficient * ((size - 1) // step * step)
        key = tuple((loop, c) for loop, c in dim.terms if loop in offsets)
        return Region(_offset(dim, offsets), dim.constant, last, dim.extent(block), (key, dim.constant))


def _cut(block: ir.Value, sizes: Sequence[Mixed]) -> ir.Value:
    """A block without what there is none of."""
    return block if list(sizes) == shape_of(block) else extract_slice(block, [0] * len(sizes), sizes)


def _offset(dim: Linear, offsets: dict[int, Mixed]) -> Mixed:
    return weighted_sum([(c, offsets[loop]) for loop, c in dim.terms if loop in offsets], dim.constant)


def _insert_all(
    tiles: Sequence[ir.Value],
    targets: Sequence[ir.Value],
    maps: Sequence[Sequence[Linear]],
    places: dict[int, Mixed],
) -> None:
    """Ends a core's part: its tiles go into the block's results."""
    starts = [[_offset(Linear(dim.terms), places) for dim in dims] for dims in maps]
    terminator = scf.InParallelOp()
    with ir.InsertionPoint(terminator.block):
        for tile, target, start in zip(tiles, targets, starts):
            static, dynamic = split_mixed(start)
            sizes = shape_of(tile)
            tensor.ParallelInsertSliceOp(tile, target, dynamic, [], [], static, sizes, [1] * len(sizes))
