"""A schedule executed with every float in 64 bits: the same transfers, waits and kernels, and next to no rounding.

Buffers of floats take more room then, so that all addresses and slots lie eight times as far apart, in memories eight
times as large. Its times and hazards are those of the schedule itself, and not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.sequence import CompiledSequence, run_calls
from npuflow.execute.arrays import Array, ArraySpec, is_float
from npuflow.execute.bounds import wide_inputs
from npuflow.schedule.data.model import Address, Buffer, Schedule
from npuflow.simulate.constants import constant_contents
from npuflow.simulate.flatten import flatten
from npuflow.simulate.kernel_functions import compile_schedule_kernels
from npuflow.simulate.program import Program
from npuflow.simulate.run import execute
from npuflow.target import Device

_WIDE = "f64"
# 64 bits in place of the narrowest float or integer.
_TIMES = 8


def execute_wide(function: CompiledFunction | CompiledSequence, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """A function's results on wide inputs; raises NoWiderFormError where a kernel depends on the bits of floats."""
    if isinstance(function, CompiledFunction):
        return _executed(function, inputs)
    parts, tables = function.parts, wide_inputs(function.table_arrays)
    return run_calls(function.calls, (*inputs, *tables), lambda call, given: _executed(parts[call.name], given))


def _executed(function: CompiledFunction, inputs: Sequence[Array]) -> tuple[Array, ...]:
    kernels = compile_schedule_kernels(function.op, function.program, wide=True)
    contents = constant_contents(function.op)
    constants = dict(zip(contents, wide_inputs(list(contents.values())), strict=True))
    executed = execute(wide_program(function), {**constants, **dict(zip(function.arguments, inputs))}, kernels)
    specs = [_wide_spec(spec) for spec in function.signature.outputs]
    named = zip(function.results, specs, strict=True)
    return tuple(executed.memories[name].view(spec.dtype).reshape(spec.shape) for name, spec in named)


def wide_program(function: CompiledFunction) -> Program:
    """What is executed."""
    return flatten(wide_schedule(function.schedule), _roomy(function.device))


def wide_schedule(schedule: Schedule) -> Schedule:
    """The schedule with buffers of 64-bit floats in place of narrower ones, further apart."""
    buffers = {name: _wide_buffer(buffer) for name, buffer in schedule.buffers.items()}
    return replace(schedule, buffers=buffers)


def _wide_buffer(buffer: Buffer) -> Buffer:
    address = Address(buffer.address.base * _TIMES, buffer.address.step * _TIMES, buffer.address.divisor)
    if not is_float(buffer.element_type):
        return replace(buffer, address=address)
    return replace(buffer, address=address, element_type=_WIDE, element_bytes=np.dtype(np.float64).itemsize)


def _wide_spec(spec: ArraySpec) -> ArraySpec:
    return replace(spec, element=_WIDE) if is_float(spec.element) else spec


def _roomy(device: Device) -> Device:
    levels = tuple(replace(level, bytes=level.bytes * _TIMES) for level in device.levels)
    return replace(device, levels=levels)
