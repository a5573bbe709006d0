"""Ops of a chain as they go through images: reshapes between them undone, padding apart from what is read.

A matmul over the pixels of an image in one line is a window of size 1: its loop over pixels becomes loops over rows and
columns again, as whoever makes or reads the image has them. Reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import reassociation_of, shape_of
from npuflow.ops.bundle_ops import pads_with_zeros, unpadded
from npuflow.ops.contraction import producer, users
from npuflow.ops.linear import Linear, input_count, iterators, linear_maps, loop_extents

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ImageRead:
    """What an op reads: made by the op of that number, or from outside; its dimensions in the op's loops.

    `value` is without zeros, of which there are `low` and `high` around it. One from outside may have dimensions in
    one that are apart here: `groups` says which.
    """

    maker: int | None
    value: ir.Value
    dims: tuple[Linear, ...]
    shape: Shape
    low: Shape
    high: Shape
    groups: tuple[Shape, ...]


@dataclass(frozen=True)
class ImageOp:
    """An op with a loop for each dimension of an image; `made` are the loops that its result follows.

    `split` are these loops by the dimensions of the result as it lies in the IR. The last of the `reads` is what a sum
    begins with, where another of the ops makes that.
    """

    op: ir.Operation
    sizes: Shape
    kinds: tuple[str, ...]
    reads: tuple[ImageRead, ...]
    split: tuple[Shape, ...]

    @property
    def made(self) -> Shape:
        return tuple(loop for loops in self.split for loop in loops)

    @property
    def begun_by(self) -> int | None:
        """The op that makes what this one's sums begin with."""
        return self.reads[-1].maker if len(self.reads) > input_count(self.op) else None

    @property
    def shape(self) -> Shape:
        return tuple(self.sizes[loop] for loop in self.made)


def images_of(ops: Sequence[ir.Operation]) -> tuple[ImageOp, ...] | None:
    """Ops in program order as they go through images; None where they don't agree, or are something else."""
    if any(len(op.results) != 1 or linear_maps(op) is None for op in ops):
        return None
    factors = _Factors(ops)
    if not factors.agree:
        return None
    found: list[ImageOp] = []
    for number in range(len(ops)):
        image = _image_op(number, factors, found)
        if image is None:
            return None
        found.append(image)
    return tuple(found)


class _Factors:
    """What each loop of some ops is made of: `of[op, loop]` are sizes; not there for loops that are no product."""

    def __init__(self, ops: Sequence[ir.Operation]) -> None:
        self.ops = ops
        self.maps = [linear_maps(op) or [] for op in ops]
        self.sizes = [loop_extents(op) for op in ops]
        self.makers = {op.results[0]: number for number, op in enumerate(ops)}
        self.of: dict[tuple[int, int], Shape] = {}
        self.agree = True
        while any(self._say(*said) for said in self._told()):
            pass

    def inputs(self, number: int) -> list[tuple[ir.Value, tuple[Linear, ...]]]:
        """What an op reads, and by which indices; what its sums begin with is that if one of the ops makes it."""
        op = self.ops[number]
        first = input_count(op)
        begun = op.operands[first] in self.makers and any(True for _ in op.regions[0].blocks[0].arguments[first].uses)
        return list(zip(op.operands, self.maps[number]))[: first + begun]

    def made(self, number: int) -> tuple[Linear, ...]:
        return self.maps[number][-1]

    def shape(self, number: int, loop: int) -> Shape:
        return self.of.get((number, loop), (self.sizes[number][loop],))

    def _say(self, number: int, loop: int | None, sizes: Shape | None) -> bool:
        """Notes what a loop is made of; whether that is news."""
        if loop is None or sizes is None or len(sizes) < 2:
            return False
        if (number, loop) in self.of:
            self.agree = self.agree and self.of[number, loop] == sizes
            return False
        self.of[number, loop] = sizes
        self.agree = self.agree and prod(sizes) == self.sizes[number][loop]
        return True

    def _told(self) -> Iterator[tuple[int, int | None, Shape | None]]:
        for number in range(len(self.ops)):
            for value, dims in self.inputs(number):
                yield from self._told_by(number, unpadded(value), dims)
            for user in users(self.ops[number].results[0]):
                if user.name == "tensor.expand_shape":
                    yield from self._grouped(number, self.made(number), user, user.results[0])

    def _told_by(
        self, number: int, value: ir.Value, dims: tuple[Linear, ...]
    ) -> Iterator[tuple[int, int | None, Shape | None]]:
        collapse = producer(value, "tensor.collapse_shape")
        if collapse is not None and collapse.operands[0] in self.makers:
            yield from self._grouped(number, dims, collapse, collapse.operands[0])
        maker = self.makers.get(value)
        if maker is None:
            return
        for read, made in zip(dims, self.made(maker)):
            if read.loop is not None and made.loop is not None:
                yield number, read.loop, self.of.get((maker, made.loop))
                yield maker, made.loop, self.of.get((number, read.loop))

    @staticmethod
    def _grouped(
        number: int, dims: tuple[Linear, ...], reshape: ir.Operation, apart: ir.Value
    ) -> Iterator[tuple[int, int | None, Shape | None]]:
        sizes = shape_of(apart)
        for dim, group in zip(dims, reassociation_of(reshape)):
            yield number, dim.loop, tuple(sizes[each] for each in group)


def _image_op(number: int, factors: _Factors, before: Sequence[ImageOp]) -> ImageOp | None:
    op = factors.ops[number]
    loops = _SplitLoops([factors.shape(number, loop) for loop in range(len(factors.sizes[number]))])
    reads = []
    for value, dims in factors.inputs(number):
        read = _read(value, dims, loops) if isinstance(value.type, ir.ShapedType) else None
        maker = None if read is None else factors.makers.get(read.value)
        if read is None or (maker is not None and (maker >= number or before[maker].shape != read.shape)):
            return None
        reads.append(replace(read, maker=maker))
    written = [dim.loop for dim in factors.made(number)]
    split = tuple(loops.places(loop) for loop in written if loop is not None)
    kinds = [kind for loop, kind in enumerate(iterators(op)) for _ in loops.places(loop)]
    return None if None in written else ImageOp(op, loops.sizes, tuple(kinds), tuple(reads), split)


@dataclass(frozen=True)
class _SplitLoops:
    """The loops of an op, each of which becomes as many as it is a product of."""

    shapes: Sequence[Shape]

    @property
    def sizes(self) -> Shape:
        return tuple(size for shape in self.shapes for size in shape)

    def places(self, loop: int) -> Shape:
        """The numbers of the loops that a loop becomes."""
        first = sum(len(shape) for shape in self.shapes[:loop])
        return tuple(range(first, first + len(self.shapes[loop])))

    def dims(self, dim: Linear, size: int) -> tuple[Linear, ...] | None:
        """The dimensions that one of so many elements becomes; None where there is no saying."""
        if dim.loop is not None and len(self.shapes[dim.loop]) > 1:
            fits = size == prod(self.shapes[dim.loop])
            return tuple(Linear(((place, 1),)) for place in self.places(dim.loop)) if fits else None
        if any(len(self.shapes[loop]) > 1 for loop, _ in dim.terms):
            return None
        return (dim.renamed([self.places(loop)[0] for loop in range(len(self.shapes))]),)


def _read(value: ir.Value, dims: tuple[Linear, ...], loops: _SplitLoops) -> ImageRead | None:
    """How an op reads a value, in the loops of its image; None where that can't be said."""
    pad = producer(value, "tensor.pad")
    if pad is not None and not pads_with_zeros(pad):
        return None
    low, high = _zeros_of(pad, len(dims))
    value = unpadded(value)
    apart = [loops.dims(dim, size) for dim, size in zip(dims, shape_of(value))]
    found = [dim for each in apart if each is not None for dim in each]
    if None in apart:
        return None
    groups: list[Shape] = []
    shape: list[int] = []
    lows: list[int] = []
    highs: list[int] = []
    for each, size, before, behind in zip(apart, shape_of(value), low, high):
        count = 1 if each is None else len(each)
        if count > 1 and (before or behind):
            return None
        groups.append(tuple(range(len(shape), len(shape) + count)))
        shape += [size] if count == 1 else [loops.sizes[dim.terms[0][0]] for dim in each or ()]
        lows += [before, *[0] * (count - 1)]
        highs += [behind, *[0] * (count - 1)]
    value, whole = _reshaped(value, tuple(groups), shape)
    return ImageRead(None, value, tuple(found), tuple(shape), tuple(lows), tuple(highs), whole)


def _zeros_of(pad: ir.Operation | None, rank: int) -> tuple[Shape, Shape]:
    """How many zeros are before and behind each dimension."""
    if pad is None:
        return (0,) * rank, (0,) * rank
    low, high = (tuple(ir.DenseI64ArrayAttr(pad.attributes[name])) for name in ("static_low", "static_high"))
    return low, high


def _reshaped(value: ir.Value, groups: tuple[Shape, ...], shape: list[int]) -> tuple[ir.Value, tuple[Shape, ...]]:
    """The value behind a reshape between an image and its line, and which of its dimensions are several there."""
    collapse = producer(value, "tensor.collapse_shape")
    if collapse is not None and shape_of(collapse.operands[0]) == shape:
        return collapse.operands[0], tuple((dim,) for dim in range(len(shape)))
    expand = producer(value, "tensor.expand_shape")
    if expand is not None and len(groups) == len(shape):
        return expand.operands[0], tuple(tuple(group) for group in reassociation_of(expand))
    return value, groups
