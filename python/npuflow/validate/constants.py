"""A device's constants by name, as a fit changes them. Pure.

`dram.bytes_per_second` and `dram.run_overhead_bytes` (either direction), `control.launch_seconds`,
`dmas.bytes_per_cycle` (every channel), and for kernels
`kernels.direct.issue_share`, or `kernels.direct/bf16.issue_share` for one accumulator type alone;
`kernels.*.restart_cycles` is of all kinds that restart. `vector.kernels.direct.step_cycles` and
`vector.operations.tanh.latency_cycles` are of the vector unit, `launches.aries.seconds` of one stack.
`dmas.3.start_cycles` is of the DMA engine beside a level, `gears.4.latency_seconds` of a gear,
`patch_engine.grids.*.read_share` of all grids that don't read at the full rate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeVar

from npuflow.errors import UsageError, with_hint
from npuflow.target import Device
from npuflow.target.matmul import KernelKind
from npuflow.target.model import Control, DmaEngine, Dram, Gear, StackLaunch
from npuflow.target.patch_engine import PatchEngine, PatchGrid
from npuflow.target.vector import VectorKernelKind, VectorOperation

Table = TypeVar(
    "Table",
    Dram,
    Control,
    KernelKind,
    VectorKernelKind,
    VectorOperation,
    StackLaunch,
    DmaEngine,
    Gear,
    PatchEngine,
    PatchGrid,
)
Entry = TypeVar("Entry", DmaEngine, Gear)
SLOW_GRIDS = "patch_engine.grids.*.read_share"
_BOTH_WAYS = {
    "dram.bytes_per_second": ("read_bytes_per_second", "write_bytes_per_second"),
    "dram.run_overhead_bytes": ("read_run_overhead_bytes", "write_run_overhead_bytes"),
}


def constant(device: Device, name: str) -> float:
    """The value of one constant."""
    table, _, rest = name.partition(".")
    if table == "kernels":
        kind, _, field = rest.rpartition(".")
        return float(getattr(next(known for known in device.kernels if _is(known, kind)), field))
    if table == "launches":
        stack, _, field = rest.rpartition(".")
        return float(next(getattr(known, field) for known in device.launches if known.stack == stack))
    if table == "vector":
        entries, entry, field = rest.split(".")
        return float(next(getattr(e, field) for e in getattr(device.vector, entries) if _name(e) == entry))
    if name == "dmas.bytes_per_cycle":
        return device.dmas[0].bytes_per_cycle
    if table in ("dmas", "gears"):
        _, wanted, field = name.split(".")
        parts = device.dmas if table == "dmas" else device.gears
        return float(next(getattr(part, field) for part in parts if _entry(part) == wanted))
    if name == SLOW_GRIDS:
        return next((grid.read_share for grid in device.patch_engine.grids if grid.read_share != 1), 1.0)
    return float(getattr(getattr(device, table), _BOTH_WAYS.get(name, (rest,))[0]))


def with_constants(device: Device, values: Mapping[str, float]) -> Device:
    """The device with some constants changed."""
    for name, value in values.items():
        device = _with(device, name, value)
    return device


def _with(device: Device, name: str, value: float) -> Device:
    table, _, field = name.partition(".")
    if table == "kernels":
        return _with_kernel(device, field, value)
    if table == "launches":
        return _with_launch(device, field, value)
    if table == "vector":
        return _with_vector(device, field, value)
    if name == "dmas.bytes_per_cycle":
        dmas = tuple(dataclasses.replace(dma, bytes_per_cycle=value) for dma in device.dmas)
        links = tuple(dataclasses.replace(link, bytes_per_cycle=value) for link in device.links)
        return dataclasses.replace(device, dmas=dmas, links=links)
    if table in ("dmas", "gears"):
        return _with_part(device, field, value, table)
    if table == "patch_engine":
        return dataclasses.replace(device, patch_engine=_with_patches(device.patch_engine, field, value))
    if table == "dram":
        fields = _BOTH_WAYS.get(name, (field,))
        return dataclasses.replace(device, dram=_replaced(device.dram, dict.fromkeys(fields, value)))
    if table == "control":
        return dataclasses.replace(device, control=_replaced(device.control, {field: value}))
    raise UsageError(with_hint(f"no constant is called '{name}'", "see npuflow.validate.constants"))


def _replaced(table: Table, values: Mapping[str, float]) -> Table:
    return dataclasses.replace(table, **values)  # type: ignore[arg-type]


def _whole(field: str, value: float) -> float:
    return round(value) if field.endswith("cycles") else value


def _with_kernel(device: Device, rest: str, value: float) -> Device:
    kind, _, field = rest.rpartition(".")
    kernels = tuple(
        _replaced(known, {field: _whole(field, value)}) if _is(known, kind) else known for known in device.kernels
    )
    return dataclasses.replace(device, kernels=kernels)


def _with_launch(device: Device, rest: str, value: float) -> Device:
    stack, _, field = rest.rpartition(".")
    launches = (_replaced(known, {field: value}) if known.stack == stack else known for known in device.launches)
    return dataclasses.replace(device, launches=tuple(launches))


def _with_part(device: Device, field: str, value: float, table: str) -> Device:
    if table == "dmas":
        return dataclasses.replace(device, dmas=tuple(_with_entry(dma, field, value) for dma in device.dmas))
    return dataclasses.replace(device, gears=tuple(_with_entry(gear, field, value) for gear in device.gears))


def _with_entry(known: Entry, name: str, value: float) -> Entry:
    """A DMA engine or a gear with a field changed, if it is the one that is meant."""
    entry, _, field = name.partition(".")
    return _replaced(known, {field: _whole(field, value)}) if _entry(known) == entry else known


def _entry(known: DmaEngine | Gear) -> str:
    return str(known.level) if isinstance(known, DmaEngine) else known.name


def _with_patches(engine: PatchEngine, field: str, value: float) -> PatchEngine:
    if f"patch_engine.{field}" != SLOW_GRIDS:
        return _replaced(engine, {field: value})
    slow = (_replaced(grid, {"read_share": value}) if grid.read_share != 1 else grid for grid in engine.grids)
    return dataclasses.replace(engine, grids=tuple(slow))


def _with_vector(device: Device, rest: str, value: float) -> Device:
    """The device with a field of all of the vector unit's kernels, or operations, of a name changed."""
    entries, entry, field = rest.split(".")
    unit, changed = device.vector, {field: round(value) if field == "call_cycles" else value}
    if entries == "kernels":
        kernels = tuple(_replaced(known, changed) if _name(known) == entry else known for known in unit.kernels)
        return dataclasses.replace(device, vector=dataclasses.replace(unit, kernels=kernels))
    operations = tuple(_replaced(known, changed) if _name(known) == entry else known for known in unit.operations)
    return dataclasses.replace(device, vector=dataclasses.replace(unit, operations=operations))


def _name(known: VectorKernelKind | VectorOperation) -> str:
    return known.kind if isinstance(known, VectorKernelKind) else known.operation


def _is(known: KernelKind, kind: str) -> bool:
    name, _, acc = kind.partition("/")
    if name == "*":
        return known.restart_cycles > 0
    return known.kind == name and acc in ("", known.acc)
