"""What the parts of a function set up on the chip, and what changes from one call to the next."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.network.decisions import Decisions
from npuflow.network.phases import PhaseChange, PhaseSetup, changes_between
from npuflow.schedule.assign.setup import KernelImage, setup_of
from npuflow.schedule.ir.read_kernels import kernel_interfaces
from npuflow.schedule.ir.read_schedule import kernel_functions_of


def phase_changes(calls: Sequence[CompiledFunction], decided: Decisions) -> tuple[PhaseChange, ...]:
    """What each call but the first takes to be set up; parts that are called again are looked at once."""
    setups = {part.name: _setup(part) for part in {part.name: part for part in calls}.values()}
    return changes_between([setups[part.name] for part in calls], decided)


def _setup(part: CompiledFunction) -> PhaseSetup:
    interfaces, functions = kernel_interfaces(part.op, part.device), kernel_functions_of(part.op)
    kernels = {name: KernelImage(_code(functions[name]), one.code_bytes) for name, one in interfaces.items()}
    return setup_of(part.schedule, part.device, kernels)


def _code(kernel: ir.Operation) -> str:
    """What a kernel computes, whatever it is called."""
    return str(kernel.opview.type) + "".join(str(block) for block in kernel.regions[0].blocks)
