"""A measurement's design through the real pipeline, schedule and simulator, to a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, prod

from npuflow.bindings import ir
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.errors import InputError, UsageError
from npuflow.network.phases import PhaseSetup
from npuflow.network.set_up import whole_change
from npuflow.schedule.assign.setup import KernelImage, setup_of
from npuflow.schedule.build import Scheduled, build_schedule
from npuflow.schedule.kernels.kernel_cycles import KernelShape, kernel_cycles
from npuflow.schedule.project.project import kernel_name
from npuflow.target import Device, load_device
from npuflow.target.matmul import KernelKind
from npuflow.validate.designs import Design, array_of, design_of, device_of, kind_of, module_text, why_unsupported
from npuflow.validate.measurements import ELEMENT_BYTES, Measurement
from npuflow.validate.times import Times
from npuflow.validate.vector_designs import spread, vector_design_of
from npuflow.validate.vector_texts import is_vector_op, vector_module_text

RunPipeline = Callable[[ir.Module, str], object]
_CAST_BYTES = 4 + 2  # f32 read, bf16 written


@dataclass(frozen=True)
class Prepared:
    """A row that can be timed with any constants of its device; without a schedule, a kernel alone.

    `design` is a matmul's; other operators have a schedule and none. A sequence has its `launches`, with how many there
    are of each.
    """

    row: Measurement
    device: Device
    design: Design | None = None
    scheduled: Scheduled | None = None
    launches: tuple[tuple[int, Prepared], ...] = ()

    @property
    def kind(self) -> str:
        """The kind of its kernel, as device files name it."""
        return kind_of(self.row)

    @cached_property
    def times(self) -> Times:
        """What its schedule takes on machines that it has been timed on."""
        assert self.scheduled is not None, "kernels alone and sequences have no schedule"
        return Times(self.scheduled)


@dataclass(frozen=True)
class Skipped:
    """A row that cannot be predicted, and why."""

    row: Measurement
    reason: str


def prepare(
    row: Measurement, run_pipeline: RunPipeline, *, together: tuple[int, int] | None = None
) -> Prepared | Skipped:
    """Compiles a row's design down to its schedule; `together` overrides what the design does."""
    if row.launches:
        return _prepare_sequence(row, run_pipeline)
    reason = why_unsupported(row)
    if reason is not None:
        return Skipped(row, reason)
    try:
        whole = load_device(device_of(row))
        row = spread(row, whole.columns) if is_vector_op(row.op) else row
        device = array_of(row, whole)
        if row.op == "core_kernel":
            device.kernel_kind(kind_of(row), _kernel_types(row))
            return Prepared(row, device)
        if is_vector_op(row.op):
            return _schedule_bundle(row, device, run_pipeline)
        return _schedule(row, device, run_pipeline, together)
    except (InputError, UsageError) as error:
        return Skipped(row, str(error).splitlines()[0])


def _prepare_sequence(row: Measurement, run_pipeline: RunPipeline) -> Prepared | Skipped:
    """Every launch of a sequence; of like ones, the first."""
    made: list[tuple[int, Prepared]] = []
    for launch in row.launches:
        prepared = prepare(launch.design, run_pipeline)
        if isinstance(prepared, Skipped):
            return Skipped(row, prepared.reason)
        made.append((launch.count, prepared))
    return Prepared(row, load_device(device_of(row)), launches=tuple(made))


def _schedule(
    row: Measurement, device: Device, run_pipeline: RunPipeline, together: tuple[int, int] | None
) -> Prepared:
    device.kernel_kind(kind_of(row), _kernel_types(row))
    design = design_of(row)
    shape = device.matmul_shapes(*design.types)[0]
    module = parse(module_text(row, design, (shape.m, shape.n, shape.k)), new_context(), row.id)
    run_pipeline(module, f"{design.pipeline}{{device={device.name}}}")
    function = ops_of(module.operation, "func.func")[0]
    with module.context:
        scheduled = build_schedule(function, device, kind_of(row), together=together or design.together, hoisted=False)
    return Prepared(row, device, design, scheduled)


def _schedule_bundle(row: Measurement, device: Device, run_pipeline: RunPipeline) -> Prepared:
    design = vector_design_of(row)
    module = parse(vector_module_text(row, design.strategy), new_context(), row.id)
    run_pipeline(module, f"npuflow-stream-k{{device={device.name}}}")
    function = ops_of(module.operation, "func.func")[0]
    with module.context:
        scheduled = build_schedule(function, device, kind_of(row), folded=design.folded, hoisted=row.stack.keeps)
    return Prepared(row, device, None, scheduled)


def predict_us(prepared: Prepared, device: Device) -> float:
    """The time of a prepared row with a device's constants, in microseconds."""
    if prepared.launches:
        return _sequence_us(prepared, device)
    scheduled, design = prepared.scheduled, prepared.design
    row = prepared.row
    device = array_of(row, device.launched_by(row.stack.name, row.rows * row.cols))
    if scheduled is None:
        return _kernel_cycles(prepared.row, device) / device.clock_hz * 1e6
    cycles = {
        kernel_name(key): _call_cycles(shape, prepared.row, design, device)
        for key, shape in enumerate(scheduled.shapes)
    }
    seconds = prepared.times.seconds(_moves(device, prepared.device), cycles)
    return (seconds + (_cast_seconds(design, device) if design is not None else 0.0)) * 1e6


def _moves(device: Device, prepared: Device) -> Device:
    """A device with another's tables of kernels and launches, which are in cycles and in `control` by now."""
    return replace(device, kernels=prepared.kernels, vector=prepared.vector, launches=prepared.launches)


def _sequence_us(prepared: Prepared, device: Device) -> float:
    """One launch of all, then each design's time behind its launch, and what it takes to change to it.

    These stacks configure the array anew for each launch, of a design like the one before as well: all of its cores'
    programs are loaded, all descriptors beside memories on the chip written. What the first finds is its launch's.
    """
    row = prepared.row
    launch_us = device.launched_by(row.stack.name, 0).control.launch_seconds * 1e6
    found = launch_us
    for number, (count, part) in enumerate(prepared.launches):
        assert part.scheduled is not None, "launches are no single kernels"
        found += count * (predict_us(part, device) - launch_us)
        changes = count if number else count - 1
        found += changes * whole_change(_setup(part.scheduled, device)).set_up(device.control).seconds * 1e6
    return found


def _setup(scheduled: Scheduled, device: Device) -> PhaseSetup:
    """What must be there for a design; what its kernels' code is plays no part where all of it is loaded."""
    kernels = {kernel_name(key): KernelImage("", 0) for key in range(len(scheduled.kernels))}
    return setup_of(scheduled.schedule, device, kernels)


def _call_cycles(shape: KernelShape, row: Measurement, design: Design | None, device: Device) -> int:
    """A matmul kernel's published rate where there is one, calls included; else the model's.

    What a kind of kernel loses at each L2 tile is spread over the calls of that tile.
    """
    if shape.macs and row.kernel_macs_per_cycle:
        return ceil(shape.macs / row.kernel_macs_per_cycle)
    cycles = kernel_cycles(shape, device, kind_of(row))
    if design is None or not shape.macs:
        return cycles
    known = device.kernel_kind(kind_of(row), design.types)
    if known is None or not known.restart_cycles:
        return cycles
    return cycles + ceil(restart_cycles(known, design, device) * design.tile_l1[2] / design.l2_k)


def restart_cycles(known: KernelKind, design: Design, device: Device) -> float:
    """What an L2 tile costs code that lets a core's L1 buffers run empty there.

    Its first tiles of A and B come in one after the other while the core waits; the rest is the kind's own.
    """
    m, n, k = design.tile_l1
    lhs, rhs, _ = design.types
    tiles_bytes = m * k * ELEMENT_BYTES[lhs] + k * n * ELEMENT_BYTES[rhs]
    return known.restart_cycles + tiles_bytes / device.dma(device.kernel_level).bytes_per_cycle


def _cast_seconds(design: Design, device: Device) -> float:
    """The launch behind the matmul: it streams every element through the array, as fast as DRAM goes."""
    if not design.cast_elements:
        return 0.0
    streaming = design.cast_elements * _CAST_BYTES / device.dram.total_bytes_per_second
    return device.control.relaunch_seconds + streaming


def _kernel_types(row: Measurement) -> tuple[str, str, str]:
    return (row.in_type, row.in_type, row.out_type)


def _kernel_cycles(row: Measurement, device: Device) -> int:
    """One call on one core with its data in L1."""
    types = _kernel_types(row)
    width = ELEMENT_BYTES.get(row.out_type, 4)
    elements = row.l1_m * row.l1_n
    macs = prod((row.l1_m, row.l1_k, row.l1_n))
    return kernel_cycles(KernelShape("matmul", types, elements, width, macs, elements * width), device, kind_of(row))
