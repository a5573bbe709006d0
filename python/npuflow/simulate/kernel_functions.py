"""Kernels as machine code: each linalg op of a schedule, compiled as a function of its L1 buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import func, ir
from npuflow.execute.jit import compile_function
from npuflow.schedule.project import kernel_name
from npuflow.simulate.kernels import Abi, KernelFunction


def compile_kernels(ops: Sequence[ir.Operation]) -> Mapping[str, KernelFunction]:
    """A function per kernel, called with its buffers in the order of the op's operands."""
    return {kernel_name(key): _compile(op) for key, op in enumerate(ops)}


def _compile(op: ir.Operation) -> KernelFunction:
    module = _module_of(op)
    executable = compile_function(module.operation, "kernel", poison=False)
    return KernelFunction(executable.address, Abi.MEMREFS, executable)


def _module_of(op: ir.Operation) -> ir.Module:
    """A module with one function around a copy of the op; constants that it uses come along."""
    with op.context, op.location:
        module = ir.Module.create()
        buffers = [value for value in op.operands if isinstance(value.type, ir.MemRefType)]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("kernel", ([value.type for value in buffers], []))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            terminator = func.ReturnOp([])
        point = ir.InsertionPoint(terminator)
        clone = op.clone(point).operation
        for index, value in enumerate(op.operands):
            if isinstance(value.type, ir.MemRefType):
                clone.operands[index] = block.arguments[buffers.index(value)]
            else:
                clone.operands[index] = value.owner.operation.clone(ir.InsertionPoint(clone)).operation.results[0]
        _bring_constants(clone, block)
    return module


def _bring_constants(clone: ir.Operation, block: ir.Block) -> None:
    """Copies constants that the body uses from outside."""
    for inner in clone.regions[0].blocks[0].operations:
        for index, value in enumerate(inner.operation.operands):
            owner = value.owner
            if isinstance(owner, ir.Block) or owner.operation.block in (block, clone.regions[0].blocks[0]):
                continue
            copied = owner.operation.clone(ir.InsertionPoint(clone)).operation
            inner.operation.operands[index] = copied.results[0]
