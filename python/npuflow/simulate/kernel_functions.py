"""Kernels as machine code: each kernel of a schedule, compiled as a function of its L1 buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from npuflow.bindings import ir
from npuflow.execute.jit import compile_functions
from npuflow.execute.look_up import look_up
from npuflow.execute.widen import widened
from npuflow.schedule.ir.read_schedule import kernel_functions_of
from npuflow.simulate.kernels import Abi, KernelFunction
from npuflow.simulate.program import Program
from npuflow.simulate.walk import computes


def compile_schedule_kernels(
    schedule: ir.Operation, program: Program, *, wide: bool = False
) -> Mapping[str, KernelFunction]:
    """The kernels that a schedule's module holds, by name, for its program to call; `wide` in 64 bits."""
    modules = {name: _outlined(op, name, wide=wide) for name, op in kernel_functions_of(schedule).items()}
    calls: Counter[str] = Counter()
    for call, times in computes(program):
        calls[call.kernel] += times
    outlined = {name: module.operation for name, module in modules.items()}
    compiled = compile_functions(outlined, calls=calls, poison=False)
    return {name: KernelFunction(made.address, Abi.MEMREFS, made) for name, made in compiled.items()}


def _outlined(function: ir.Operation, name: str, *, wide: bool) -> ir.Module:
    """A module of its own."""
    with function.context, function.location:
        module = ir.Module.create()
        copy = function.clone(ir.InsertionPoint(module.body)).operation
        copy.attributes["sym_visibility"] = ir.StringAttr.get("public")
        look_up(module)
    return widened(module.operation, name) if wide else module
