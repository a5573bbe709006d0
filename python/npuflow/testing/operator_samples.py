"""A fixed list of operators, types and shapes that stands for what is supported: what the table in the docs shows.

Each sample is timed at a shape of common size, and verified at awkward ones: odd, prime or beside a multiple, and 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product as pairs

from npuflow.testing.operator_chains import AttentionScores, ConvolutionPair
from npuflow.testing.operator_families import OPERATOR_FAMILIES
from npuflow.testing.operator_moves import Cast, Reshaped, Turned
from npuflow.testing.operator_places import Padded, Placed, PositionUse
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.operator_rows import Centre, Elementwise, Norm, Pairwise, Reduction, Softmax
from npuflow.testing.operator_slices import Gathered, Inserted, Joined, PickedBy, Scanned, Sliced, Sorted
from npuflow.testing.operator_steps import ElementwiseStep
from npuflow.testing.operator_windows import (
    CONVOLUTIONS,
    POOLINGS,
    Convolution,
    Pool,
    Pooling,
    WindowLayout,
    Windows,
    layout_named,
)
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import TYPES, Types

I8, I16, I32, BF16, F32 = TYPES
SAME_BF16 = Types("bf16", "bf16")
_BOTH = (I8, BF16)


@dataclass(frozen=True)
class Sample:
    """An operator with its types: `timed` at one shape, `verified` at others."""

    types: str
    timed: OperatorProgram
    verified: tuple[OperatorProgram, ...]

    @property
    def operator(self) -> str:
        steps = [step.value for step in getattr(self.timed, "tails", ())]
        names = [step for step in steps if step != self.timed.label]
        return " + ".join([self.timed.label, *names])

    @property
    def family(self) -> str:
        return self.timed.family


def samples() -> tuple[Sample, ...]:
    """All samples, family by family."""
    found = (*_convolutions(), *_poolings(), *_products(), *_rows(), *_moves(), *_places(), *_slices(), *_chains())
    order = [family.family for family in OPERATOR_FAMILIES]
    return tuple(sorted(found, key=lambda sample: order.index(sample.family)))


def _convolutions() -> Iterator[Sample]:
    for layout in CONVOLUTIONS:
        is_common = layout.op in ("conv_2d_nhwc_hwcf", "depthwise_conv_2d_nhwc_hwc")
        for types in TYPES if is_common else (I8,):
            yield _convolution(layout, types)
    hwcf = layout_named("conv_2d_nhwc_hwcf")
    yield _convolution(hwcf, I8, (ElementwiseStep.BIAS, ElementwiseStep.RELU, ElementwiseStep.REQUANTISE))
    yield _convolution(
        hwcf, BF16, (ElementwiseStep.BIAS, ElementwiseStep.GELU, ElementwiseStep.RESIDUAL, ElementwiseStep.TRUNCATE)
    )


def _convolution(layout: WindowLayout, types: Types, tails: tuple[ElementwiseStep, ...] = ()) -> Sample:
    groups = {"g": 4, "c": 16, "f": 16} if "g" in layout.image else {}
    sizes = {"n": 1, "h": 28, "w": 28, "c": 64, "f": 64, "m": 2, **groups}
    count = len(layout.spatial)
    awkward = {"n": 2, "h": 5, "w": 7, "c": 3, "f": 5, "g": 3, "m": 3}
    windows = Windows((3, 2)[:count], (2, 1)[:count], (1, 2)[:count], (1, 0)[:count], (0, 2)[:count])
    ones = dict.fromkeys("nhwcfgm", 1)

    def program(sizes: dict[str, int], windows: Windows) -> Convolution:
        return Convolution(layout, sized(layout, sizes), windows, types, tails=tails)

    plain, whole = Windows.plain((3,) * count, pad=1), Windows.plain((1,) * count)
    return Sample(str(types), program(sizes, plain), (program(awkward, windows), program(ones, whole)))


def sized(layout: WindowLayout, sizes: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """A size for every letter of a layout, the result's first."""
    return tuple((d, sizes[d]) for d in dict.fromkeys(layout.result + layout.image + layout.filter) if d in sizes)


def _poolings() -> Iterator[Sample]:
    for layout in POOLINGS:
        elements = ("i8", "bf16", "f32") if layout.op == "pooling_nhwc_max" else ("i8",)
        for element in elements:
            yield _pooling(layout, element, is_mean=False)
    yield _pooling(layout_named("pooling_nhwc_sum"), "f32", is_mean=True)


def _pooling(layout: WindowLayout, element: str, is_mean: bool) -> Sample:
    count = len(layout.spatial)

    def program(h: int, w: int, c: int, windows: Windows) -> Pooling:
        sizes = {"n": 1, "h": h, "w": w, "c": c}
        return Pooling(layout, tuple((d, sizes[d]) for d in layout.result), windows, element, is_mean)

    timed = program(28, 28, 64, Windows.plain((3,) * count, stride=2, pad=1))
    odd = Windows((3, 2)[:count], (2, 3)[:count], (1, 1)[:count], (1, 0)[:count], (0, 1)[:count])
    return Sample(element, timed, (program(7, 5, 3, odd), program(1, 1, 1, Windows.plain((2,) * count))))


_PRODUCTS = {
    Kind.MATVEC: ((1024, 1024), (37, 41)),
    Kind.VECMAT: ((1024, 1024), (37, 41)),
    Kind.BATCH_MATVEC: ((8, 256, 256), (3, 37, 41)),
    Kind.BATCH_VECMAT: ((8, 256, 256), (3, 37, 41)),
    Kind.DOT: ((65536,), (1021,)),
    Kind.BATCH_MATMUL: ((4, 128, 128, 128), (3, 23, 39, 51)),
    Kind.MATMUL: ((256, 256, 256), (37, 43, 41)),
    Kind.TURNED_MATVEC: ((1024, 1024), (37, 41)),
    Kind.TURNED_VECMAT: ((1024, 1024), (37, 41)),
    Kind.OUTER: ((512, 512), (37, 41)),
    Kind.TWO_BATCHES: ((2, 4, 64, 64, 64), (2, 3, 7, 11, 13)),
    Kind.TWO_SUMS: ((64, 16, 64, 64), (7, 3, 11, 13)),
}


def _products() -> Iterator[Sample]:
    for kind, (large, odd) in _PRODUCTS.items():
        for types in TYPES if kind is Kind.MATVEC else _BOTH:
            yield Sample(str(types), *_product(kind, large, odd, types))
    large, odd = _PRODUCTS[Kind.MATVEC]
    tails = (ElementwiseStep.BIAS, ElementwiseStep.SILU, ElementwiseStep.TRUNCATE)
    yield Sample(str(BF16), *_product(Kind.MATVEC, large, odd, BF16, tails))
    yield Sample("i8->f32 dequantised", *_product(Kind.MATVEC, large, odd, Types("i8", "f32"), head=True))


def _product(
    kind: Kind,
    large: tuple[int, ...],
    odd: tuple[int, ...],
    types: Types,
    tails: tuple[ElementwiseStep, ...] = (),
    head: bool = False,
) -> tuple[Product, tuple[Product, ...]]:
    shapes = (large, odd, (1,) * len(odd))
    timed, *others = (Product(kind, kind.sizes_of(*s), types, not head, head, tails=tails) for s in shapes)
    return timed, tuple(others)


_MATRICES = ((512, 512), (37, 41), (1, 1))


def _rows() -> Iterator[Sample]:
    whole, rows = (0, 1), (1,)
    for types in (Types("i8", "i8"), I32, SAME_BF16, F32):
        yield _sample(str(types), *(Elementwise(s, (whole, whole), Pairwise.ADD, types) for s in _MATRICES))
    elementwise: tuple[tuple[tuple[tuple[int, ...], ...], Pairwise, Types, tuple[ElementwiseStep, ...]], ...] = (
        ((whole, rows), Pairwise.MUL, SAME_BF16, ()),
        ((whole, whole, whole, rows), Pairwise.ADD, F32, ()),
        ((whole,), Pairwise.ADD, BF16, (ElementwiseStep.GELU, ElementwiseStep.TRUNCATE)),
        ((whole, whole), Pairwise.MUL, BF16, (ElementwiseStep.SILU, ElementwiseStep.TRUNCATE)),
    )
    for inputs, operation, types, tails in elementwise:
        programs = (Elementwise(s, inputs, operation, types, tails=tails) for s in _MATRICES)
        yield _sample(str(types), *programs)
    for kind in Pool:
        for types in _BOTH:
            yield _sample(str(types), *(Reduction(s, (1,), kind, types) for s in _MATRICES))
    yield _sample(str(F32), *(Reduction(s, (0,), Pool.SUM, F32) for s in _MATRICES))
    yield _sample(str(F32), *(Reduction(s, (0, 1), Pool.SUM, F32) for s in _MATRICES))
    narrowed: tuple[tuple[Types, tuple[ElementwiseStep, ...]], ...] = ((F32, ()), (BF16, (ElementwiseStep.TRUNCATE,)))
    for types, tails in narrowed:
        yield _sample(str(types), *(Softmax(s, 1, types, tails=tails) for s in _MATRICES))
        for centre in Centre:
            yield _sample(str(types), *(Norm(s, centre, types, tails=tails) for s in _MATRICES))


def _moves() -> Iterator[Sample]:
    for element in ("i8", "bf16", "f32"):
        yield _sample(element, *(Turned(s, (1, 0), element) for s in ((512, 512), (37, 41))))
    for element in ("i8", "f32"):
        shapes = ((8, 64, 512), (3, 13, 41), (1, 1, 7))  # of one element, nothing may be left
        yield _sample(element, *(Reshaped(s, ((0, 1), (2,)), element, tails=(ElementwiseStep.RELU,)) for s in shapes))
    casts: tuple[tuple[Types, tuple[ElementwiseStep, ...]], ...] = (
        (Types("bf16", "f32"), ()),
        (F32, (ElementwiseStep.TRUNCATE,)),
        (Types("i8", "f32"), (ElementwiseStep.CHANNEL_SCALE,)),
        (F32, (ElementwiseStep.QUANTISE,)),
        (I32, (ElementwiseStep.REQUANTISE,)),
    )
    for types, tails in casts:
        yield _sample(str(types), *(Cast(s, types, tails) for s in _MATRICES))


def _places() -> Iterator[Sample]:
    awkward = ((37, 41), (1, 1))
    for element in ("i8", "f32"):
        for number in (0, 3):
            whole = Padded((510, 509), (1, 2), (1, 1), number, element)
            yield _sample(element, whole, *(Padded(s, (3, 0), (0, 2), number, element) for s in awkward))
        for place in PositionUse:
            # Of one element, both do nothing.
            yield _sample(element, *(Placed(s, place, element) for s in ((512, 512), (37, 41), (1, 3))))


def _slices() -> Iterator[Sample]:
    for element in ("i8", "bf16", "f32"):
        parts = (((512, 512), (3, 64), (500, 384)), ((37, 41), (5, 1), (11, 40)), ((2, 1), (1, 0), (1, 1)))
        yield _sample(element, *(Sliced(*part, (1, 1), element) for part in parts))
        yield _sample(element, Sliced((512, 512), (1, 0), (255, 512), (2, 1), element, head=True),
                      Sliced((37, 41), (2, 1), (9, 14), (4, 3), element, head=True))  # fmt: skip
        joined = (((512, 512), 1, (256, 128, 128)), ((37, 41), 0, (1, 5, 31)), ((1, 1), 1, (1, 1)))
        yield _sample(element, *(Joined(shape, d, lengths, element) for shape, d, lengths in joined))
        yield _sample(element, Joined((64, 512), 0, (64,) * 8, element), Joined((3, 5, 7), 1, (1, 2, 3) * 3, element))
    for element, zeros in pairs(("i8", "f32"), (True, False)):
        spread = (((256, 512), (1, 2), (127, 255), (2, 2)), ((37, 41), (0, 3), (13, 7), (3, 5)),
                  ((1, 4), (0, 3), (1, 1), (1, 1)))  # fmt: skip
        yield _sample(element, *(Inserted(*each, element, into_zeros=zeros) for each in spread))
    for element, by in pairs(("i8", "f32"), PickedBy):
        picked = (((256, 256), 0, 512), ((5, 37, 3), 1, 111), ((1, 1), 1, 1))
        fewer = (((256, 256), 0, 128), ((5, 37, 3), 1, 17), ((1, 1), 1, 1))
        found = picked if by in (PickedBy.REPEATED, PickedBy.DATA) else fewer
        yield _sample(element, *(Gathered(shape, d, count, by, element) for shape, d, count in found))
    for element, multiplies in (("i32", False), ("bf16", False), ("f32", False), ("f32", True)):
        scans = (((64, 512), 1), ((37, 41), 0), ((1, 1), 1))
        yield _sample(element, *(Scanned(*each, element, product=multiplies) for each in scans))
    for element in ("i32", "f32"):
        yield _sample(element, *(Sorted(*each, element) for each in (((64, 128), 1), ((37, 41), 0), ((1, 1), 1))))


def _chains() -> Iterator[Sample]:
    for types in (I8, F32):
        sizes = ((14, 14, (32, 64, 32), 3), (5, 7, (3, 5, 4), 3))
        yield _sample(str(types), *(ConvolutionPair(*s, types) for s in sizes))
    for types in (BF16, F32):
        shapes = ((128, 256, 128), (9, 37, 11))
        yield _sample(str(types), *(AttentionScores(*s, types) for s in shapes))


def _sample(types: str, timed: OperatorProgram, *verified: OperatorProgram) -> Sample:
    return Sample(types, timed, verified)
