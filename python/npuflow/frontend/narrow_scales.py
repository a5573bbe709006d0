"""npuflow-narrow-scales: integers are scaled by numbers of bf16."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.constants.known_tensors import KnownTensors, weight_constant
from npuflow.core.build import at, element_bytes
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.product_layers import end_of, is_returned_only
from npuflow.ops.contraction import is_elementwise, only_user, producer
from npuflow.ops.linear import input_count


@register_pass
@dataclass(frozen=True)
class NarrowScales(Pass):
    """Multiplies integers with constants of f32 as numbers of bf16, whose product is f32: what arrays multiply at once.

    Products of f32 take an array's core several instructions each.

        ^bb0(%a: i32, %scale: f32, %out: f32):
          %n = arith.sitofp %a : i32 to f32
          %p = arith.mulf %n, %scale : f32

    becomes, with the constant that the scales are in bf16,

        ^bb0(%a: i32, %scale: bf16, %out: f32):
          %n = arith.sitofp %a : i32 to f32
          %r = arith.truncf %n : f32 to bf16
          %x = arith.extf %r : bf16 to f32
          %y = arith.extf %scale : bf16 to f32
          %p = arith.mulf %x, %y : f32

    What a function returns is scaled as it was. That changes roundings, so it is in no pipeline: `--compute-type=i8`
    runs it, and what it makes is the program that others are compared with.
    """

    name = "npuflow-narrow-scales"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            if not is_elementwise(generic) or is_returned_only(end_of(generic.results[0])):
                continue
            for product in ops_of(generic, "arith.mulf"):
                if _narrow(generic, product):
                    context.count("scales narrowed")


def _narrow(generic: ir.Operation, product: ir.Operation) -> bool:
    integers = [number for number, factor in enumerate(product.operands) if producer(factor, "arith.sitofp")]
    if len(integers) != 1 or str(product.results[0].type) != "f32":
        return False
    scale = product.operands[1 - integers[0]]
    with at(product):
        narrow = _narrow_number(scale) if producer(scale, "arith.constant") else _narrow_table(generic, scale)
        if narrow is None:
            return False
        product.operands[1 - integers[0]] = _extended(narrow)
        product.operands[integers[0]] = _extended(_in_bf16(product.operands[integers[0]].owner.operation))
    return True


def _narrow_number(scale: ir.Value) -> ir.Value:
    kind, constant = ir.BF16Type.get(), scale.owner.operation.attributes["value"]
    return arith.ConstantOp(kind, ir.FloatAttr.get(kind, ir.FloatAttr(constant).value)).result


def _narrow_table(generic: ir.Operation, scale: ir.Value) -> ir.Value | None:
    """What a body reads of a constant tensor, in bf16, if it reads nothing else of it."""
    if not isinstance(scale.owner, ir.Block) or only_user(scale) is None:
        return None
    number = ir.BlockArgument(scale).arg_number
    values = KnownTensors(most_elements=None).of(generic.operands[number])
    if values is None or number >= input_count(generic):
        return None
    with at(generic):
        generic.operands[number] = weight_constant(values, ir.BF16Type.get())
    ir.BlockArgument(scale).set_type(ir.BF16Type.get())
    return scale


def _in_bf16(conversion: ir.Operation) -> ir.Value:
    """An integer as the nearest number of bf16, which is itself where it has 8 bits."""
    kind, source = ir.BF16Type.get(), conversion.operands[0]
    if element_bytes(source.type) == 1:
        return arith.SIToFPOp(kind, source).result
    return arith.TruncFOp(kind, conversion.results[0]).result


def _extended(value: ir.Value) -> ir.Value:
    return arith.ExtFOp(ir.F32Type.get(), value).result
