"""What a device is: memory levels, engines, links, DRAM and control, for any grid of cores with scratchpads.

The classes mirror the tables of a device file one to one; `read` fills them. A field's bounds stand in its
declaration, so that the reader, the documentation and the type agree. Nothing here knows a vendor: an array with
memory tiles has levels 1, 2 and 3; a cluster machine whose cores share nothing but DRAM has levels 1 and 3.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum

from npuflow.errors import InputError, nearest, unknown_name, with_hint
from npuflow.target.fields import (
    LEAST_RATE,
    MOST_BYTES,
    MOST_CYCLES,
    MOST_RATE,
    MOST_SECONDS,
    between,
)
from npuflow.target.matmul import KernelKind, MatmulShape
from npuflow.target.vector import PLAIN_UNIT, VectorUnit


class SharedBy(Enum):
    """One instance of a memory or an engine exists for each of these."""

    CORE = "core"
    COLUMN = "column"
    ARRAY = "array"

    def instances(self, rows: int, columns: int) -> int:
        """How many there are under a grid of `rows` x `columns` cores."""
        return {SharedBy.CORE: rows * columns, SharedBy.COLUMN: columns, SharedBy.ARRAY: 1}[self]


@dataclass(frozen=True, kw_only=True)
class MemoryLevel:
    """A kind of memory; number 1 is the cores' own, a larger number is further from them, the largest is DRAM."""

    name: str
    number: int = between(1, 3)
    bytes: int = between(1, MOST_BYTES)
    shared_by: SharedBy
    reserved_bytes: int = between(0, MOST_BYTES, default=0)
    banks: int = between(1, 1024, default=1)
    alignment_bytes: int = between(1, 65536, default=1)

    @property
    def usable_bytes(self) -> int:
        return self.bytes - self.reserved_bytes


@dataclass(frozen=True, kw_only=True)
class PatternLimits:
    """What one descriptor of a DMA engine can address.

    A pattern has up to `dims` dimensions, innermost contiguous or strided, and an outer iteration that steps its
    base address; sizes and strides count granules, the unit an engine moves.
    """

    dims: int = between(1, 16)
    granule_bytes: int = between(1, 4096)
    size_max: int = between(1, MOST_BYTES)
    stride_max: int = between(1, MOST_BYTES)
    length_max: int = between(1, MOST_BYTES)
    iteration_max: int = between(0, MOST_BYTES, default=0)


@dataclass(frozen=True, kw_only=True)
class DmaEngine:
    """The DMA engine beside each memory of a level: channels into that memory and channels out of it.

    All channels of an engine and direction together move `port_bytes_per_cycle`; 0 sets no limit beside their own.
    """

    name: str
    level: int = between(1, 3)
    channels_in: int = between(0, 1024)
    channels_out: int = between(0, 1024)
    bytes_per_cycle: float = between(LEAST_RATE, MOST_RATE)
    descriptors: int = between(1, 10**6)
    locks: int = between(0, 10**6)
    lock_max: int = between(0, 10**9)
    queue_depth: int = between(1, 10**6)
    start_cycles: int = between(0, MOST_CYCLES)
    pattern: PatternLimits
    descriptor_groups: int = between(1, 64, default=1)
    neighbour_channels: int = between(0, 1024, default=0)
    pads_with_zeros: bool = False
    port_bytes_per_cycle: float = between(0, MOST_RATE, default=0.0)


@dataclass(frozen=True, kw_only=True)
class ComputeEngine:
    """An engine that runs kernels; rates of matrix work stand in the `matmul` tables."""

    name: str
    shared_by: SharedBy
    count: int = between(1, 1024)
    vector_bytes: int = between(1, 65536)
    call_cycles: int = between(0, MOST_CYCLES)
    program_bytes: int = between(0, MOST_BYTES, default=0)
    instruction_bytes: int = between(1, 1024, default=16)
    clock_hz: float = between(0, 1e12, default=0.0)


@dataclass(frozen=True, kw_only=True)
class Link:
    """Wires between the memories of two levels; `lanes` of them per `shared_by`, each way."""

    name: str
    outer_level: int = between(1, 3)
    inner_level: int = between(1, 3)
    shared_by: SharedBy
    lanes: int = between(1, 1024)
    bytes_per_cycle: float = between(LEAST_RATE, MOST_RATE)
    latency_cycles: int = between(0, MOST_CYCLES)
    multicast: bool = False


@dataclass(frozen=True, kw_only=True)
class Dram:
    """The outermost memory's rates; a contiguous run of r bytes costs the time of r + run_overhead_bytes.

    A run that begins in another page of `page_bytes` than the run before costs `page_overhead_bytes` more: of runs
    that begin p bytes apart, that is the share p / page_bytes, and all from p = page_bytes on.

    With `joins_runs`, runs of neighbouring channels that adjoin, as columns' parts of a row do, share one overhead.

    What pays for runs is the port of the DMA engine that asks for them; where it has none of its own, the rate here.
    """

    read_bytes_per_second: float = between(1e3, 1e16)
    write_bytes_per_second: float = between(1e3, 1e16)
    total_bytes_per_second: float = between(1e3, 1e16)
    latency_seconds: float = between(0, MOST_SECONDS)
    read_run_overhead_bytes: float = between(0, MOST_RATE)
    write_run_overhead_bytes: float = between(0, MOST_RATE)
    joins_runs: bool = False
    page_bytes: int = between(1, MOST_BYTES, default=1)
    page_overhead_bytes: float = between(0, MOST_RATE, default=0.0)

    def run_overhead_bytes(self, *, write: bool, pitch_bytes: int | None = None) -> float:
        """What a run costs beside its bytes, where runs begin `pitch_bytes` apart (unknown: in pages of their own)."""
        overhead = self.write_run_overhead_bytes if write else self.read_run_overhead_bytes
        turns = 1.0 if pitch_bytes is None else min(1.0, pitch_bytes / self.page_bytes)
        return overhead + turns * self.page_overhead_bytes

    def efficiency(self, run_bytes: int, *, write: bool, pitch_bytes: int | None = None) -> float:
        """The share of the rate that contiguous runs of `run_bytes` reach."""
        return run_bytes / (run_bytes + self.run_overhead_bytes(write=write, pitch_bytes=pitch_bytes))


@dataclass(frozen=True, kw_only=True)
class Control:
    """The processor that sets up the outermost DMA engines' descriptors and waits for their tasks."""

    descriptor_seconds: float = between(0, MOST_SECONDS)
    launch_seconds: float = between(0, MOST_SECONDS)
    reconfigure_seconds: float = between(0, MOST_SECONDS)
    relaunch_seconds: float = between(0, MOST_SECONDS, default=0.0)


@dataclass(frozen=True, kw_only=True)
class Device:
    """One device; a partial array's name says how much of it there is (`npu2:4x2`), as `load_device` reads it."""

    name: str
    description: str
    rows: int = between(1, 64)
    columns: int = between(1, 64)
    clock_hz: float = between(1e6, 1e12)
    dram: Dram
    control: Control
    levels: tuple[MemoryLevel, ...]
    engines: tuple[ComputeEngine, ...]
    dmas: tuple[DmaEngine, ...]
    links: tuple[Link, ...]
    matmuls: tuple[MatmulShape, ...]
    kernels: tuple[KernelKind, ...] = ()
    vector: VectorUnit = PLAIN_UNIT

    @property
    def cores(self) -> int:
        return self.rows * self.columns

    def has_level(self, number: int) -> bool:
        return any(level.number == number for level in self.levels)

    def level(self, number: int) -> MemoryLevel:
        for level in self.levels:
            if level.number == number:
                return level
        known = ", ".join(f"{level.number} ({level.name})" for level in self.levels)
        raise InputError(with_hint(f"device '{self.name}' has no memory level {number}", f"it has {known}"))

    def dma(self, level: int) -> DmaEngine:
        """The DMA engine that serves the memories of `level`."""
        for engine in self.dmas:
            if engine.level == level:
                return engine
        known = ", ".join(str(engine.level) for engine in self.dmas)
        raise InputError(
            with_hint(f"device '{self.name}' has no DMA engine at level {level}", f"levels with one: {known}")
        )

    def link(self, outer_level: int, inner_level: int) -> Link:
        for link in self.links:
            if (link.outer_level, link.inner_level) == (outer_level, inner_level):
                return link
        known = ", ".join(f"{link.outer_level} to {link.inner_level}" for link in self.links)
        what = f"device '{self.name}' has no link between levels {outer_level} and {inner_level}"
        raise InputError(with_hint(what, f"it has {known}"))

    def capacity_bytes(self, level: int, rows: int, columns: int) -> int:
        """What a grid of `rows` x `columns` cores may use of a level: per core of the cores' own, else in all."""
        self.check_grid(rows, columns)
        memory = self.level(level)
        if memory.shared_by is SharedBy.CORE:
            return memory.usable_bytes
        return memory.usable_bytes * memory.shared_by.instances(rows, columns)

    def check_grid(self, rows: int, columns: int) -> None:
        """Raises if the array cannot hold a grid of `rows` x `columns` cores."""
        if 1 <= rows <= self.rows and 1 <= columns <= self.columns:
            return
        what = f"a grid of {rows}x{columns} cores doesn't fit the {self.rows}x{self.columns} of device '{self.name}'"
        raise InputError(with_hint(what, f"at least 1x1, at most {self.rows}x{self.columns}"))

    def matmul_shapes(self, lhs: str, rhs: str, acc: str) -> tuple[MatmulShape, ...]:
        """The instructions for these element types, the preferred one first; raises if there are none."""
        shapes = tuple(shape for shape in self.matmuls if shape.types == (lhs, rhs, acc))
        if shapes:
            return shapes
        known = {_types_text(types): types for types in self.supported_types()}
        wanted = _types_text((lhs, rhs, acc))
        what = f"device '{self.name}' cannot multiply {wanted}"
        raise InputError(with_hint(what, f"it can multiply {'; '.join(nearest(wanted, known, len(known)))}"))

    def kernel_kind(self, kind: str, types: tuple[str, str, str]) -> KernelKind | None:
        """The first entry for a kind ("": any kind) and types; None where there is none for these types."""
        if kind and kind not in {known.kind for known in self.kernels}:
            what = unknown_name(f"kernel kind of device '{self.name}'", kind, [known.kind for known in self.kernels])
            raise InputError(what)
        return next((known for known in self.kernels if known.suits(kind, types)), None)

    def has_instruction(self, types: tuple[str, ...]) -> bool:
        """Whether there is a matrix instruction, or a scalar one, for (lhs, rhs, acc) element types."""
        return any(shape.types == types for shape in self.matmuls)

    def accepts_any_shape(self, lhs: str, rhs: str, acc: str) -> bool:
        """True where no matrix instruction constrains the inner shape; raises for types the device cannot multiply."""
        return any(shape.any_shape for shape in self.matmul_shapes(lhs, rhs, acc))

    def supported_types(self) -> tuple[tuple[str, str, str], ...]:
        """The (lhs, rhs, acc) element types that the device can multiply, in the file's order."""
        return tuple(dict.fromkeys(shape.types for shape in self.matmuls))

    def partial(self, columns: int | None = None, rows: int | None = None) -> Device:
        """The same device with fewer columns, or rows; its name says so (`npu2:4x2`)."""
        rows, columns = rows or self.rows, columns or self.columns
        self.check_grid(rows, columns)
        if (rows, columns) == (self.rows, self.columns):
            return self
        whole = self.name.partition(":")[0]
        return dataclasses.replace(self, name=f"{whole}:{rows}x{columns}", rows=rows, columns=columns)


def _types_text(types: tuple[str, str, str]) -> str:
    return f"{types[0]} x {types[1]} -> {types[2]}"
