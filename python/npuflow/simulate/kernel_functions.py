"""Kernels as machine code: each kernel of a schedule, compiled as a function of its L1 buffers."""

from __future__ import annotations

from collections.abc import Mapping

from npuflow.bindings import ir
from npuflow.execute.jit import compile_function
from npuflow.execute.look_up import look_up
from npuflow.execute.widen import widened
from npuflow.schedule.ir.read_schedule import kernel_functions_of
from npuflow.simulate.kernels import Abi, KernelFunction


def compile_kernel_function(module: ir.Operation, name: str, *, wide: bool = False) -> KernelFunction:
    """A kernel that is a function already, as in a schedule's module; `wide` in 64 bits."""
    if wide:
        module = widened(module, name).operation
    executable = compile_function(module, name, poison=False)
    return KernelFunction(executable.address, Abi.MEMREFS, executable)


def compile_schedule_kernels(schedule: ir.Operation, *, wide: bool = False) -> Mapping[str, KernelFunction]:
    """The kernels that a schedule's module holds, by name."""
    return {name: _compile_outlined(op, name, wide=wide) for name, op in kernel_functions_of(schedule).items()}


def _compile_outlined(function: ir.Operation, name: str, *, wide: bool) -> KernelFunction:
    with function.context, function.location:
        module = ir.Module.create()
        copy = function.clone(ir.InsertionPoint(module.body)).operation
        copy.attributes["sym_visibility"] = ir.StringAttr.get("public")
        look_up(module)
    return compile_kernel_function(module.operation, name, wide=wide)
