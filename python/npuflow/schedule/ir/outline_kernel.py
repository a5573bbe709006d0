"""A kernel's op as a function of its buffers, with the constants and views that it uses."""

from __future__ import annotations

from npuflow.bindings import func, ir, memref
from npuflow.core.passes import fail
from npuflow.ops.views import base_of, views_of
from npuflow.schedule.nest.kernel_operands import kernel_operands


def outline_kernel(op: ir.Operation, name: str) -> ir.Operation:
    """Builds `func.func private @name(buffers) { op }` at the current insertion point; `op` itself stays.

    The buffers are those of `kernel_operands(op).arguments`. One that is neither read nor written, as a window's shape,
    is no argument: the function has its own.
    """
    operands = kernel_operands(op)
    buffers = operands.arguments
    function = func.FuncOp(name, ([value.type for value in buffers], []), visibility="private", loc=op.location)
    block = function.add_entry_block()
    with op.location, ir.InsertionPoint(block):
        terminator = func.ReturnOp([])
    clone = op.clone(ir.InsertionPoint(terminator)).operation
    inside = dict(zip(buffers, block.arguments))
    with op.location, ir.InsertionPoint(clone):
        inside |= {value: memref.AllocOp(ir.MemRefType(value.type), [], []).result for value in operands.unused}
        for index, value in enumerate(op.operands):
            is_buffer = isinstance(value.type, ir.MemRefType)
            clone.operands[index] = _view(value, inside, clone) if is_buffer else _copied(value, clone, op)
    for region in clone.regions:
        _bring_constants(region, clone, op)
    return function.operation


def _view(value: ir.Value, inside: dict[ir.Value, ir.Value], before: ir.Operation) -> ir.Value:
    """The same view of a buffer inside of the function."""
    found = inside[base_of(value)]
    for view in reversed(views_of(value)):
        copy = view.clone(ir.InsertionPoint(before)).operation
        copy.operands[0] = found
        found = copy.results[0]
    return found


def _copied(value: ir.Value, before: ir.Operation, op: ir.Operation) -> ir.Value:
    owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if owner is None or owner.name != "arith.constant":
        where = owner.name if owner else "a block's argument"
        raise fail(op, f"{op.name} uses a scalar that {where} gives", "use constants, or a tensor of one element")
    return owner.clone(ir.InsertionPoint(before)).operation.results[0]


def _bring_constants(region: ir.Region, clone: ir.Operation, op: ir.Operation) -> None:
    """Copies constants that a region uses from outside of the op."""
    for block in region.blocks:
        for child in block.operations:
            inner = child.operation
            for index, value in enumerate(inner.operands):
                if not _is_inside(value, clone):
                    inner.operands[index] = _copied(value, clone, op)
            for below in inner.regions:
                _bring_constants(below, clone, op)


def _is_inside(value: ir.Value, clone: ir.Operation) -> bool:
    """Whether a value is defined in one of the op's regions."""
    around = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner.operation.parent
    while around is not None and around != clone:
        around = around.operation.parent
    return around is not None
