"""npuflow-fold-scales: what is made of scaled integers, and multiplied by a number, has scales times that number."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isinf

import numpy as np

from npuflow.bindings import arith, ir
from npuflow.constants.known_tensors import KnownTensors, weight_constant
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import at
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.own_inputs import repeat_for_each
from npuflow.frontend.product_layers import moves, padding_of
from npuflow.ops.contraction import is_elementwise, only_moves, only_user, producer
from npuflow.ops.linear import input_count

# On an op whose result is a multiple of what it was: how many times as much.
SCALED = "npu.scaled"

# A positive multiple of what they read makes the same multiple of what they make, where all that they read is one.
_HOMOGENEOUS = (
    *("arith.addf", "arith.subf", "arith.negf", "arith.truncf", "arith.extf"),
    *("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
)
_FROM_INTEGERS = ("arith.sitofp", "arith.uitofp")


@register_pass
@dataclass(frozen=True)
class FoldScales(Pass):
    """Multiplies the numbers that integers are scaled with, and what is added, in place of what is computed of them.

    What a layer makes of sums of i32 is multiplied again where it is rounded to i8 for the next one.

        %r = linalg.generic ins(%s, %c, %b : tensor<4x8xi32>, tensor<8xf32>, tensor<8xf32>) outs(... : tensor<4x8xf32>)
               { arith.sitofp %s, arith.mulf %c, arith.addf %b, arith.maximumf 0.0 }
        %q = linalg.generic ins(%r : tensor<4x8xf32>) outs(... : tensor<4x8xi8>) { arith.mulf 50.0, math.roundeven ... }

    becomes, with constants that are 50 times as large,

        %r = linalg.generic ins(%s, %c50, %b50 : ...) { arith.sitofp, arith.mulf, arith.addf, arith.maximumf 0.0 }
        %q = linalg.generic ins(%r : tensor<4x8xf32>) outs(... : tensor<4x8xi8>) { math.roundeven ... }

    It goes through sums, greatest elements, comparisons, roundings to narrower floats and movements, up to products by
    constants, as of integers or behind a norm, and to a factor of other products, as of a gate, where nobody else reads
    what is on the way; else all stays as it is.
    That changes roundings, so it is in no pipeline: `--compute-type=i8` runs it, and what it makes is the program that
    others are compared with. `npu.scaled` says of ops how much larger their results have become.
    """

    name = "npuflow-fold-scales"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        repeat_for_each(op)
        for reader in ops_of(op, "linalg.generic"):
            product = _scaling(reader) if is_elementwise(reader) else None
            way = None if product is None else _way_to((reader, 0), KnownTensors(most_elements=None))
            if product is None or way is None:
                continue
            way.multiply(_number(product))
            product.results[0].replace_all_uses_with(product.operands[0])
            product.erase()
            context.count("scales folded")


def _scaling(op: ir.Operation) -> ir.Operation | None:
    """The product by a positive number that is all that an elementwise op wants of its only input."""
    if input_count(op) != 1:
        return None
    product = only_user(op.regions[0].blocks[0].arguments[0])
    if product is None or product.name != "arith.mulf" or producer(product.operands[1], "arith.constant") is None:
        return None
    return product if 0 < _number(product) < np.inf else None


def _number(product: ir.Operation) -> float:
    constant = producer(product.operands[1], "arith.constant")
    assert constant is not None, "a scaling is by a constant"
    return float(ir.FloatAttr(constant.attributes["value"]).value)


# An operand: of an op on tensors, or in the body of one.
_Read = tuple[ir.Operation, int]


@dataclass
class _ScaledWay:
    """What becomes a multiple on the way back from a tensor to integers: who `reads` it, and the constants there."""

    reads: dict[_Read, ir.Value] = field(default_factory=dict)
    constants: dict[_Read, Numbers] = field(default_factory=dict)

    @property
    def is_alone(self) -> bool:
        """Whether nobody else reads what is no constant."""
        values = {value for read, value in self.reads.items() if read not in self.constants}
        return all((use.owner.operation, use.operand_number) in self.reads for value in values for use in value.uses)

    def multiply(self, number: float) -> None:
        for (user, place), values in self.constants.items():
            if not np.array_equal(values * number, values):
                user.operands[place] = _constant(user, values * number, user.operands[place].type)
        for op in {user.block.owner.operation for user, _ in self.reads if user.name == "linalg.yield"}:
            before = float(ir.FloatAttr(op.attributes[SCALED]).value) if SCALED in op.attributes else 1.0
            with op.location:
                op.attributes[SCALED] = ir.FloatAttr.get(ir.F64Type.get(), before * number)


def _way_to(end: _Read, known: KnownTensors) -> _ScaledWay | None:
    """The way to an operand from products of integers and constants, if there is one that is nobody else's."""
    way, waiting = _ScaledWay(), [end]
    while waiting:
        read = waiting.pop()
        if read in way.reads:
            continue
        value = way.reads[read] = read[0].operands[read[1]]
        values = _elements(value, known)
        if values is not None:
            way.constants[read] = values
            continue
        found = _made_of(value, known)
        if found is not None:
            waiting += found
            continue
        factor = _way_to_factor(value, known)
        if factor is None:
            return None
        way.reads |= factor.reads
        way.constants |= factor.constants
    return way if way.is_alone else None


def _way_to_factor(value: ir.Value, known: KnownTensors) -> _ScaledWay | None:
    """The way to either factor of a product of two things that are computed.

    There is none to what is a factor twice: it is read elsewhere then.
    """
    product = producer(value, "arith.mulf")
    ways = () if product is None else (_way_to((product, factor), known) for factor in (0, 1))
    return next((way for way in ways if way is not None), None)


def _elements(value: ir.Value, known: KnownTensors) -> Numbers | None:
    """The elements of a constant, of one element or of a tensor, but of what repeats one: that is on the way."""
    if isinstance(value.type, ir.RankedTensorType):
        op = producer(value, "linalg.generic")
        return None if op is not None and only_moves(op) else known.of(value)
    constant = producer(value, "arith.constant")
    return None if constant is None else np.asarray(ir.FloatAttr(constant.attributes["value"]).value)


def _made_of(value: ir.Value, known: KnownTensors) -> list[_Read] | None:
    """What has to be a multiple for a value to be one; None where that isn't so simple."""
    if isinstance(value.owner, ir.Block):
        op, number = value.owner.owner.operation, ir.BlockArgument(value).arg_number
        return [(op, number)] if op.name == "linalg.generic" else None
    op = value.owner.operation
    if op.name == "linalg.generic" and len(op.results) == 1:
        block = op.regions[0].blocks[0]
        return [(block.operations[len(block.operations) - 1].operation, 0)]
    if isinstance(value.type, ir.RankedTensorType):
        return [(op, 0)] if moves(op) or _pads_with_infinity(op) else None
    if op.name in _HOMOGENEOUS:
        return [(op, number) for number in range(len(op.operands))]
    if op.name == "arith.select":
        compared = producer(op.operands[0], "arith.cmpf")
        return [(op, 1), (op, 2), *([] if compared is None else [(compared, 0), (compared, 1)])]
    if op.name == "arith.mulf":
        integers = [
            number for number, factor in enumerate(op.operands) if producer(factor, *_FROM_INTEGERS) is not None
        ]
        constants = [number for number, factor in enumerate(op.operands) if _is_constant(factor, known)]
        return [(op, 1 - integers[0])] if len(integers) == 1 else [(op, constants[0])] if constants else None
    return None


def _is_constant(factor: ir.Value, known: KnownTensors) -> bool:
    """Whether a body multiplies by a constant, or by an element of one."""
    if not isinstance(factor.owner, ir.Block):
        return producer(factor, "arith.constant") is not None
    read = factor.owner.owner.operation.operands[ir.BlockArgument(factor).arg_number]
    return isinstance(read.type, ir.RankedTensorType) and known.of(read) is not None


def _pads_with_infinity(op: ir.Operation) -> bool:
    number = padding_of(op) if op.name == "tensor.pad" else None
    return number is not None and isinf(number)


def _constant(user: ir.Operation, values: Numbers, kind: ir.Type) -> ir.Value:
    with at(user):
        if isinstance(kind, ir.RankedTensorType):
            return weight_constant(values, kind.element_type)
        return arith.ConstantOp(kind, ir.FloatAttr.get(kind, float(values))).result
