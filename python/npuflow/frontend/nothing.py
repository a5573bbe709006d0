"""Tensors without elements: what makes them isn't computed, and who reads them goes without."""

from __future__ import annotations

from npuflow.bindings import arith, ir, tensor
from npuflow.core.build import at, element_type_of, empty, fill, shape_of, zero_attribute
from npuflow.core.passes import ops_of

_TENSOR_OPS = ("linalg.", "tensor.", "tm_tensor.")


def drop_nothing(root: ir.Operation) -> int:
    """Leaves out what is computed of no elements, in the order of the ops; returns how many ops had any of these.

    Where a function returns no elements, that is a constant: such are what nothing has to be done for.
    """
    found = [op for op in ops_of(root) if op.name.startswith(_TENSOR_OPS) and op.name != "tensor.empty"]
    found = [op for op in found if op.parent.name == "func.func"]  # those in bodies go with their op
    dropped = sum(_drop(op) for op in found if any(map(is_nothing, (*op.operands, *op.results))))
    for leaving in ops_of(root, "func.return"):
        for index, value in enumerate(leaving.operands):
            if is_nothing(value):
                leaving.operands[index] = _constant(leaving, value)
    return dropped


def _constant(op: ir.Operation, value: ir.Value) -> ir.Value:
    with at(op):
        zeros = ir.DenseElementsAttr.get_splat(value.type, zero_attribute(element_type_of(value)))
        return arith.ConstantOp(value.type, zeros).result


def _drop(op: ir.Operation) -> bool:
    instead = _instead(op)
    if instead is None:
        return False
    for result, value in zip(op.results, instead, strict=True):
        result.replace_all_uses_with(value)
    op.erase()
    return True


def _instead(op: ir.Operation) -> list[ir.Value] | None:
    """What an op's results are; None where that isn't known."""
    with at(op):
        if all(map(is_nothing, op.results)):
            return [empty(shape_of(result), element_type_of(result)) for result in op.results]
        if op.name == "tensor.concat":
            some = [value for value in op.operands if not is_nothing(value)]
            whole = ir.IntegerAttr(op.attributes["dim"]).value
            return [some[0] if len(some) == 1 else tensor.ConcatOp(op.results[0].type, whole, some).result]
        if op.name == "tensor.insert_slice" and is_nothing(op.operands[0]):
            return [op.operands[1]]
        if op.name == "tensor.pad":
            padding = op.regions[0].blocks[0].operations[0].operation.operands[0]
            is_known = not isinstance(padding.owner, ir.Block) and padding.owner.operation.parent != op
            return [fill(padding, empty(shape_of(op.results[0]), element_type_of(op.results[0])))] if is_known else None
        if op.name.startswith("linalg."):  # no iteration of its loops writes what it begins with
            return list(op.operands)[-len(op.results) :]
    return None


def is_nothing(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and kind.has_static_shape and 0 in kind.shape
