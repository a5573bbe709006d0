"""npuflow-sink-constants: constants that a linalg.generic computes with are in its body, those returned are tensors."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import producer
from npuflow.ops.reshapes import unreshaped


@register_pass
@dataclass(frozen=True)
class SinkConstants(Pass):
    """Moves scalar constants that a linalg.generic's body reads from outside into the body.

        %three = arith.constant 3 : i32
        %r = linalg.generic ... { ^bb0(%x: i32, %out: i32): arith.subi %x, %three ... }

    becomes

        %r = linalg.generic ... { ^bb0(%x: i32, %out: i32): %three = arith.constant 3 : i32, arith.subi %x, %three ... }

    Canonicalization takes them out again; that changes nothing for the passes that follow. A `linalg.fill` that is
    returned, reshaped or not, is a constant, as nothing needs to compute it.
    """

    name = "npuflow-sink-constants"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            context.count("constants sunk", _sink_into(generic))
        for returned in ops_of(op, "func.return"):
            context.count("fills that are constants", _make_constant(returned))
        for constant in ops_of(op, "arith.constant"):
            if not any(True for _ in constant.results[0].uses):
                constant.erase()


def _sink_into(generic: ir.Operation) -> int:
    """Copies what the body reads to the body's beginning, each constant once; returns how many those are."""
    block = generic.regions[0].blocks[0]
    inside: dict[ir.Operation, ir.Value] = {}
    for reader in ops_of(generic):
        for index, value in enumerate(reader.operands):
            constant = producer(value, "arith.constant")
            if constant is None or constant.parent.operation == reader.parent.operation:
                continue
            if constant not in inside:
                inside[constant] = _copy(constant, block)
            reader.operands[index] = inside[constant]
    return len(inside)


def _copy(constant: ir.Operation, block: ir.Block) -> ir.Value:
    return constant.clone(ir.InsertionPoint.at_block_begin(block)).results[0]


def _make_constant(returned: ir.Operation) -> int:
    """Lets a function return constants in place of what is filled by one; returns how many."""
    made = 0
    for index, value in enumerate(returned.operands):
        filled = producer(unreshaped(value), "linalg.fill")
        scalar = producer(filled.operands[0], "arith.constant") if filled is not None else None
        if scalar is None or not ir.RankedTensorType(value.type).has_static_shape:
            continue
        with at(returned):
            splat = ir.DenseElementsAttr.get_splat(value.type, scalar.attributes["value"])
            returned.operands[index] = arith.ConstantOp(value.type, splat).result
        made += 1
    return made
