"""npuflow-quantize-products: sums of products whose range is known are of i8, with sums of i32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from npuflow.bindings import ir
from npuflow.constants.known_tensors import KnownTensors, weight_constant
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import after_value, at
from npuflow.core.passes import Pass, PassContext, fail
from npuflow.core.registry import register_pass
from npuflow.errors import InputError
from npuflow.frontend.integer_products import GREATEST, Scale, dequantized, integer_sums, quantized, rescaled
from npuflow.frontend.narrow_products import narrow, readers
from npuflow.frontend.product_layers import (
    ProductLayer,
    end_of,
    ends_of,
    is_returned_only,
    moved_like,
    origin_of,
    product_layers,
)
from npuflow.frontend.rounded_early import Rounding
from npuflow.frontend.shared_scales import shared_scales
from npuflow.ops.contraction import operand_loops, users

# On a sum of products: the largest magnitude of each of its two factors, and of its end if that is rounded as well.
RANGES = "npu.ranges"


@register_pass
@dataclass(frozen=True)
class QuantizeProducts(Pass):
    """Makes sums of products of i8 of those of f32 that say in `npu.ranges` how large their factors get.

        %r = linalg.matmul {npu.ranges = [2.54, 1.0]} ins(%x, %w : tensor<8x32xf32>, ...) outs(%zeros : ...)

    becomes

        %q = linalg.generic ins(%x : tensor<8x32xf32>) outs(... : tensor<8x32xi8>) { * 50, to the nearest, clamped }
        %v = arith.constant dense<...> : tensor<32x16xi8>
        %s = linalg.generic ins(%q, %v : ...) outs(%zeros : tensor<8x16xi32>) { arith.extsi, arith.muli, arith.addi }
        %scale = arith.constant dense<...> : tensor<16xf32>
        %r = linalg.generic ins(%s, %scale : ...) outs(... : tensor<8x16xf32>) { arith.sitofp, arith.mulf }

    Numbers are from -127 to 127 and 0 stays 0, so that zeros of padding do. A tensor has one scale, its range over 127,
    and what is beyond is clamped. Constants are weights: they are rounded here, by a scale for each index that the
    result has as well (an output channel). A tensor is rounded once, where it is made, and whoever reads it reads that;
    one that only has elements of others, joined or moved about, is rounded where these are made, if
    nobody else reads them, so that they go to memory as i8. What is computed of each sum alone, up to what others read
    or where it meets another sum, and what sums are together, is rounded to bf16 where no layer asks for i8; to i8
    where a third number says how large it gets. What a function returns stays f32, and so does what sums begin at.

    The ranges come from running the network on data: `--compute-type=i8` does that and runs this pass first. What it
    makes is the program that others are compared with, so no pipeline has it.
    """

    name = "npuflow-quantize-products"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        layers = [layer for layer in product_layers(op) if RANGES in layer.op.attributes]
        work = _Quantization(shared_scales(_ranges_by_origin(layers)))
        handed = [_ranges_of(layer.op)[2:] for layer in layers]
        sums = [work.quantize(layer) for layer in layers]
        found = {end: list[float]() for value in sums for end in ends_of(value)}
        found |= {end_of(value): most for value, most in zip(sums, handed)}
        for value, most in found.items():
            if value not in work.factors and not is_returned_only(value):
                work.round(value, most[0] / GREATEST) if most else narrow(value)
        context.count("sums of products that are of i8", len(layers))


@dataclass(frozen=True)
class _IntegerFactor:
    """A tensor of i8, and what 1 is worth in it: a number, or one for each index of these of its dimensions."""

    value: ir.Value
    scales: Numbers
    dims: tuple[int, ...] = ()


@dataclass
class _Quantization:
    """Layers on their way: the tensors that are of i8 already, by what they were and are read as, and the weights."""

    most: Mapping[ir.Value, float]
    known: KnownTensors = field(default_factory=lambda: KnownTensors(most_elements=None))
    factors: dict[ir.Value, _IntegerFactor] = field(default_factory=dict)
    weights: dict[tuple[ir.Value, tuple[int, ...]], _IntegerFactor] = field(default_factory=dict)

    def quantize(self, layer: ProductLayer) -> ir.Value:
        """Makes a layer one of i8; returns its sums, in f32."""
        op, ranges = layer.op, _ranges_of(layer.op)
        with at(op):
            found = [self._factor(op, position, most) for position, most in zip(layer.factors, ranges[:2])]
            sums = integer_sums(op, {position: factor.value for position, factor in zip(layer.factors, found)})
            scales = [_along(op, position, factor) for position, factor in zip(layer.factors, found)]
            result = rescaled(sums, scales, op.operands[2])
        for name in op.attributes:
            if name.startswith("npu.") and name != RANGES:
                result.owner.attributes[name] = op.attributes[name]
        op.results[0].replace_all_uses_with(result)
        op.erase()
        return result

    def _factor(self, op: ir.Operation, position: int, most: float) -> _IntegerFactor:
        key = op.operands[position], _channels(op, position)
        if key not in self.weights:
            weights = self.known.once(op.operands[position])
            if weights is not None:
                self.weights[key] = _of_weights(op, key[1], weights)
        if key in self.weights:
            return self.weights[key]
        origin = origin_of(op.operands[position])
        known = self.factors.get(origin)
        if known is None:
            if most <= 0:
                raise _says_nothing(op, most, "a factor")
            known = self.round(origin, self.most.get(origin, most) / GREATEST)
        read = op.operands[position]
        return replace(known, value=moved_like(read, origin_of(read), known.value))

    def round(self, value: ir.Value, scale: float) -> _IntegerFactor:
        """Lets everybody read a tensor as it was rounded, which may be where its elements are made."""
        uses = readers(value)
        is_all = len(uses) == len(users(value))
        made = self._rounding(scale).early(value) if is_all else self._quantized(value, scale)
        with after_value(made):
            again = dequantized(made, scale)
        for user, index in uses:
            user.operands[index] = again
        known = self.factors[value] = self.factors[again] = _IntegerFactor(made, np.asarray(scale))
        return known

    def _rounding(self, scale: float) -> Rounding:
        def is_shared(origin: ir.Value) -> bool | None:
            known = self.factors.get(origin)
            if known is not None:
                return bool(known.scales == scale)
            return self.most[origin] / GREATEST == scale if origin in self.most else None

        def shared(part: ir.Value) -> ir.Value:
            origin = origin_of(part)
            known = self.factors.get(origin) or self.round(origin, scale)
            return moved_like(part, origin_of(part), known.value)

        return Rounding(lambda source: self._quantized(source, scale), is_shared, shared)

    def _quantized(self, value: ir.Value, scale: float) -> ir.Value:
        """A tensor rounded to i8, which is all that becomes of it: no layer's end is rounded to bf16 then."""
        with after_value(value):
            made = quantized(value, scale)
        self.factors.setdefault(value, _IntegerFactor(made, np.asarray(scale)))
        return made


def _ranges_by_origin(layers: Sequence[ProductLayer]) -> dict[ir.Value, float]:
    """How large tensors get that layers multiply with weights."""
    found: dict[ir.Value, float] = {}
    for layer in layers:
        for origin, most in zip(layer.origins, _ranges_of(layer.op)):
            if most > 0:
                found[origin] = max(most, found.get(origin, 0.0))
    return found


def _ranges_of(op: ir.Operation) -> list[float]:
    said = op.attributes[RANGES]
    numbers = list(said) if isinstance(said, ir.ArrayAttr) else []
    if len(numbers) not in (2, 3) or not all(isinstance(number, ir.FloatAttr) for number in numbers):
        raise fail(op, f"{RANGES} is no list of two or three numbers", "give one for each factor, and one for its end")
    ranges = [float(number.value) for number in numbers]
    if min(ranges[2:], default=1.0) <= 0:
        raise _says_nothing(op, ranges[2], "an end")
    return ranges


def _says_nothing(op: ir.Operation, most: float, of: str) -> InputError:
    return fail(op, f"a range of {most:g} tells nothing of {of}", "give its largest magnitude")


def _channels(op: ir.Operation, position: int) -> tuple[int, ...]:
    """The dimensions of a factor that the result has as well."""
    loops = operand_loops(op)
    return tuple(d for d, loop in enumerate(loops[position]) if loop >= 0 and loop in loops[-1])


def _of_weights(op: ir.Operation, dims: tuple[int, ...], weights: Numbers) -> _IntegerFactor:
    """Constants as i8, with a scale for each index that the result has too."""
    others = tuple(d for d in range(weights.ndim) if d not in dims)
    most, least = (found(axis=others, keepdims=True).astype(np.float64) for found in (weights.max, weights.min))
    greatest = np.maximum(most, -least)
    scales = np.where(greatest > 0, greatest, GREATEST) / GREATEST
    rounded = np.empty(weights.shape, np.int8)
    scale_of = np.broadcast_to(scales, weights.shape)
    for row in np.ndindex(weights.shape[:1]):  # all at once takes eight bytes of each several times
        rounded[row] = np.clip(np.rint(weights[row] / scale_of[row]), -GREATEST, GREATEST)
    value = weight_constant(rounded, ir.IntegerType.get_signless(8, op.context))
    return _IntegerFactor(value, scales.squeeze(axis=others), dims)


def _along(op: ir.Operation, position: int, factor: _IntegerFactor) -> Scale:
    """A factor's scales along the result's dimensions."""
    loops = operand_loops(op)
    return Scale(factor.scales, tuple(loops[-1].index(loops[position][d]) for d in factor.dims))
