"""What bounds the rate of any op on a device, and where a file's ops stand under it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from npuflow.bounds.balance import peak_ops_per_second
from npuflow.bounds.sizes import MatmulSizes, OpSizes
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.report.measures import OpNeeds
from npuflow.report.model import DeviceSummary, FunctionReport, Report
from npuflow.simulate.walk import computes
from npuflow.target import Device, KernelClass

# Bytes of the elements that vector units are given roofs for, as a name.
_VECTOR_TYPES = {4: "vector, 32 bits", 2: "vector, 16 bits"}
_MULTIPLY_ADD = "multiply-add"


def peaks_of(device: Device) -> Mapping[str, float]:
    """Operations per second of all cores: two per multiply-accumulate by type, one per lane of the vector unit."""
    found = {f"{a} x {b} -> {c}": peak_ops_per_second(device, (a, b, c)) for a, b, c in device.supported_types()}
    unit = device.engine(KernelClass.VECTOR)
    units = unit.count * unit.shared_by.instances(device.rows, device.columns)
    for width, name in _VECTOR_TYPES.items():
        found[name] = unit.vector_bytes / width * units * device.clock_of(unit)
    return found


def vector_operations(function: CompiledFunction) -> int:
    """What the bodies of kernels that don't multiply and accumulate compute, element by element."""
    found = 0
    for step, times in computes(function.program):
        shape = function.shapes[step.kernel]
        if not shape.macs and shape.vector is not None:
            each = sum(1 + (node.operation == _MULTIPLY_ADD) for node in shape.vector.nodes)
            found += each * prod(shape.trips) * times
    return found


def works_of(sizes: Sequence[OpSizes]) -> tuple[OpNeeds, ...]:
    """The ops of a function, and what each multiplies."""
    return tuple(map(_work, sizes))


def _work(one: OpSizes) -> OpNeeds:
    if not isinstance(one, MatmulSizes):
        return OpNeeds("bundle", (), one.macs)
    extents = (one.m, one.n, one.k, one.batch)
    batch = f"{one.batch} x " if one.batch > 1 else ""
    return OpNeeds(f"{batch}matmul {one.m}x{one.n}x{one.k}", extents, one.macs)


def summary_of(device: Device) -> DeviceSummary:
    """What reports say of a device."""
    return DeviceSummary(
        device.name,
        device.description,
        device.rows,
        device.columns,
        device.clock_hz,
        device.dram.total_bytes_per_second,
        peaks_of(device),
    )


@dataclass(frozen=True)
class RooflinePoint:
    """An op, or several that run as one: operations per byte of DRAM, and per second with and without the launch.

    `op` is empty for what runs as one. `compulsory` is the intensity if nothing were moved twice. Both are None for
    what needs no DRAM at all, as its operands and results stay on the device.
    """

    function: str
    op: str
    types: str
    intensity: float | None
    compulsory: float | None
    rate: float
    busy_rate: float


def roofline_points(report: Report) -> Iterator[RooflinePoint]:
    """A point for each function, or part; one more for each op where several share a function, and its rate."""
    for function in report.functions:
        whole = _point(function)
        if whole is None:
            continue
        yield whole
        if len(function.ops) < 2:
            continue
        for op, moved in zip(function.ops, function.traffic[0].ops):
            if op.macs:
                own = 2 * op.macs / max(1, moved.compulsory_bytes)
                yield RooflinePoint(function.name, op.name, function.types, own, own, whole.rate, whole.busy_rate)


def _point(function: FunctionReport) -> RooflinePoint | None:
    operations = 2 * function.macs or function.vector_operations
    outer = function.traffic[0]
    moved = outer.read_bytes + outer.write_bytes
    busy_us = function.time_us - function.launch_us
    if not operations or busy_us <= 0:
        return None
    types = function.types if function.macs else ""
    rate, busy_rate = operations / function.time_us * 1e6, operations / busy_us * 1e6
    intensity = operations / moved if moved else None
    compulsory = operations / max(1, outer.compulsory_bytes) if moved else None
    return RooflinePoint(function.name, "", types, intensity, compulsory, rate, busy_rate)
