"""What is known of the signs of numbers, whatever a program's inputs are. Reads IR."""

from __future__ import annotations

from math import copysign

from npuflow.bindings import ir
from npuflow.ops.contraction import producer
from npuflow.ops.linear import input_count

# What makes nothing negative of what isn't.
_KEEP_SIGN = ("math.roundeven", "math.floor", "math.ceil", "math.round", "math.trunc", "arith.truncf", "arith.extf")
_MOVEMENTS = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.extract_slice")


def number_of(value: ir.Value) -> float | None:
    """The float that a value is, if it is a constant."""
    constant = producer(value, "arith.constant")
    number = None if constant is None else constant.attributes["value"]
    return float(number.value) if isinstance(number, ir.FloatAttr) else None


def never_negative(value: ir.Value) -> bool:
    """Whether a float, or any element of a tensor, has no sign, or is NaN: not even a 0 has one."""
    if isinstance(value.owner, ir.Block):
        op, number = value.owner.owner.operation, ir.BlockArgument(value).arg_number
        return op.name == "linalg.generic" and number < input_count(op) and never_negative(op.operands[number])
    op = value.owner.operation
    if op.name == "linalg.generic" and len(op.results) == 1:
        block = op.regions[0].blocks[0]
        return never_negative(block.operations[len(block.operations) - 1].operands[0])
    if op.name in _MOVEMENTS or op.name in _KEEP_SIGN:
        return never_negative(op.operands[0])
    if op.name == "arith.maximumf":
        return any(never_negative(operand) for operand in op.operands)
    number = number_of(value)
    return number is not None and copysign(1, number) > 0
