"""The two factors of what an op sums: the inputs that each is made of, and what it takes to make it.

A *bare* factor is one input, extended at most. Others are computed from their inputs on the way to the product: a zero
point taken off, a mask at an edge, a scale. Reads IR and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import element_type_of
from npuflow.ops.linear import input_count
from npuflow.ops.once import once

_ADDITIONS, _PRODUCTS = ("arith.addf", "arith.addi"), ("arith.mulf", "arith.muli")
EXTENSIONS = ("arith.extf", "arith.extsi", "arith.extui")


@dataclass(frozen=True)
class ProductFactor:
    """Positions of inputs, the one with most dimensions first; `operations` make the factor of them."""

    inputs: tuple[int, ...]
    operations: int
    element_type: str

    @property
    def is_bare(self) -> bool:
        return len(self.inputs) == 1 and self.operations == 0


@once
def factors_of(op: ir.Operation) -> tuple[ProductFactor, ProductFactor] | None:
    """The factors, where an op adds a product of two things that share no input to its only output, else None."""
    product = product_of(op)
    if product is None:
        return None
    left, right = (factor_of(op, value) for value in product.operands)
    if left is None or right is None or set(left.inputs) & set(right.inputs):
        return None
    return left, right


def product_of(op: ir.Operation) -> ir.Operation | None:
    """The multiplication in an op's body whose result is added to its only output, and is all that is."""
    block = op.regions[0].blocks[0]
    yielded = list(block.operations[len(block.operations) - 1].operands)
    if len(yielded) != 1 or isinstance(yielded[0].owner, ir.Block):
        return None
    total = yielded[0].owner.operation
    if total.name not in _ADDITIONS:
        return None
    output = block.arguments[input_count(op)]
    terms = [value for value in total.operands if value != output]
    if len(terms) != 1 or isinstance(terms[0].owner, ir.Block) or terms[0].owner.operation.name not in _PRODUCTS:
        return None
    return terms[0].owner.operation


def factor_of(op: ir.Operation, value: ir.Value) -> ProductFactor | None:
    """What a value in the body is made of; None where that is no input at all, or the output, too."""
    found: dict[int, None] = {}
    operations: list[ir.Operation] = []
    _collect(value, found, operations)
    inputs = input_count(op)
    if not found or any(position >= inputs for position in found):
        return None
    ordered = sorted(found, key=lambda position: -_rank(op.operands[position]))
    computed = [each for each in operations if each.name not in EXTENSIONS]
    return ProductFactor(tuple(ordered), len(computed), _type(op.operands[ordered[0]], value, computed))


def _collect(value: ir.Value, found: dict[int, None], operations: list[ir.Operation]) -> None:
    owner = value.owner
    if isinstance(owner, ir.Block):
        found[value.arg_number] = None
        return
    op = owner.operation
    if op.name == "arith.constant" or op in operations:
        return
    operations.append(op)
    for operand in op.operands:
        _collect(operand, found, operations)


def _rank(value: ir.Value) -> int:
    return ir.ShapedType(value.type).rank if isinstance(value.type, ir.ShapedType) else 0


def _type(main: ir.Value, factor: ir.Value, computed: list[ir.Operation]) -> str:
    """The type that is multiplied: what floats are extended from, the main input's, or what integers are made to."""
    own = element_type_of(main)
    extended = None if isinstance(factor.owner, ir.Block) else factor.owner.operation
    if extended is not None and extended.name == "arith.extf":
        return str(extended.operands[0].type)
    if isinstance(own, ir.IntegerType) and isinstance(factor.type, ir.FloatType) and computed:
        return str(computed[-1].results[0].type)
    return str(own)
