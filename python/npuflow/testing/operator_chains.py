"""Small pieces of networks: several operators behind each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from npuflow.testing.operator_products import sum_of_products
from npuflow.testing.operator_rows import Centre, norm_of, softmax_of
from npuflow.testing.operator_steps import ElementwiseStep, apply_steps, widened
from npuflow.testing.operator_text import Indexed, Value, Writer
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import Types


@dataclass(frozen=True)
class ConvolutionPair(OperatorProgram):
    """A square convolution, an activation, a narrower type, and a pointwise convolution; h and w stay as they are."""

    family: ClassVar[str] = "convolution chain"

    h: int
    w: int
    channels: tuple[int, int, int]
    kernel: int
    types: Types

    @property
    def macs(self) -> int:
        first, middle, last = self.channels
        return self.h * self.w * middle * (first * self.kernel**2 + last)

    def build(self, writer: Writer) -> Value:
        first, middle, last = self.channels
        operand, accumulator = self.types.operand, self.types.accumulator
        image = writer.argument(operand, (1, self.h, self.w, first))
        low, high = (self.kernel - 1) // 2, self.kernel // 2
        padded = writer.pad(image, (0, low, low, 0), (0, high, high, 0), 0)
        weights = writer.argument(operand, (self.kernel, self.kernel, first, middle))
        target = writer.filled(0, accumulator, (1, self.h, self.w, middle))
        value = writer.named("linalg.conv_2d_nhwc_hwcf", [padded, weights], target)
        narrow = (ElementwiseStep.TRUNCATE,) if self.types.truncated == operand else ()
        value = apply_steps(writer, value, (ElementwiseStep.BIAS, ElementwiseStep.RELU, *narrow), 3)
        pointwise = writer.argument(value.element, (1, 1, middle, last))
        target = writer.filled(0, accumulator, (1, self.h, self.w, last))
        return writer.named("linalg.conv_2d_nhwc_hwcf", [value, pointwise], target)


@dataclass(frozen=True)
class AttentionScores(OperatorProgram):
    """An RMS norm, a product with weights, and a softmax of its rows."""

    family: ClassVar[str] = "norm, matmul, softmax"

    rows: int
    width: int
    columns: int
    types: Types

    @property
    def macs(self) -> int:
        return self.rows * self.width * self.columns

    def build(self, writer: Writer) -> Value:
        accumulator = self.types.accumulator
        source = widened(writer, writer.argument(self.types.operand, (self.rows, self.width)), accumulator, head=False)
        normed = norm_of(writer, source, Centre.RMS)
        narrow = (ElementwiseStep.TRUNCATE,) if self.types.operand == "bf16" else ()
        normed = apply_steps(writer, normed, narrow, 1)
        weights = writer.argument(normed.element, (self.width, self.columns))
        target = writer.filled(0, accumulator, (self.rows, self.columns))
        left, right = Indexed(normed, ("m", "k")), Indexed(weights, ("k", "n"))
        scores = sum_of_products(writer, left, right, target, ("m", "n"))
        return softmax_of(writer, scores, 1, by_name=True)


@dataclass(frozen=True)
class Layers(OperatorProgram):
    """Layers of five operators each, behind each other: a norm, a product, a softmax, a product, an addition."""

    family: ClassVar[str] = "layers"

    count: int
    rows: int
    width: int

    def build(self, writer: Writer) -> Value:
        value = writer.argument("f32", (self.rows, self.width))
        weights = writer.argument("f32", (self.width, self.width))
        for _ in range(self.count):
            before = value
            value = self._product(writer, norm_of(writer, value, Centre.RMS), weights)
            value = self._product(writer, softmax_of(writer, value, 1, by_name=True), weights)
            target = writer.empty("f32", (self.rows, self.width))
            value = writer.named("linalg.add", [value, before], target)
        return value

    def _product(self, writer: Writer, left: Value, right: Value) -> Value:
        target = writer.filled(0, "f32", (self.rows, self.width))
        return writer.named("linalg.matmul", [left, right], target)
