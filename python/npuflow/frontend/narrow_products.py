"""npuflow-narrow-products: what f32 networks multiply, and what their layers hand on, is bf16."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from npuflow.bindings import arith, ir, linalg
from npuflow.constants.known_tensors import KnownTensors, weight_constant
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import after_value, element_bytes, element_type_of, empty, generic_op, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.fold_extensions import steps_of
from npuflow.frontend.integer_pools import pooled_from
from npuflow.frontend.product_layers import (
    ends_of,
    goes_on,
    is_returned_only,
    joined_like,
    moved_like,
    origin_of,
    product_layers,
)
from npuflow.ops.contraction import producer, users
from npuflow.ops.linear import maps_of
from npuflow.ops.window_sums import match_window_sums

_NARROW_BYTES = 2  # of bf16
_LARGEST = float.fromhex("0x1.fep127")  # of its numbers


@register_pass
@dataclass(frozen=True)
class NarrowProducts(Pass):
    """Rounds to bf16 what sums of products of f32 multiply, and what layers hand on to others; sums stay f32.

        %r = linalg.matmul ins(%x, %w : tensor<8x32xf32>, tensor<32x16xf32>) outs(%zeros : tensor<8x16xf32>)

    becomes

        %n = linalg.generic ins(%x : tensor<8x32xf32>) outs(... : tensor<8x32xbf16>) { arith.truncf }
        %a = linalg.generic ins(%n : tensor<8x32xbf16>) outs(... : tensor<8x32xf32>) { arith.extf }
        %v = arith.constant dense_resource<w> : tensor<32x16xbf16>
        %b = linalg.generic ins(%v : tensor<32x16xbf16>) outs(... : tensor<32x16xf32>) { arith.extf }
        %r = linalg.matmul ins(%a, %b : ...) outs(%zeros : tensor<8x16xf32>)

    of which npuflow-fold-extensions makes a matmul of bf16. Weights, and what is computed from constants alone, are
    rounded here. A tensor is rounded once, where it is made, and whoever reads it reads what it was rounded to: factors
    before they are reshaped, transposed, padded with zeros or joined, and what is computed of each sum alone, element
    by element, up to an op where it meets what is computed of another one as large, and then what they are together;
    what several ops read on the way there is rounded as well, so that their products are of bf16. So are sums of their
    windows, as means, and what has elements of narrow tensors alone, joined or their greatest in windows. What a
    function returns, the statistics of norms and all that is between a softmax's scores and its result stay f32, and so
    do biases.

    That changes results, so it is in no pipeline: `--compute-type=bf16` runs it first, and what it makes is the program
    that others are compared with. Infinities stay what they are; numbers beyond bf16's largest one become infinite, but
    for constants: f32's lowest one, which masks have, becomes bf16's.
    """

    name = "npuflow-narrow-products"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        known = KnownTensors(most_elements=None)
        for constant in ops_of(op, "arith.constant"):
            _keep_finite(constant, known)
        layers = product_layers(op)
        origins = [made for layer in layers for origin in layer.origins for made in _with_parts(origin)]
        ends = [end for layer in layers for end in ends_of(layer.op.results[0])]
        narrowed = {wide.results[0]: wide.operands[0] for wide in ops_of(op, "linalg.generic") if _widens(wide)}
        for value in dict.fromkeys([*origins, *ends]):
            constant = known.once(value)
            if constant is None and is_returned_only(value):
                continue
            narrow(value, constant, narrowed)
            context.count("tensors that are narrow" if constant is None else "constants that are narrow")
        for made in ops_of(op):
            for value in _made_of_narrow(made, narrowed):
                if value not in narrowed and any(not _rounds(user, value) for user in users(value)):
                    narrow(value, narrowed=narrowed)
                    context.count("tensors that are narrow")


def _keep_finite(constant: ir.Operation, known: KnownTensors) -> None:
    """Makes finite numbers of f32 that would be infinite in bf16, as masks' lowest one, the largest that are not."""
    (value,) = constant.results
    if str(element_type_of(value)) != "f32":
        return
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    numbers = known.once(value) if is_tensor else np.asarray(ir.FloatAttr(constant.attributes["value"]).value)
    if numbers is None or not numbers.size or -_LARGEST <= numbers.min() <= numbers.max() <= _LARGEST:
        return
    finite = np.where(np.isfinite(numbers), np.clip(numbers, -_LARGEST, _LARGEST), numbers)
    with after_value(value):
        kind = element_type_of(value)
        made = weight_constant(finite, kind) if is_tensor else arith.ConstantOp(kind, float(finite)).result
    value.replace_all_uses_with(made)


def _rounds(user: ir.Operation, value: ir.Value) -> bool:
    """Whether nothing but a narrow element is made of each element of a tensor, or it goes to the caller."""
    is_narrow = goes_on(user, value) and element_bytes(element_type_of(user.results[0])) <= _NARROW_BYTES
    return user.name == "func.return" or is_narrow


def _widens(op: ir.Operation) -> bool:
    """Whether an op makes f32 of a tensor of bf16, as it lies."""
    kinds = [str(element_type_of(value)) for value in op.operands]
    is_extended = kinds == ["bf16", "f32"] and [step.name for step in steps_of(op)] == ["arith.extf"]
    return is_extended and len(set(maps_of(op))) == 1


def _made_of_narrow(op: ir.Operation, narrowed: Mapping[ir.Value, ir.Value]) -> list[ir.Value]:
    """What is narrow as an op reads narrow tensors alone: what it joins of them, their greatest in windows, or sums."""
    if len(op.results) != 1:
        return []
    pool, windows = pooled_from(op), match_window_sums(op)
    sources = list(op.operands) if op.name == "tensor.concat" else [pool or op.operands[0]] if pool or windows else []
    if not sources or not all(origin_of(source) in narrowed for source in sources):
        return []
    return list(ends_of(op.results[0])) if windows and not pool else [op.results[0]]


def narrow(value: ir.Value, constant: Numbers | None = None, narrowed: dict[ir.Value, ir.Value] | None = None) -> None:
    """Lets everybody read a tensor, or a constant, as it is in bf16; of what is `narrowed` one may be joined."""
    uses, wide = readers(value), element_type_of(value)
    kind, known = ir.BF16Type.get(value.context), {} if narrowed is None else narrowed
    with after_value(value):
        if constant is not None:
            made = weight_constant(constant, kind)
        else:
            made = _joined(value, known) or _converted(value, kind, "arith.truncf")
        rounded = _converted(made, wide, "arith.extf")
    for user, index in uses:
        user.operands[index] = rounded
    known[value] = known[rounded] = made


def _with_parts(origin: ir.Value) -> list[ir.Value]:
    """A tensor behind what it is joined of, if ops make all of that; by itself if not."""
    concat = producer(origin, "tensor.concat")
    sources = [] if concat is None else list(map(origin_of, concat.operands))
    made = [producer(source) for source in sources]
    if any(op is None or not op.name.startswith(("linalg.", "tensor.concat")) for op in made):
        return [origin]
    return [*(part for source in sources for part in _with_parts(source)), origin]


def _joined(value: ir.Value, narrowed: Mapping[ir.Value, ir.Value]) -> ir.Value | None:
    """A tensor of what has been made narrow, if it is joined of that alone."""
    concat = producer(value, "tensor.concat")
    sources = [] if concat is None else [(part, origin_of(part)) for part in concat.operands]
    if concat is None or not all(source in narrowed for _, source in sources):
        return None
    return joined_like(concat, [moved_like(part, source, narrowed[source]) for part, source in sources])


def readers(value: ir.Value) -> list[tuple[ir.Operation, int]]:
    """Who reads a tensor, as which operand: not the function's caller, and no op whose sums begin at it."""
    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
    return [(user, index) for user, index in uses if user.name != "func.return" and not _is_begun_at(user, index)]


def _is_begun_at(user: ir.Operation, index: int) -> bool:
    return user.name.startswith("linalg.") and index >= len(user.operands) - len(user.results)


def _converted(value: ir.Value, kind: ir.Type, conversion: str) -> ir.Value:
    """A tensor in another type, by an op of that name for each element."""
    shape = shape_of(value)
    same = ir.AffineMap.get_identity(len(shape))
    op = generic_op([value], [empty(shape, kind)], [same, same], ["parallel"] * len(shape))
    block = op.regions[0].blocks.append(element_type_of(value), kind)
    with ir.InsertionPoint(block):
        linalg.YieldOp([ir.Operation.create(conversion, [kind], [block.arguments[0]]).results[0]])
    return op.results[0]
