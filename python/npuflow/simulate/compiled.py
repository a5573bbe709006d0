"""A function from its bufferized form to a program that can be timed and executed.

The one place that knows the way there: everything behind it (reports, the command line, the Python API) sees a
`CompiledFunction`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from npuflow.bindings import ir
from npuflow.core.passes import fail, ops_of
from npuflow.errors import UsageError, with_hint
from npuflow.execute.arrays import Array, ArraySpec, Signature
from npuflow.schedule.build import Scheduled, build_schedule
from npuflow.schedule.kernel_cycles import KernelShape
from npuflow.schedule.project import kernel_name
from npuflow.simulate.flatten import flatten
from npuflow.simulate.kernel_functions import compile_kernels
from npuflow.simulate.program import Program
from npuflow.simulate.results import Results
from npuflow.simulate.run import DEFAULT_LIMITS, RunLimits, execute, simulate
from npuflow.target import Device


@dataclass(frozen=True)
class CompiledFunction:
    """A function's program for a device. `shapes` are those of its kernels, by the kernels' names.

    `has_given_rate` says that the matmul kernels' times are the user's, calls included. `module` keeps alive what the
    schedule's kernels are ops of.
    """

    signature: Signature
    device: Device
    program: Program
    scheduled: Scheduled
    shapes: Mapping[str, KernelShape]
    module: ir.Module = field(repr=False, compare=False)
    has_given_rate: bool = False

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def arguments(self) -> Sequence[str]:
        """The memories that hold the arguments, in order."""
        return self.scheduled.schedule.arguments

    @property
    def results(self) -> Sequence[str]:
        """The memories that hold the results, in order."""
        return self.scheduled.schedule.results

    @property
    def labels(self) -> Mapping[str, str]:
        """What reports call the memories of tensors in DRAM, where that isn't their own name."""
        return {name: f"result{position}" for position, name in enumerate(self.results)}

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of cores in use."""
        rows, columns = self.scheduled.nest.grid
        return rows, columns


@dataclass(frozen=True)
class Execution:
    """What a functional run leaves: the function's results, and what the simulator saw."""

    outputs: tuple[Array, ...]
    results: Results


def schedule_function(
    module: ir.Module,
    function: ir.Operation,
    signature: Signature,
    device: Device,
    kernel_macs_per_cycle: float | None = None,
) -> CompiledFunction:
    """The program of a bufferized function of `module`; `signature` is that of the function as it was given."""
    _check_bufferized(function)
    with function.context:
        scheduled = build_schedule(function, device)
    shapes = {kernel_name(key): shape for key, shape in enumerate(scheduled.shapes)}
    cycles = scheduled.kernel_cycles()
    if kernel_macs_per_cycle is not None:
        cycles |= {name: ceil(shape.macs / kernel_macs_per_cycle) for name, shape in shapes.items() if shape.macs}
    program = flatten(scheduled.schedule, device, cycles)
    is_given = kernel_macs_per_cycle is not None
    return CompiledFunction(signature, device, program, scheduled, shapes, module, is_given)


def _check_bufferized(function: ir.Operation) -> None:
    """Only what has reached memrefs, on chip ones among them, can be scheduled."""
    kinds = {str(result.type) for op in ops_of(function) for result in op.results}
    tensors = sorted(kind for kind in kinds if kind.startswith("tensor<"))
    if tensors:
        what = f"@{function.opview.name.value} still works on {tensors[0]} where the pipeline ends"
        raise fail(function, what, "use a pipeline that ends in memrefs, as npuflow-stream-k")
    if not any(op.name == "memref.alloc" and _is_on_chip(op) for op in ops_of(function)):
        what = f"@{function.opview.name.value} has no buffer in L1 or L2 where the pipeline ends"
        raise fail(function, what, "use a pipeline that moves data into the array, as npuflow-stream-k")


def _is_on_chip(allocation: ir.Operation) -> bool:
    return ir.MemRefType(allocation.results[0].type).memory_space is not None


def simulate_function(
    function: CompiledFunction, *, trace: bool = False, limits: RunLimits = DEFAULT_LIMITS
) -> Results:
    """Times the function."""
    return simulate(function.program, trace=trace, limits=limits)


def execute_function(
    function: CompiledFunction, inputs: Sequence[Array], *, limits: RunLimits = DEFAULT_LIMITS
) -> Execution:
    """Runs the function on arrays, through the array's memories, DMA engines and kernels."""
    _check_inputs(function.signature, inputs)
    kernels = compile_kernels(function.scheduled.kernels)
    executed = execute(function.program, dict(zip(function.arguments, inputs)), kernels, limits=limits)
    specs = function.signature.outputs
    outputs = [_typed(executed.memories[name], spec) for name, spec in zip(function.results, specs, strict=True)]
    return Execution(tuple(outputs), executed.results)


def _typed(memory: Array, spec: ArraySpec) -> Array:
    return memory.view(spec.dtype).reshape(spec.shape)


def _check_inputs(signature: Signature, inputs: Sequence[Array]) -> None:
    if len(inputs) != len(signature.inputs):
        what = f"{signature} takes {len(signature.inputs)} arrays, got {len(inputs)}"
        raise UsageError(with_hint(what, "give one per argument"))
    for position, (array, spec) in enumerate(zip(inputs, signature.inputs)):
        if not isinstance(array, np.ndarray) or array.dtype != spec.dtype or array.shape != spec.shape:
            got = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
            what = f"argument {position} of @{signature.name} is {got}, expected {spec.dtype}{list(spec.shape)}"
            raise UsageError(with_hint(what, "convert it with numpy's astype and reshape"))
