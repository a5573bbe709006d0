"""A device as a whole: what there is of each of its parts, and what it can multiply."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from npuflow.errors import InputError, nearest, unknown_name, with_hint
from npuflow.target.energy import UNKNOWN_ENERGY, Energy
from npuflow.target.fields import between
from npuflow.target.hashed_once import hashed_once
from npuflow.target.matmul import KernelKind, MatmulShape
from npuflow.target.model import (
    ComputeEngine,
    Control,
    DmaEngine,
    Dram,
    Gear,
    Hop,
    KernelClass,
    Link,
    MemoryLevel,
    SharedBy,
    StackLaunch,
)
from npuflow.target.patch_engine import NO_PATCH_ENGINE, PatchEngine
from npuflow.target.vector import PLAIN_UNIT, VectorUnit
from npuflow.target.ways import Ways, ways_of


@hashed_once
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
    hops: tuple[Hop, ...] = ()
    matmuls: tuple[MatmulShape, ...]
    kernels: tuple[KernelKind, ...] = ()
    vector: VectorUnit = PLAIN_UNIT
    energy: Energy = UNKNOWN_ENERGY
    launches: tuple[StackLaunch, ...] = ()
    patch_engine: PatchEngine = NO_PATCH_ENGINE
    gears: tuple[Gear, ...] = ()
    timer_hz: float = between(1e3, 1e12, default=0.0)

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

    @cached_property
    def ways(self) -> Ways:
        """The stages that work goes through on its way in and out again."""
        return ways_of(self.levels, self.dmas, self.engines, self.hops)

    @property
    def dram_level(self) -> int:
        return max(level.number for level in self.levels)

    def engine(self, kernels: KernelClass) -> ComputeEngine:
        """The first that runs kernels of a class."""
        return self._first_engines[kernels]

    @cached_property
    def _first_engines(self) -> dict[KernelClass, ComputeEngine]:
        first = (
            (kernels, [engine for engine in self.engines if engine.runs.includes(kernels)]) for kernels in KernelClass
        )
        return {kernels: engines[0] for kernels, engines in first if engines}

    @cached_property
    def has_two_engines(self) -> bool:
        """Whether what adds up products and what computes all else are two engines, which work side by side."""
        return self.engine(KernelClass.MATRIX) != self.engine(KernelClass.VECTOR)

    @cached_property
    def kernel_level(self) -> int:
        """The memory that kernels work on."""
        return self.engine(KernelClass.MATRIX).level

    @cached_property
    def block_level(self) -> int:
        """The memory that blocks lie in between DRAM and kernels'; a device without one is `planned`."""
        return max((level.number for level in self.levels if level.number < self.dram_level), default=self.kernel_level)

    @cached_property
    def home_level(self) -> int | None:
        """The level whose memories keep tensors from phase to phase: memory tiles, or those that DRAM's DMAs reach."""
        has_tiles = self.block_level != self.kernel_level and self.level(self.block_level).shared_by is SharedBy.COLUMN
        reached = (dma.reaches for dma in self.dmas if dma.level == self.dram_level and dma.reaches)
        return self.block_level if has_tiles else next(reached, None)

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

    def has_grid(self, rows: int, columns: int) -> bool:
        """Whether the array holds a grid: in its own rows and columns, or of its cores, where these mean nothing."""
        own = 1 <= rows <= self.rows and 1 <= columns <= self.columns
        return own or (self.stands_free and min(rows, columns) >= 1 and rows * columns <= self.cores)

    @cached_property
    def stands_free(self) -> bool:
        """Whether cores share nothing by columns, so that which row and column one has is a matter of words."""
        parts: tuple[MemoryLevel | DmaEngine | Link, ...] = (*self.levels, *self.dmas, *self.links)
        return all(part.shared_by is not SharedBy.COLUMN for part in parts)

    def arrays(self) -> tuple[tuple[int, int], ...]:
        """The grids of all cores, rows first; where these stand free, with no more rows than columns."""
        rows = [n for n in range(1, self.cores + 1) if self.cores % n == 0 and n * n <= self.cores]
        return tuple((n, self.cores // n) for n in rows) if self.stands_free else ((self.rows, self.columns),)

    def arranged(self, rows: int, columns: int) -> Device:
        """The device in other rows and columns, where these hold a grid and its own don't."""
        if (rows <= self.rows and columns <= self.columns) or not self.has_grid(rows, columns):
            return self
        return dataclasses.replace(self, rows=rows, columns=self.cores // rows)

    def check_grid(self, rows: int, columns: int) -> None:
        """Raises if the array cannot hold a grid of `rows` x `columns` cores."""
        if self.has_grid(rows, columns):
            return
        what = f"a grid of {rows}x{columns} cores doesn't fit the {self.rows}x{self.columns} of device '{self.name}'"
        raise InputError(with_hint(what, f"at least 1x1, at most {self.rows}x{self.columns}"))

    def matmul_shapes(self, lhs: str, rhs: str, acc: str) -> tuple[MatmulShape, ...]:
        """The instructions for these element types, the preferred one first; raises if there are none."""
        if shapes := self._shapes.get((lhs, rhs, acc)):
            return shapes
        known = {_types_text(types): types for types in self.supported_types()}
        wanted = _types_text((lhs, rhs, acc))
        what = f"device '{self.name}' cannot multiply {wanted}"
        raise InputError(with_hint(what, f"it can multiply {'; '.join(nearest(wanted, known, len(known)))}"))

    @cached_property
    def _shapes(self) -> dict[tuple[str, str, str], tuple[MatmulShape, ...]]:
        """The instructions of each of the supported types."""
        types = dict.fromkeys(shape.types for shape in self.matmuls)
        return {each: tuple(shape for shape in self.matmuls if shape.types == each) for each in types}

    def kernel_kind(self, kind: str, types: tuple[str, str, str]) -> KernelKind | None:
        """The first entry for a kind ("": any kind) and types; None where there is none for these types."""
        asked = (kind, types)
        if asked not in self._known_kinds:
            self._known_kinds[asked] = self._found_kind(kind, types)
        return self._known_kinds[asked]

    @cached_property
    def _known_kinds(self) -> dict[tuple[str, tuple[str, str, str]], KernelKind | None]:
        """What was asked for so far: a search asks for each tile."""
        return {}

    def _found_kind(self, kind: str, types: tuple[str, str, str]) -> KernelKind | None:
        if kind and kind not in {known.kind for known in self.kernels}:
            what = unknown_name(f"kernel kind of device '{self.name}'", kind, [known.kind for known in self.kernels])
            raise InputError(what)
        return next((known for known in self.kernels if known.suits(kind, types)), None)

    def has_instruction(self, types: tuple[str, ...]) -> bool:
        """Whether there is a matrix instruction, or a scalar one, for (lhs, rhs, acc) element types."""
        return types in self._shapes

    def accepts_any_shape(self, lhs: str, rhs: str, acc: str) -> bool:
        """True where no matrix instruction constrains the inner shape; raises for types the device cannot multiply."""
        return any(shape.any_shape for shape in self.matmul_shapes(lhs, rhs, acc))

    def supported_types(self) -> tuple[tuple[str, str, str], ...]:
        """The (lhs, rhs, acc) element types that the device can multiply, in the file's order."""
        return tuple(self._shapes)

    def launched_by(self, stack: str, cores: int) -> Device:
        """The same device with the launches of a stack of compiler and runtime on some cores, if the file knows it."""
        known = next((launch for launch in self.launches if launch.stack == stack), None)
        if known is None:
            return self
        seconds = known.seconds + cores * known.core_seconds
        return dataclasses.replace(self, control=dataclasses.replace(self.control, launch_seconds=seconds))

    def in_gear(self, name: str) -> Device:
        """The same device at a setting of its clocks; as it is, where the file doesn't know that."""
        gear = next((known for known in self.gears if known.name == name), None)
        if gear is None:
            return self
        outermost = self.dma(self.dram_level)
        slower = dataclasses.replace(outermost, start_cycles=gear.start_cycles)
        dmas = tuple(slower if dma is outermost else dma for dma in self.dmas)
        dram = dataclasses.replace(self.dram, latency_seconds=gear.latency_seconds)
        return dataclasses.replace(self, dmas=dmas, dram=dram)

    def as_timed(self, cycles: int) -> int:
        """Cycles as the timer by which they were measured has them, whole ticks of it; as they are where it has none.

        What takes two and a half ticks is read as two or three, whenever it happens to begin: the nearest is likeliest.
        """
        if not self.timer_hz:
            return cycles
        tick = self.clock_hz / self.timer_hz
        return ceil(max(1, round(cycles / tick)) * tick)

    def clock_of(self, engine: ComputeEngine) -> float:
        return engine.clock_hz or self.clock_hz

    def cycles_of(self, engine: ComputeEngine, cycles: int) -> int:
        """An engine's cycles as the device's, where it has a clock of its own."""
        return ceil(cycles * self.clock_hz / self.clock_of(engine))

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
