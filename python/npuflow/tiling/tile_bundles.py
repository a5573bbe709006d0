"""npuflow-tile-bundles: blocks of a bundle in time, one tile of each block per core."""

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
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.bundle import Bundle, marked_bundles
from npuflow.ops.contraction import producer
from npuflow.ops.linear import Linear, input_count
from npuflow.ops.products import padded, pads_streamed
from npuflow.ops.streams import stream_of
from npuflow.strategy.mapping import spread_of
from npuflow.strategy.strategy import Strategy, strategy_of
from npuflow.tiling.core_part import CorePart
from npuflow.tiling.regions import Region, block_region

_ROWS, _COLUMNS = "#gpu.thread<y>", "#gpu.thread<x>"


@register_pass
@dataclass(frozen=True)
class TileBundles(Pass):
    """Makes loops over blocks and cores out of each bundle; streamed loops become loops inside of a core's part.

    A block's operands are slices, padded where windows or blocks reach over the edge; a core's are slices of those. Of
    streamed loops there are pieces for L2 that all cores share, and in these pieces for L1.

        %r = linalg.generic ... ins(%x : tensor<1000x64xf32>) outs(%e : tensor<1000x64xf32>)

    becomes

        %r = scf.for %b = %c0 to %c1000 step %c256 iter_args(%out = %e) {
          %block = tensor.pad (tensor.extract_slice %x[%b, 0] [%valid, 64]) high[%missing, 0]
          %t = scf.forall (%y, %x) in (4, 4) shared_outs(...) {
            %tile = tensor.extract_slice %block[%place, 0] [16, 64]
            %u = linalg.generic ... ins(%tile : tensor<16x64xf32>)
            scf.forall.in_parallel { tensor.parallel_insert_slice %u ... }
          } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
          %v = tensor.extract_slice %t[0, 0] [%valid, 64]
          tensor.insert_slice %v into %out[%b, 0] [%valid, 64]
    """

    name = "npuflow-tile-bundles"
    group = "tiling"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for bundle in marked_bundles(op):
            strategy = strategy_of(bundle.root)
            if strategy is None:
                context.error(bundle.root, "a bundle has no strategy", "run npuflow-assign-bundles before")
                continue
            _Tiler(bundle, strategy).run()
            context.count("bundles tiled")


@dataclass
class _Tiler:
    """Rewrites one bundle."""

    bundle: Bundle
    strategy: Strategy
    tiles: list[int] = field(default_factory=list)
    in_l2: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    loops: list[tuple[int, ir.Operation]] = field(default_factory=list)

    def run(self) -> None:
        bundle, spread = self.bundle, spread_of(self.strategy)
        self.tiles = [*self.strategy.tile_l1, *bundle.sizes[bundle.space :]]
        streamed = stream_of(bundle).loops
        for loop, tile in zip(streamed, self.strategy.stream):
            self.tiles[loop] = tile
        self.in_l2, self.block = list(self.tiles), spread.block(self.tiles)
        pads = pads_streamed(bundle)
        for loop, piece in zip(streamed, self.strategy.stream_l2 or self.strategy.stream):
            whole, self.in_l2[loop] = bundle.sizes[loop], piece
            self.block[loop] = padded(whole, piece) if pads else whole
        root = bundle.root
        with at(root):
            outs = [empty(shape_of(result), element_type_of(result)) for result in root.results]
            stepping = [loop for loop in self.strategy.order if self.block[loop] < bundle.sizes[loop]]
            results = self._blocks(stepping, {}, outs)
        for old, new in zip(root.results, results):
            old.replace_all_uses_with(new)
        for op in reversed(bundle.ops):
            op.erase()

    def _blocks(self, loops: Sequence[int], offsets: dict[int, Mixed], outs: Sequence[ir.Value]) -> list[ir.Value]:
        """The loops over blocks, from the outermost one left on; returns what they make of `outs`."""
        if not loops:
            return self._one_block(offsets, outs)
        bounds = [
            arith.ConstantOp.create_index(n).result for n in (0, self.bundle.sizes[loops[0]], self.block[loops[0]])
        ]
        loop = scf.ForOp(*bounds, list(outs))
        self.loops.append((loops[0], loop.operation))
        with ir.InsertionPoint(loop.body):
            inner = {**offsets, loops[0]: loop.induction_variable}
            scf.YieldOp(self._blocks(loops[1:], inner, list(loop.inner_iter_args)))
        return list(loop.results)

    def _one_block(self, offsets: dict[int, Mixed], outs: Sequence[ir.Value]) -> list[ir.Value]:
        operands = self._block_operands(offsets)
        maps = self._result_maps()
        shapes = [[dim.extent(self.block) for dim in dims] for dims in maps]
        blocks = [empty(shape, element_type_of(out)) for shape, out in zip(shapes, outs)]
        rows, columns = self.strategy.grid
        forall = scf.ForallOp([0, 0], [rows, columns], [1, 1], blocks, mapping=_mapping())
        with ir.InsertionPoint(forall.body):
            row, column = forall.induction_variables
            places = self._places(row, column)
            part = CorePart(self.bundle, tuple(self.tiles), tuple(self.in_l2), tuple(self.block), operands)
            tiles = part.results(places)
            _insert_all(tiles, list(forall.inner_iter_args), maps, places)
        return [self._put(block, out, dims, offsets) for block, out, dims in zip(forall.results, outs, maps)]

    def _put(self, block: ir.Value, out: ir.Value, dims: Sequence[Linear], offsets: dict[int, Mixed]) -> ir.Value:
        """What exists of a block's result, into the whole result."""
        start = [_offset(dim, offsets) for dim in dims]
        sizes: list[Mixed] = []
        for place, dim, size in zip(start, dims, shape_of(out)):
            extent = dim.extent(self.block)
            overhangs = size % extent != 0
            sizes.append(minimum(extent, difference(size, place)) if overhangs else extent)
        cut = extract_slice(block, [0] * len(dims), sizes)
        return insert_slice(cut, out, start, sizes)

    def _result_maps(self) -> list[tuple[Linear, ...]]:
        root = self.bundle.root
        return self.bundle.maps(len(self.bundle.ops) - 1)[input_count(root) :]

    def _block_operands(self, offsets: dict[int, Mixed]) -> dict[tuple[int, int], ir.Value]:
        """The block's part of every operand that comes from outside."""
        found: dict[tuple[int, int], ir.Value] = {}
        made: dict[tuple[object, ...], ir.Value] = {}
        for index, op in enumerate(self.bundle.ops):
            for number, dims in enumerate(self.bundle.maps(index)):
                value = op.operands[number]
                if not self._comes_from_outside(index, number):
                    continue
                with self._outside(dims):
                    regions = tuple(self._region(dim, offsets) for dim in dims)
                    key = (value, tuple((region.start_key, region.extent) for region in regions))
                    if key not in made:
                        made[key] = block_region(value, regions)
                found[index, number] = made[key]
        return found

    def _outside(self, dims: Sequence[Linear]) -> AbstractContextManager[object]:
        """Where a block's part of an operand is known: outside of the innermost loops that it doesn't follow."""
        followed = {loop for dim in dims for loop, _ in dim.terms}
        place: AbstractContextManager[object] = nullcontext()
        for loop, op in reversed(self.loops):
            if loop in followed:
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
        return number < input_count(op) or producer(value, "linalg.fill") is None

    def _region(self, dim: Linear, offsets: dict[int, Mixed]) -> Region:
        """Where a block's part of a dimension lies, and the last place it can begin at."""
        last = dim.constant
        for loop, coefficient in dim.terms:
            if loop in offsets:
                size, step = self.bundle.sizes[loop], self.block[loop]
                last += coefficient * ((size - 1) // step * step)
        key = tuple((loop, c) for loop, c in dim.terms if loop in offsets)
        return Region(_offset(dim, offsets), dim.constant, last, dim.extent(self.block), (key, dim.constant))

    def _places(self, row: ir.Value, column: ir.Value) -> dict[int, Mixed]:
        """Where in a block this core's tile begins, for each loop that is spread."""
        spread = spread_of(self.strategy)
        places: dict[int, Mixed] = {}
        for loop in {spread.rows, spread.columns}:
            terms = []
            tile = self.tiles[loop]
            if loop == spread.rows and spread.grid[0] > 1:
                terms.append((tile, row))
            if loop == spread.columns and spread.grid[1] > 1:
                terms.append((tile * (spread.grid[0] if spread.rows == loop else 1), column))
            places[loop] = weighted_sum(terms)
        return places


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


def _mapping() -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.Attribute.parse(_ROWS), ir.Attribute.parse(_COLUMNS)])
