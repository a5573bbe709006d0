"""Convolutions and pooling in every layout, as named ops and as linalg.generic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import ClassVar

from npuflow.execute.arrays import is_float
from npuflow.testing.operator_text import Indexed, Loops, Value, Writer
from npuflow.testing.operators import Tailed
from npuflow.testing.programs import Types

_SPATIAL = "hw"
ZERO_POINTS = (3, -5)


@dataclass(frozen=True)
class WindowLayout:
    """A named op and the dimensions of its image, filter and result, a letter each.

    `h` and `w` are where windows slide; other letters of the result are parallel, those that only the operands have are
    summed over.
    """

    op: str
    image: str
    filter: str
    result: str

    @property
    def spatial(self) -> str:
        return "".join(letter for letter in _SPATIAL if letter in self.image)

    @property
    def is_quantised(self) -> bool:
        return self.op.endswith("_q")

    @property
    def channel(self) -> int:
        """The innermost dimension of the result that is neither spatial nor the batch."""
        return max(i for i, letter in enumerate(self.result) if letter not in _SPATIAL)


CONVOLUTIONS = tuple(
    WindowLayout(*row.split())
    for row in (
        "conv_1d_nwc_wcf nwc wcf nwf",
        "conv_1d_ncw_fcw ncw fcw nfw",
        "conv_2d_nhwc_hwcf nhwc hwcf nhwf",
        "conv_2d_nhwc_fhwc nhwc fhwc nhwf",
        "conv_2d_nchw_fchw nchw fchw nfhw",
        "conv_2d_nhwc_hwcf_q nhwc hwcf nhwf",
        "conv_2d_nhwc_fhwc_q nhwc fhwc nhwf",
        "conv_2d_nchw_fchw_q nchw fchw nfhw",
        "conv_2d_ngchw_fgchw ngchw fgchw ngfhw",
        "conv_2d_ngchw_gfchw ngchw gfchw ngfhw",
        "conv_2d_nhwgc_gfhwc nhwgc gfhwc nhwgf",
        "depthwise_conv_1d_nwc_wc nwc wc nwc",
        "depthwise_conv_2d_nhwc_hwc nhwc hwc nhwc",
        "depthwise_conv_2d_nchw_chw nchw chw nchw",
        "depthwise_conv_2d_nhwc_hwcm nhwc hwcm nhwcm",
        "depthwise_conv_2d_nhwc_hwc_q nhwc hwc nhwc",
    )
)
POOLINGS = tuple(
    WindowLayout(*row.split())
    for row in (
        "pooling_nhwc_max nhwc hw nhwc",
        "pooling_nhwc_min nhwc hw nhwc",
        "pooling_nhwc_sum nhwc hw nhwc",
        "pooling_nchw_max nchw hw nchw",
        "pooling_nchw_sum nchw hw nchw",
        "pooling_nwc_max nwc w nwc",
    )
)


def layout_named(op: str) -> WindowLayout:
    return next(layout for layout in (*CONVOLUTIONS, *POOLINGS) if layout.op == op)


@dataclass(frozen=True)
class Windows:
    """Kernel, stride, dilation and padding along each spatial dimension."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @staticmethod
    def plain(kernel: Sequence[int], stride: int = 1, pad: int = 0, dilation: int = 1) -> Windows:
        count = len(kernel)
        return Windows(tuple(kernel), (stride,) * count, (dilation,) * count, (pad,) * count, (pad,) * count)

    def image_sizes(self, results: Sequence[int]) -> list[int]:
        """How large the image is, padding not counted."""
        return [
            (size - 1) * self.strides[i] + (self.kernel[i] - 1) * self.dilations[i] + 1 - self.low[i] - self.high[i]
            for i, size in enumerate(results)
        ]

    def attributes(self) -> str:
        kind = f"tensor<{len(self.kernel)}xi64>"
        return f"dilations = dense<{list(self.dilations)}> : {kind}, strides = dense<{list(self.strides)}> : {kind}"

    def __str__(self) -> str:
        parts = ["k" + "x".join(map(str, self.kernel)), "s" + "x".join(map(str, self.strides))]
        parts += ["d" + "x".join(map(str, self.dilations))] if set(self.dilations) != {1} else []
        parts += [f"p{','.join(map(str, (*self.low, *self.high)))}"] if any((*self.low, *self.high)) else []
        return "-".join(parts)


@dataclass(frozen=True)
class Convolution(Tailed):
    """`shape` gives the size of every letter of the layout but the kernel's; `h` and `w` are the result's."""

    family: ClassVar[str] = "convolution"
    in_label: ClassVar[tuple[str, ...]] = ("layout",)

    layout: WindowLayout
    shape: tuple[tuple[str, int], ...]
    windows: Windows
    types: Types
    by_name: bool = True

    @property
    def label(self) -> str:
        return self.layout.op

    @property
    def macs(self) -> int:
        return prod(dict(self.shape).values()) * prod(self.windows.kernel)

    def build(self, writer: Writer) -> Value:
        layout, sizes = self.layout, dict(self.shape)
        padded = window_input(writer, layout, sizes, self.windows, self.types.operand, 0)
        kernel = dict(zip(layout.spatial, self.windows.kernel))
        weights = writer.argument(self.types.operand, [kernel.get(d, sizes.get(d, 0)) for d in layout.filter])
        target = writer.filled(0, self.types.accumulator, [sizes[d] for d in layout.result])
        if self.by_name:
            value = self._named(writer, padded, weights, target)
        else:
            value = self._generic(writer, padded, weights, target)
        return self.behind(writer, value, layout.channel)

    def _named(self, writer: Writer, image: Value, weights: Value, target: Value) -> Value:
        scalars = [(writer.constant(p, "i32"), "i32") for p in ZERO_POINTS if self.layout.is_quantised]
        return writer.named(f"linalg.{self.layout.op}", [image, weights], target, self.windows.attributes(), scalars)

    def _generic(self, writer: Writer, image: Value, weights: Value, target: Value) -> Value:
        layout, element = self.layout, self.types.accumulator
        summed = [d for d in dict.fromkeys(layout.filter + layout.image) if d not in layout.result]
        loops = Loops(tuple(layout.result), (*(f"k{d}" for d in layout.spatial), *summed))
        points = [writer.constant(p, element) for p in ZERO_POINTS if layout.is_quantised]

        def body(left: str, right: str, total: str) -> str:
            factors = [writer.convert(value, self.types.operand, element) for value in (left, right)]
            if points:
                factors = [writer.scalar(f"arith.subi : {element}", f, p) for f, p in zip(factors, points)]
            suffix = "f" if is_float(element) else "i"
            product = writer.scalar(f"arith.mul{suffix} : {element}", *factors)
            return writer.scalar(f"arith.add{suffix} : {element}", total, product)

        inputs = [
            Indexed(image, window_indices(layout, self.windows)),
            Indexed(weights, tuple(f"k{d}" if d in layout.spatial else d for d in layout.filter)),
        ]
        return writer.generic(loops, inputs, Indexed(target, tuple(layout.result)), body)


class Pool(Enum):
    """What pooling leaves of a window."""

    MAX = "max"
    MIN = "min"
    SUM = "sum"
    MEAN = "mean"


@dataclass(frozen=True)
class Pooling(Tailed):
    """Windows of one tensor; a mean is a sum times the reciprocal of the window's size, or a division of integers."""

    family: ClassVar[str] = "pooling"
    in_label: ClassVar[tuple[str, ...]] = ("layout", "is_mean")

    layout: WindowLayout
    shape: tuple[tuple[str, int], ...]
    windows: Windows
    element: str
    is_mean: bool = False

    @property
    def label(self) -> str:
        return self.layout.op.replace("sum", "mean") if self.is_mean else self.layout.op

    @property
    def kind(self) -> Pool:
        return Pool(self.layout.op.rpartition("_")[2])

    def build(self, writer: Writer) -> Value:
        layout, sizes = self.layout, dict(self.shape)
        neutral = neutral_of(self.kind, self.element)
        image = window_input(writer, layout, sizes, self.windows, self.element, neutral)
        window = writer.empty(self.element, self.windows.kernel)
        target = writer.filled(neutral, self.element, [sizes[d] for d in layout.result])
        value = writer.named(f"linalg.{layout.op}", [image, window], target, self.windows.attributes())
        if self.is_mean:
            value = divided(writer, value, prod(self.windows.kernel))
        return self.behind(writer, value, layout.channel)


def neutral_of(kind: Pool, element: str) -> float:
    """What changes no result of that kind."""
    if kind in (Pool.SUM, Pool.MEAN):
        return 0
    bits = int(element.lstrip("bfi"))
    lowest = float("-inf") if is_float(element) else -(2 ** (bits - 1))
    highest = float("inf") if is_float(element) else 2 ** (bits - 1) - 1
    return lowest if kind is Pool.MAX else highest


def divided(writer: Writer, value: Value, count: int) -> Value:
    """Every element over a constant."""
    indices = tuple(f"d{i}" for i in range(len(value.shape)))

    def body(number: str, _: str) -> str:
        if is_float(value.element):
            return writer.scalar(f"arith.mulf : {value.element}", number, writer.constant(1.0 / count, value.element))
        return writer.scalar(f"arith.divsi : {value.element}", number, writer.constant(count, value.element))

    target = writer.empty(value.element, value.shape)
    return writer.generic(Loops(indices), [Indexed(value, indices)], Indexed(target, indices), body)


def window_input(
    writer: Writer, layout: WindowLayout, sizes: dict[str, int], windows: Windows, element: str, padding: float
) -> Value:
    """The image that windows slide over: an argument, padded."""
    spatial = dict(zip(layout.spatial, windows.image_sizes([sizes[d] for d in layout.spatial])))
    image = writer.argument(element, [spatial.get(d, sizes.get(d, 0)) for d in layout.image])
    low, high = dict(zip(layout.spatial, windows.low)), dict(zip(layout.spatial, windows.high))
    return writer.pad(image, [low.get(d, 0) for d in layout.image], [high.get(d, 0) for d in layout.image], padding)


def window_indices(layout: WindowLayout, windows: Windows) -> tuple[str, ...]:
    """How loops index the image: where a window begins, and the place in it."""
    steps = dict(zip(layout.spatial, zip(windows.strides, windows.dilations)))
    return tuple(f"{d} * {steps[d][0]} + k{d} * {steps[d][1]}" if d in steps else d for d in layout.image)
