"""A chain of windows once more, in tiles that overlap: a loop over tiles that all of its ops have. Edits IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import arith, ir, linalg, tensor
from npuflow.core.build import (
    all_true,
    at,
    element_type_of,
    empty,
    extract_slice,
    fill,
    generic_op,
    padded_by,
    shape_of,
    zero,
)
from npuflow.fusion.sums_in_step import in_step
from npuflow.fusion.window_chain import TiledChain
from npuflow.ops.bundle import mark_row_loop
from npuflow.ops.contraction import STRATEGY, is_parallel, producer
from npuflow.ops.images import ImageOp, ImageRead
from npuflow.ops.linear import Linear, input_count
from npuflow.ops.products import keep_reshaped
from npuflow.split.steps import Steps


@dataclass(frozen=True)
class OverlappedOps:
    """A chain in overlapping tiles: its ops in program order, and their result as the chain makes it."""

    ops: tuple[ir.Operation, ...]
    result: ir.Value


def overlapped(tiled: TiledChain) -> OverlappedOps:
    """Makes a chain again in front of its last op, which stays: every op computes its tiles, halos included.

    Tile t of an op's result has the rows from begin + t * step on that others read for their tile t. What lies outside
    of the result stands for the padding that they read: there, zeros are selected.
    """
    root = tiled.chain.images[-1].op
    with at(root):
        return _OverlapWriter(tiled).run()


@dataclass
class _OverlapWriter:
    """Writes the ops of a chain one after the other; `values` are their results in tiles."""

    tiled: TiledChain
    values: dict[int, ir.Value] = field(default_factory=dict)
    ops: list[ir.Operation] = field(default_factory=list)
    outside: dict[tuple[object, ...], ir.Value] = field(default_factory=dict)

    def run(self) -> OverlappedOps:
        for number in range(len(self.tiled.chain.images)):
            self._write(number)
        image = self.tiled.chain.images[-1]
        if self.tiled.rows:
            self.ops[-1].attributes[STRATEGY] = self.tiled.pieces().to_attribute()
        result = self._together(image, self.values[len(self.values) - 1])
        return OverlappedOps(tuple(self.ops if self.tiled.chain.axes else in_step(self.ops)), result)

    def _write(self, number: int) -> None:
        image = self.tiled.chain.images[number]
        shape = [size for loop in image.made for size in self._extents(number, loop)]
        inputs, maps = [], []
        for read in image.reads[: input_count(image.op)]:
            inputs.append(self._source(number, read))
            maps.append(self._map(number, [part for dim in read.dims for part in self._dims(number, read, dim)]))
        masks = self._masks(number) if is_parallel(image.op) else []
        written = self._map(number, self._written(number))
        mask_maps = [self._map(number, [self._place(number, loop)]) for loop, _ in masks]
        out = self._start(image, shape)
        kinds = [kind for loop, kind in enumerate(image.kinds) for _ in self._extents(number, loop)]
        made = generic_op([*inputs, *[mask for _, mask in masks]], [out], [*maps, *mask_maps, written], kinds)
        _take_body(made, image.op, len(masks))
        keep_reshaped(image.op, made)
        self._add(made, number)
        if self._is_padded(number) and not is_parallel(image.op):
            made = self._selected(number, made.results[0])
        self.values[number] = made.results[0]

    def _selected(self, number: int, value: ir.Value) -> ir.Operation:
        """An op that selects zeros outside of what exists, behind one that sums."""
        masks = self._masks(number)
        shape = shape_of(value)
        axes = {loop: place for place, loop in self._made_places(number).items()}
        whole = ir.AffineMap.get_identity(len(shape))
        maps = []
        for loop, _ in masks:
            place = axes[loop]
            steps = self._steps(number, loop)
            assert steps is not None
            maps.append(ir.AffineMap.get(len(shape), 0, [_sum(((place, steps.step), (place + 1, 1)))]))
        out = empty(shape, element_type_of(value))
        made = generic_op(
            [value, *[mask for _, mask in masks]], [out], [whole, *maps, whole], ["parallel"] * len(shape)
        )
        block = made.regions[0].blocks.append(
            *[element_type_of(each) for each in made.operands], arg_locs=[made.location] * len(made.operands)
        )
        with ir.InsertionPoint(block):
            linalg.YieldOp([_select(block.arguments[0], list(block.arguments)[1:-1])])
        self._add(made, number, axes)
        return made

    def _add(self, op: ir.Operation, number: int, places: Mapping[int, int] | None = None) -> None:
        """Notes an op, and the loop that steps go along, if there are any: in its own `places` where it says some."""
        if self.tiled.rows:
            loop = self.tiled.chain.axes[0].loops[number]
            mark_row_loop(op, (self._loop(number, loop) if places is None else places[loop]) + 1)
        self.ops.append(op)

    def _made_places(self, number: int) -> dict[int, int]:
        """Where in the tiled result the tiles' dimension of each loop is."""
        places, place = {}, 0
        for loop in self.tiled.chain.images[number].made:
            places[place] = loop
            place += len(self._extents(number, loop))
        return places

    def _steps(self, number: int, loop: int) -> Steps | None:
        """What tiles have along a loop of an op; None where it is whole in each."""
        for axis, steps in zip(self.tiled.chain.axes, self.tiled.steps):
            if axis.loops[number] == loop:
                return steps[number]
        return None

    def _count(self, number: int, loop: int) -> int:
        """How many tiles there are along a loop."""
        found = (n for axis, n in zip(self.tiled.chain.axes, self.tiled.counts()) if axis.loops[number] == loop)
        return next(found, 1)

    def _extents(self, number: int, loop: int) -> list[int]:
        """The sizes of the loops that a loop of an op becomes: tiles, and what is in one."""
        steps = self._steps(number, loop)
        if steps is None:
            return [self.tiled.chain.images[number].sizes[loop]]
        return [self._count(number, loop), steps.extent]

    def _loop(self, number: int, loop: int) -> int:
        """The number of the first loop that a loop becomes."""
        return sum(len(self._extents(number, before)) for before in range(loop))

    def _place(self, number: int, loop: int) -> Linear:
        """Where along a loop of the result a tile's index is, from the first one of the first tile."""
        steps, first = self._steps(number, loop), self._loop(number, loop)
        assert steps is not None
        return Linear(((first, steps.step), (first + 1, 1)))

    def _written(self, number: int) -> list[Linear]:
        made = self.tiled.chain.images[number].made
        loops = [self._loop(number, loop) + k for loop in made for k in range(len(self._extents(number, loop)))]
        return [Linear(((loop, 1),)) for loop in loops]

    def _dims(self, number: int, read: ImageRead, dim: Linear) -> list[Linear]:
        """How a dimension of what an op reads is indexed in tiles."""
        along = next((loop for loop, _ in dim.terms if self._steps(number, loop) is not None), None)
        inside = tuple(
            (self._loop(number, loop) + (1 if self._steps(number, loop) is not None else 0), factor)
            for loop, factor in dim.terms
        )
        if along is None:
            return [Linear(inside)]
        steps, first = self._steps(number, along), self._loop(number, along)
        assert steps is not None
        if read.maker is not None:
            return [Linear(((first, 1),)), Linear(inside)]
        return [Linear(((first, dict(dim.terms)[along] * steps.step), *inside))]

    def _source(self, number: int, read: ImageRead) -> ir.Value:
        """What an op reads in tiles: what another has made so, or what comes from outside from the first index on."""
        if read.maker is not None:
            return self.values[read.maker]
        begins, low, high = [], [], []
        for dim, size, before, behind in zip(read.dims, read.shape, read.low, read.high):
            begin, end = self._reach(number, dim, size, before, behind)
            begins.append(max(0, begin))
            low.append(max(0, -begin))
            high.append(max(0, end - size))
        key = (read.value, read.shape, *begins, *low, *high)
        if key not in self.outside:
            value = _in_image(read)
            if any(begins):
                sizes = [size - begin for size, begin in zip(read.shape, begins)]
                value = extract_slice(value, begins, sizes)
            self.outside[key] = padded_by(value, low, high, zero(element_type_of(value)))
        return self.outside[key]

    def _reach(self, number: int, dim: Linear, size: int, low: int, high: int) -> tuple[int, int]:
        """The first index of a dimension that any tile reads, and the one behind the last; some don't exist."""
        along = next((loop for loop, _ in dim.terms if self._steps(number, loop) is not None), None)
        if along is None:
            return -low, size + high
        steps = self._steps(number, along)
        assert steps is not None
        sizes = self.tiled.chain.images[number].sizes
        factor = dict(dim.terms)[along]
        reach = sum(c * (sizes[loop] - 1) for loop, c in dim.terms if loop != along)
        begin = factor * steps.begin - low
        return begin, factor * (steps.end(self._count(number, along)) - 1) + reach - low + 1

    def _is_padded(self, number: int) -> bool:
        """Whether others read padding around what an op makes."""
        reads = (read for image in self.tiled.chain.images for read in image.reads if read.maker == number)
        return any(any((*read.low, *read.high)) for read in reads)

    def _masks(self, number: int) -> list[tuple[int, ir.Value]]:
        """For the loops along which tiles have more than an op makes: ones for what exists, zeros around them."""
        image = self.tiled.chain.images[number]
        found = []
        for loop in image.made if self._is_padded(number) else ():
            steps, size, count = self._steps(number, loop), image.sizes[loop], self._count(number, loop)
            if steps is None or not steps.overhangs(count, size):
                continue
            first = max(0, steps.begin)
            low, high = max(0, -steps.begin), max(0, steps.end(count) - size)
            found.append((loop, _ones(size - first, low, high)))
        return found

    def _map(self, number: int, dims: Sequence[Linear]) -> ir.AffineMap:
        image = self.tiled.chain.images[number]
        loops = sum(len(self._extents(number, loop)) for loop in range(len(image.sizes)))
        return ir.AffineMap.get(loops, 0, [_sum(dim.terms) for dim in dims])

    def _start(self, image: ImageOp, shape: Sequence[int]) -> ir.Value:
        """What an op writes over, in tiles."""
        if image.begun_by is not None:
            return self.values[image.begun_by]
        value = image.op.operands[input_count(image.op)]
        filled = producer(value, "linalg.fill")
        out = empty(shape, element_type_of(value))
        return out if filled is None else fill(filled.operands[0], out)

    def _together(self, image: ImageOp, value: ir.Value) -> ir.Value:
        """The tiles of the last op as its result lies."""
        groups, place = [], 0
        for loops in image.split:
            count = sum(len(self._extents(len(self.values) - 1, loop)) for loop in loops)
            groups.append(list(range(place, place + count)))
            place += count
        return tensor.CollapseShapeOp(image.op.results[0].type, value, groups).result


def _sum(terms: Sequence[tuple[int, int]]) -> ir.AffineExpr:
    found = ir.AffineExpr.get_constant(0)
    for loop, factor in terms:
        found = found + ir.AffineExpr.get_dim(loop) * factor
    return found


def _in_image(read: ImageRead) -> ir.Value:
    """What is read from outside, with a dimension for each of the image's."""
    if len(read.groups) == len(read.shape):
        return read.value
    kind = ir.RankedTensorType.get(list(read.shape), element_type_of(read.value))
    groups = [list(group) for group in read.groups]
    return tensor.ExpandShapeOp(kind, read.value, groups, [], list(read.shape)).result


def _ones(size: int, low: int, high: int) -> ir.Value:
    """Ones with zeros around them."""
    i8 = ir.IntegerType.get_signless(8)
    kind = ir.RankedTensorType.get([size], i8)
    ones = arith.ConstantOp(kind, ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(i8, 1))).result
    return padded_by(ones, [low], [high], zero(i8))


def _take_body(made: ir.Operation, op: ir.Operation, masks: int) -> None:
    """Gives an op a copy of another's body, with so many inputs more: where one is 0, zero is yielded."""
    copy = op.clone().operation
    block = copy.regions[0].blocks[0]
    outputs = len(op.results)
    place = len(block.arguments) - outputs
    i8 = ir.IntegerType.get_signless(8)
    for old in list(block.arguments)[place:]:
        new = [block.add_argument(i8, op.location) for _ in range(masks)]
        old.replace_all_uses_with(block.add_argument(old.type, op.location))
        block.erase_argument(place)
        if masks:
            terminator = block.operations[len(block.operations) - 1].operation
            with ir.InsertionPoint(terminator), op.location:
                terminator.operands[0] = _select(terminator.operands[0], new)
    block.append_to(made.regions[0])
    copy.erase()


def _select(value: ir.Value, masks: Sequence[ir.Value]) -> ir.Value:
    """A value where no mask is 0; zero elsewhere."""
    exists = all_true(list(masks))
    is_missing = arith.CmpIOp(arith.CmpIPredicate.eq, exists, zero(exists.type)).result
    return arith.SelectOp(is_missing, zero(value.type), value).result
