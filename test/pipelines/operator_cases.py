"""Draws operator programs, with awkward sizes (1, primes, one off a multiple, larger than L1), and runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

from hypothesis import strategies as st
from judges import JUDGE

import npuflow
from npuflow.compiler.verify_function import Verified, verify_function
from npuflow.execute.references import Judge, Reference, make_references
from npuflow.target import load_device
from npuflow.testing.operator_chains import AttentionScores, ConvolutionPair
from npuflow.testing.operator_moves import Cast, Reshaped, Turned
from npuflow.testing.operator_places import Padded, Placed, PositionUse
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.operator_rows import Centre, Elementwise, Norm, Pairwise, Reduction, Softmax
from npuflow.testing.operator_slices import Gathered, Inserted, Joined, PickedBy, Scanned, Sliced, Sorted
from npuflow.testing.operator_steps import NARROWING, ElementwiseStep, is_possible
from npuflow.testing.operator_windows import CONVOLUTIONS, POOLINGS, Convolution, Pool, Pooling, WindowLayout, Windows
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import TYPES, Types

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
DEVICES = ("toy", "npu1", "npu2", "npu2.7", "npu4.0")
FLOATS = (Types("bf16", "f32"), Types("f32", "f32"))
SAME = (*TYPES, Types("i8", "i8"), Types("i16", "i16"), Types("bf16", "bf16"))

# An elementwise function of an unbounded sum could overflow.
_BOUNDED_ONLY = frozenset({ElementwiseStep.EXP})
_MOST_ELEMENTS = 40_000
_MOST_POINTS = 400_000
_LARGE = (1021, 4099, 20011)
_SHORT_PRODUCT = 64  # of longer ones nothing is left


@dataclass(frozen=True)
class Case:
    """A program, and where and how it is to be compiled."""

    program: OperatorProgram
    device: str
    pipeline: str
    options: str

    @property
    def text(self) -> str:
        """The pipeline's text."""
        return f"{self.pipeline}{{{self.options}}}" if self.options else self.pipeline

    def __str__(self) -> str:
        return f"{self.program} on {self.device} by {self.text}"


def reference_of(case: Case, judge: Judge = JUDGE) -> Reference:
    module = npuflow.parse(case.program.text(), npuflow.new_context())
    (reference,) = make_references(module.operation, "", 0, judge)
    return reference


def run(case: Case, reference: Reference) -> Verified:
    """The functional run of a case, part by part where it needs several; raises InputError where it is refused."""
    compiled = npuflow.compile(case.program.text(), case.text, device=case.device)
    (whole, *_) = compiled.sequences or compiled.functions
    return verify_function(whole.compiled, reference)


@st.composite
def cases(draw: st.DrawFn, programs: st.SearchStrategy[OperatorProgram], devices: Sequence[str] = DEVICES) -> Case:
    """A program on one of the devices, by any pipeline, on all cores or on any grid."""
    device = draw(st.sampled_from(devices))
    grid = draw(st.sampled_from(grids(device))) if draw(st.booleans()) else None
    options = f"grid={grid[0]},{grid[1]}" if grid else ""
    return Case(draw(programs), device, draw(st.sampled_from(pipelines(device))), options)


@cache
def grids(device: str) -> tuple[tuple[int, int], ...]:
    """All grids that a device has."""
    whole = load_device(device)
    every = range(1, whole.cores + 1)
    return tuple((rows, columns) for rows in every for columns in every if whole.has_grid(rows, columns))


@cache
def pipelines(device: str) -> tuple[str, ...]:
    """The pipelines that a device can be scheduled by: operands packed in L2 need one."""
    whole = load_device(device)
    return PIPELINES if whole.block_level != whole.kernel_level else PIPELINES[:-1]


@st.composite
def shapes(draw: st.DrawFn, low: int, high: int, most: int = _MOST_ELEMENTS) -> tuple[int, ...]:
    """Sizes whose product is bounded; sometimes one of them is larger than what L1 holds."""
    size = st.one_of(st.just(1), st.integers(1, 8), st.sampled_from([13, 16, 17, 31, 33, 63, 65]))
    found = draw(st.lists(size, min_size=low, max_size=high))
    if found and draw(st.integers(0, 3)) == 0:
        found[draw(st.integers(0, len(found) - 1))] = draw(st.sampled_from(_LARGE))
    return bounded(found, most)


def bounded(sizes: Sequence[int], most: int) -> tuple[int, ...]:
    """The sizes, the smaller of them cut until their product is at most `most`."""
    found = list(sizes)
    while prod(found) > most:
        cut = min((i for i, size in enumerate(found) if size > 1), key=lambda i: found[i])
        found[cut] //= 2
    return tuple(found)


@st.composite
def tails(
    draw: st.DrawFn, element: str, without: frozenset[ElementwiseStep] = _BOUNDED_ONLY
) -> tuple[ElementwiseStep, ...]:
    possible = [step for step in ElementwiseStep if is_possible(step, element) and step not in without]
    wide = [step for step in possible if step not in NARROWING]
    found = draw(st.lists(st.sampled_from(wide), unique=True, max_size=3))
    last = draw(st.sampled_from([None, *(step for step in possible if step in NARROWING)]))
    return (*found, *([last] if last is not None else []))


@st.composite
def windows(draw: st.DrawFn, results: Sequence[int], most_kernel: int = 4) -> Windows:
    """Windows that leave at least one element of the image beside its padding."""
    parts = []
    for size in results:
        kernel, stride = draw(st.integers(1, most_kernel)), draw(st.sampled_from([1, 1, 2, 3]))
        dilation = draw(st.sampled_from([1, 1, 2]))
        span = (size - 1) * stride + (kernel - 1) * dilation + 1
        low = draw(st.integers(0, min(kernel - 1, span - 1)))
        high = draw(st.integers(0, min(kernel - 1, span - 1 - low)))
        parts.append((kernel, stride, dilation, low, high))
    return Windows(*(tuple(values) for values in zip(*parts)))


def sized(layout: WindowLayout, sizes: dict[str, int]) -> tuple[tuple[str, int], ...]:
    letters = (d for d in layout.result + layout.image + layout.filter if d in sizes)
    return tuple((letter, sizes[letter]) for letter in dict.fromkeys(letters))


@st.composite
def convolutions(draw: st.DrawFn) -> Convolution:
    layout = draw(st.sampled_from(CONVOLUTIONS))
    is_large = draw(st.integers(0, 3)) == 0
    channels = st.sampled_from([16, 33, 64]) if is_large else st.one_of(st.just(1), st.integers(2, 20))
    extents = st.sampled_from([14, 17, 28]) if is_large else st.one_of(st.integers(1, 9), st.sampled_from([1, 13, 17]))
    few = st.sampled_from([1, 1, 2, 3])
    drawn = {letter: draw(channels if letter in "cf" else few if letter in "ngm" else extents) for letter in "nhwcfgm"}
    while prod(drawn[letter] for letter in {*layout.result, *layout.filter} if letter in drawn) > _MOST_POINTS:
        smaller = max("cf", key=lambda letter: drawn[letter])
        drawn[smaller] = -(-drawn[smaller] // 2)
    results = [drawn[letter] for letter in layout.spatial]
    types = Types("i8", "i32") if layout.is_quantised else draw(st.sampled_from(TYPES))
    return Convolution(
        layout,
        sized(layout, drawn),
        draw(windows(results)),
        types,
        by_name=draw(st.booleans()),
        tails=draw(tails(types.accumulator)),
        one_op_per_tail=draw(st.booleans()),
    )


@st.composite
def poolings(draw: st.DrawFn) -> Pooling:
    layout = draw(st.sampled_from(POOLINGS))
    drawn = {"n": draw(st.sampled_from([1, 2])), "c": draw(st.sampled_from([1, 3, 16, 33]))}
    drawn.update({letter: draw(st.one_of(st.integers(1, 17), st.just(28))) for letter in "hw"})
    element = draw(st.sampled_from(["i8", "i32", "bf16", "f32"]))
    found = draw(windows([drawn[letter] for letter in layout.spatial]))
    is_mean = layout.op.endswith("sum") and element in ("i32", "f32") and draw(st.booleans())
    return Pooling(layout, sized(layout, drawn), found, element, is_mean, tails=draw(tails(element)))


@st.composite
def products(draw: st.DrawFn) -> Product:
    kind = draw(st.sampled_from(Kind))
    types = draw(st.sampled_from([*TYPES, Types("i8", "f32")]))
    sizes = draw(shapes(len(kind.loops), len(kind.loops), 20 * _MOST_ELEMENTS))
    operands = kind.letters[:2]
    while (
        max(prod(size for loop, size in zip(kind.loops, sizes) if loop in dims) for dims in operands) > _MOST_ELEMENTS
    ):
        sizes = bounded(sizes, prod(sizes) // 2)
    head = types == Types("i8", "f32") or draw(st.booleans())
    return Product(
        kind,
        kind.sizes_of(*sizes),
        types,
        by_name=draw(st.booleans()),
        head=head,
        tails=draw(tails(types.accumulator)),
        one_op_per_tail=draw(st.booleans()),
    )


@st.composite
def elementwise(draw: st.DrawFn) -> Elementwise:
    shape = draw(shapes(0, 4))
    every = tuple(range(len(shape)))
    some = st.lists(st.sampled_from(every), unique=True).map(tuple) if every else st.just(())
    most = draw(st.sampled_from([3, 3, 3, 8, 16]))
    inputs = (every, *draw(st.lists(st.one_of(st.just(every), some), max_size=most)))
    types = draw(st.sampled_from(SAME))
    after = draw(tails(types.accumulator, frozenset()))
    by_name = draw(st.booleans())
    return Elementwise(shape, inputs, draw(st.sampled_from(Pairwise)), types, by_name, tails=after)


@st.composite
def reductions(draw: st.DrawFn) -> Reduction:
    shape = draw(shapes(1, 4))
    dims = draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1))
    types = draw(st.sampled_from(TYPES))
    kind, after = draw(st.sampled_from(Pool)), draw(tails(types.accumulator))
    return Reduction(shape, tuple(sorted(dims)), kind, types, draw(st.booleans()), tails=after)


@st.composite
def softmaxes(draw: st.DrawFn) -> Softmax:
    shape = draw(shapes(1, 4))
    types = draw(st.sampled_from(FLOATS))
    after = draw(
        st.sampled_from([(), (ElementwiseStep.TRUNCATE,), (ElementwiseStep.SCALE,), (ElementwiseStep.QUANTISE,)])
    )
    return Softmax(
        shape, draw(st.integers(0, len(shape) - 1)), types, draw(st.booleans()), draw(st.booleans()), tails=after
    )


@st.composite
def norms(draw: st.DrawFn) -> Norm:
    after = draw(
        st.sampled_from(
            [
                (),
                (ElementwiseStep.TRUNCATE,),
                (ElementwiseStep.RESIDUAL,),
                (ElementwiseStep.SILU, ElementwiseStep.TRUNCATE),
            ]
        )
    )
    centre, types = draw(st.sampled_from(Centre)), draw(st.sampled_from(FLOATS))
    return Norm(draw(shapes(1, 3)), centre, types, draw(st.booleans()), tails=after)


@st.composite
def transposes(draw: st.DrawFn) -> Turned:
    shape = draw(shapes(1, 4))
    element = draw(st.sampled_from(["i8", "i16", "i32", "bf16", "f32"]))
    permutation = tuple(draw(st.permutations(range(len(shape)))))
    return Turned(shape, permutation, element, draw(st.booleans()), tails=draw(tails(element)))


@st.composite
def reshapes(draw: st.DrawFn) -> Reshaped:
    shape = draw(shapes(1, 4))
    cuts = sorted(draw(st.sets(st.integers(1, len(shape) - 1)))) if len(shape) > 1 else []
    groups = tuple(tuple(range(a, b)) for a, b in zip([0, *cuts], [*cuts, len(shape)]))
    element = draw(st.sampled_from(["i8", "i32", "bf16", "f32"]))
    after = draw(tails(element))
    return Reshaped(shape, groups, element, draw(st.booleans()), draw(st.booleans()), tails=after)


@st.composite
def casts(draw: st.DrawFn) -> Cast:
    types = draw(st.sampled_from([*SAME, Types("i8", "f32"), Types("i32", "f32"), Types("f32", "bf16")]))
    after = draw(tails(types.accumulator))
    return Cast(draw(shapes(1, 3)), types, after or (ElementwiseStep.SCALE,))


@st.composite
def paddings(draw: st.DrawFn) -> Padded:
    shape = draw(shapes(1, 4))
    low, high = (tuple(draw(st.sampled_from([0, 0, 1, 2, 5])) for _ in shape) for _ in range(2))
    element = draw(st.sampled_from(["i8", "i16", "i32", "bf16", "f32"]))
    after = draw(st.one_of(st.just(()), tails(element)))
    return Padded(shape, low, high, draw(st.sampled_from([0, 0, 1, -100])), element, tails=after)


@st.composite
def places(draw: st.DrawFn) -> Placed:
    element = draw(st.sampled_from(["i8", "i16", "i32", "bf16", "f32"]))
    return Placed(draw(shapes(1, 4)), draw(st.sampled_from(PositionUse)), element, tails=draw(tails(element)))


_ELEMENTS = st.sampled_from(("i8", "i16", "i32", "bf16", "f32"))


@st.composite
def regions(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    """A shape, and offsets, sizes and strides of a part of it."""
    shape = draw(shapes(1, 4))
    offsets, sizes, strides = [], [], []
    for size in shape:
        offset = draw(st.integers(0, size - 1))
        stride = draw(st.sampled_from((1, 1, 1, 2, 3)))
        offsets.append(offset)
        strides.append(stride)
        sizes.append(draw(st.integers(1, (size - 1 - offset) // stride + 1)))
    return shape, tuple(offsets), tuple(sizes), tuple(strides)


@st.composite
def slices(draw: st.DrawFn) -> Sliced:
    element = draw(_ELEMENTS)
    return Sliced(*draw(regions()), element, draw(st.booleans()), tails=draw(tails(element)))


@st.composite
def insertions(draw: st.DrawFn) -> Inserted:
    element = draw(_ELEMENTS)
    return Inserted(*draw(regions()), element, draw(st.booleans()), tails=draw(tails(element)))


@st.composite
def concatenations(draw: st.DrawFn) -> Joined:
    shape, element = draw(shapes(1, 4)), draw(_ELEMENTS)
    dimension = draw(st.integers(0, len(shape) - 1))
    lengths = draw(st.lists(st.sampled_from((1, 2, 3, 8, 13)), min_size=2, max_size=8))
    return Joined(shape, dimension, tuple(lengths), element, draw(st.booleans()), tails=draw(tails(element)))


@st.composite
def gathers(draw: st.DrawFn) -> Gathered:
    shape, element, by = draw(shapes(1, 3, 4000)), draw(_ELEMENTS), draw(st.sampled_from(PickedBy))
    dimension = draw(st.integers(0, len(shape) - 1))
    most = 100 if by in (PickedBy.REPEATED, PickedBy.DATA) else shape[dimension]
    count = draw(st.integers(1, min(most, 100)))
    return Gathered(shape, dimension, count, by, element, tails=draw(tails(element)))


@st.composite
def scans(draw: st.DrawFn) -> Scanned:
    shape, element = draw(shapes(1, 3, 4000)), draw(st.sampled_from(("i32", "f32", "bf16")))
    dimension = draw(st.integers(0, len(shape) - 1))
    is_product = draw(st.booleans()) and shape[dimension] <= _SHORT_PRODUCT
    return Scanned(shape, dimension, element, draw(st.booleans()), is_product)


@st.composite
def sorts(draw: st.DrawFn) -> Sorted:
    shape, element = draw(shapes(1, 3, 2000)), draw(_ELEMENTS)
    return Sorted(shape, draw(st.integers(0, len(shape) - 1)), element, draw(st.booleans()))


@st.composite
def convolution_pairs(draw: st.DrawFn) -> ConvolutionPair:
    channels = tuple(draw(st.integers(1, 17)) for _ in range(3))
    h, w = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    kernel = draw(st.integers(1, min(3, h, w)))
    return ConvolutionPair(h, w, channels, kernel, draw(st.sampled_from([*TYPES[:1], *TYPES[2:]])))


@st.composite
def attention_scores(draw: st.DrawFn) -> AttentionScores:
    sizes = [draw(st.one_of(st.integers(1, 9), st.sampled_from([31, 33, 64]))) for _ in range(3)]
    return AttentionScores(*sizes, draw(st.sampled_from(FLOATS)))


FAMILIES: dict[type[OperatorProgram], st.SearchStrategy[OperatorProgram]] = {
    Convolution: convolutions(),
    Pooling: poolings(),
    Product: products(),
    Elementwise: elementwise(),
    Reduction: reductions(),
    Softmax: softmaxes(),
    Norm: norms(),
    Turned: transposes(),
    Reshaped: reshapes(),
    Cast: casts(),
    Padded: paddings(),
    Placed: places(),
    Sliced: slices(),
    Joined: concatenations(),
    Inserted: insertions(),
    Gathered: gathers(),
    Scanned: scans(),
    Sorted: sorts(),
    ConvolutionPair: convolution_pairs(),
    AttentionScores: attention_scores(),
}
