"""A kernel's op as a function of its buffers, with the constants it uses."""

from __future__ import annotations

from npuflow.bindings import func, ir


def outline_kernel(op: ir.Operation, name: str) -> ir.Operation:
    """Builds `func.func private @name(buffers) { op }` at the current insertion point; `op` itself stays."""
    buffers = [value for value in op.operands if isinstance(value.type, ir.MemRefType)]
    function = func.FuncOp(name, ([value.type for value in buffers], []), visibility="private", loc=op.location)
    block = function.add_entry_block()
    with op.location, ir.InsertionPoint(block):
        terminator = func.ReturnOp([])
    clone = op.clone(ir.InsertionPoint(terminator)).operation
    for index, value in enumerate(op.operands):
        if isinstance(value.type, ir.MemRefType):
            clone.operands[index] = block.arguments[buffers.index(value)]
        else:
            clone.operands[index] = _copied(value, clone)
    _bring_constants(clone, block)
    return function.operation


def _copied(value: ir.Value, before: ir.Operation) -> ir.Value:
    return value.owner.operation.clone(ir.InsertionPoint(before)).operation.results[0]


def _bring_constants(clone: ir.Operation, block: ir.Block) -> None:
    """Copies constants that the body uses from outside."""
    body = clone.regions[0].blocks[0]
    for inner in body.operations:
        for index, value in enumerate(inner.operation.operands):
            if not isinstance(value.owner, ir.Block) and value.owner.operation.block not in (block, body):
                inner.operation.operands[index] = _copied(value, clone)
