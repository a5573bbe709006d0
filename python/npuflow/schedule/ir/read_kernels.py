"""What calls of a schedule's kernels have to respect, from IR: their arguments, and how long their programs are."""

from __future__ import annotations

from collections.abc import Mapping

from npuflow.bindings import ir
from npuflow.core.diagnostics import location_of
from npuflow.kernels.code_bytes import function_bytes
from npuflow.schedule.data.kernel_interface import KernelInterface
from npuflow.schedule.ir.read_schedule import kernel_functions_of
from npuflow.target import Device


def kernel_interfaces(module: ir.Operation, device: Device) -> Mapping[str, KernelInterface]:
    """The kernels of a schedule's module by name."""
    return {name: _interface(op, device) for name, op in kernel_functions_of(module).items()}


def _interface(function: ir.Operation, device: Device) -> KernelInterface:
    kind = ir.FunctionType(function.opview.type)
    sides = (tuple(map(str, kind.inputs)), tuple(map(str, kind.results)))
    is_defined = not function.opview.is_external
    size = function_bytes(function, device) if is_defined else 0
    return KernelInterface(*sides, is_defined, size, location_of(function))
