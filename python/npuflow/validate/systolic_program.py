"""A schedule of tile steps as the program of a systolic array's engines, for the simulator.

    port out ── tiles ──> buffer in ══ loaded ══> array ══ summed ══> buffer out ── results ──> port in
                                                    ║                                    (to DRAM)
                                                    ╚══ summed ══> vector  (an intermediate result, back to the buffer)

Who waits for whom was found from the cycles of the RTL (docs/systolic.md): each operand has as many slots as results
are worked on side by side; a result has its place from when its first tile is loaded until it has left the array; two
results leave in turn, and an intermediate one goes where the tile after next would be loaded to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, prod

from npuflow.errors import InputError, with_hint
from npuflow.kernels.matrix_cycles import matrix_cycles
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import (
    LAUNCH,
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatCompute,
    FlatControl,
    FlatEngine,
    FlatMemory,
    FlatOperand,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    FlatStream,
    Program,
    contiguous,
)
from npuflow.target import Device, KernelClass
from npuflow.validate.systolic_steps import SIDE_BY_SIDE, Tile, TiledWork, TileStep

TYPES = ("i16", "i16", "i16")
WORD_BYTES = 2
_IN_TURN = 2
_TILE = (0, 0)
_INTERMEDIATE = "intermediate"


@dataclass(frozen=True)
class _Engines:
    """What each engine does, as far as the steps have been gone through."""

    port_out: list[FlatStep] = field(default_factory=list)
    buffer_in: list[FlatStep] = field(default_factory=list)
    array: list[FlatStep] = field(default_factory=list)
    vector: list[FlatStep] = field(default_factory=list)
    buffer_out: list[FlatStep] = field(default_factory=list)
    port_in: list[FlatStep] = field(default_factory=list)


def program_of(work: TiledWork, device: Device) -> Program:
    """The program of a matmul, or of a fused pair, on a device."""
    steps = tuple(work.steps())
    building = _Building(work, device, Platform(device), steps)
    for number, step in enumerate(steps):
        building.add(number, step)
    return building.program()


@dataclass(frozen=True)
class _Building:
    work: TiledWork
    device: Device
    platform: Platform
    steps: tuple[TileStep, ...]
    engines: _Engines = field(default_factory=_Engines)

    def add(self, number: int, step: TileStep) -> None:
        self._load(number, step)
        self._compute(number, step)
        if step.ends and self._is_kept(step.result):
            self._keep(number, step)
        elif step.ends:
            self._store(number, step)

    def _is_loaded(self, tile: Tile) -> bool:
        return tile.matrix in self.work.inputs

    def _is_kept(self, tile: Tile) -> bool:
        return tile.matrix != self.work.result[0]

    # Steps

    def _load(self, number: int, step: TileStep) -> None:
        into, turn = self.engines.buffer_in, number % _IN_TURN
        into.append(FlatAcquire(f"free {step.rhs.matrix}"))
        into += [FlatAcquire(f"place {step.place}")] * step.begins
        if self._is_kept(step.result):
            into.append(FlatAcquire(f"replaced {turn}"))
            into += [FlatRelease(f"replaced {turn}")] * (not step.ends)
        for tile in filter(self._is_loaded, (step.lhs, step.rhs)):
            self.engines.port_out.append(FlatSend("tiles", self._in_dram(tile), f"load {tile.matrix}"))
            into.append(FlatReceive("tiles", self._in_slot(tile, number), f"load {tile.matrix}"))
        into.append(FlatRelease("loaded"))

    def _compute(self, number: int, step: TileStep) -> None:
        array, turn = self.engines.array, f"leaving {number % _IN_TURN}"
        array += [FlatAcquire("loaded"), FlatAcquire(turn), self._call(number, step)]
        array.append(FlatRelease(f"free {step.rhs.matrix}"))
        array.append(FlatRelease(f"summed {step.result.matrix}" if step.ends else turn))

    def _call(self, number: int, step: TileStep) -> FlatCompute:
        rows, columns = step.result.rows, step.result.columns
        operands = (
            FlatOperand(self._operand(step.lhs, number, step.place)),
            FlatOperand(self._operand(step.rhs, number, step.place)),
            FlatOperand(self._sums(step), reads=not step.begins, writes=True),
        )
        shape = self.device.matmul_shapes(*TYPES)[0]
        sizes = zip((rows, columns, step.lhs.columns), (shape.m, shape.n, shape.k))
        macs = prod(ceil(size / unit) * unit for size, unit in sizes)
        kind = self.device.kernels[0].kind
        cycles = matrix_cycles(TYPES, macs, rows * columns * WORD_BYTES, self.device, kind)
        name = f"multiply {rows}x{step.lhs.columns}x{columns}" + " from zero" * step.begins
        return FlatCompute(name, cycles, operands)

    def _keep(self, number: int, step: TileStep) -> None:
        """An intermediate result goes from its sums to where the next matmul reads it."""
        turn, engine = number % _IN_TURN, self.device.engine(KernelClass.VECTOR)
        cycles = engine.call_cycles + ceil(step.result.elements * WORD_BYTES / engine.vector_bytes)
        operands = (
            FlatOperand(self._sums(step)),
            FlatOperand(self._kept(step.result, step.place), reads=False, writes=True),
        )
        name = f"keep {step.result.rows}x{step.result.columns}"
        done = (FlatRelease(f"replaced {turn}"), FlatRelease(f"leaving {turn}"), FlatRelease(f"place {step.place}"))
        begun = (FlatAcquire(f"summed {step.result.matrix}"), FlatCompute(name, cycles, operands))
        self.engines.vector.extend(begun + done)

    def _store(self, number: int, step: TileStep) -> None:
        out, matrix = self.engines.buffer_out, step.result.matrix
        out += [FlatAcquire(f"summed {matrix}"), FlatSend("results", self._sums(step), f"store {matrix}")]
        out += [FlatRelease(f"leaving {number % _IN_TURN}"), FlatRelease(f"place {step.place}")]
        self.engines.port_in.append(FlatReceive("results", self._in_dram(step.result), f"store {matrix}"))

    # Where tiles are

    def _in_dram(self, tile: Tile) -> FlatAccess:
        name, shape = self.work.result
        width = shape[1] if tile.matrix == name else self.work.inputs[tile.matrix][1]
        offset = FlatAffine(tile.row * width + tile.column)
        return FlatAccess(tile.matrix, (tile.rows, tile.columns), (width, 1), WORD_BYTES, offset)

    def _in_slot(self, tile: Tile, number: int) -> FlatAccess:
        return contiguous(f"{tile.matrix} tiles", (tile.rows, tile.columns), WORD_BYTES, FlatAffine(number))

    def _sums(self, step: TileStep) -> FlatAccess:
        tile = step.result
        return contiguous(f"{tile.matrix} sums", (tile.rows, tile.columns), WORD_BYTES, FlatAffine(step.place))

    def _kept(self, tile: Tile, place: int) -> FlatAccess:
        """Some columns of an intermediate result."""
        width = next(step.result.columns for step in self.steps if step.result.matrix == tile.matrix)
        sizes, slot = (tile.rows, tile.columns), FlatAffine(place)
        return FlatAccess(_INTERMEDIATE, sizes, (width, 1), WORD_BYTES, FlatAffine(tile.column), slot)

    def _operand(self, tile: Tile, number: int, place: int) -> FlatAccess:
        return self._in_slot(tile, number) if self._is_loaded(tile) else self._kept(tile, place)

    # The program

    def program(self) -> Program:
        buffers = self._buffers()
        dram = self.device.dram_level
        sizes = {**self.work.inputs, self.work.result[0]: self.work.result[1]}
        tensors = [FlatMemory(name, dram, prod(shape) * WORD_BYTES) for name, shape in sizes.items()]
        level = self.device.level(self.device.kernel_level)
        used = max(buffer.address_bytes + buffer.slot_bytes * buffer.depth for buffer in buffers)
        if used > level.usable_bytes:
            what = f"{level.name} needs {used} bytes, has {level.usable_bytes}"
            raise InputError(with_hint(what, "use smaller tiles"))
        return Program(
            engines=self._all_engines(),
            memories=(*tensors, FlatMemory(level.name, level.number, used)),
            buffers=(*buffers, *(FlatBuffer(m.name, m.name, m.bytes, tensor=m.name) for m in tensors)),
            semaphores=self._semaphores(),
            resources=self.platform.resources(),
            streams=self._streams(),
            clock_hz=self.device.clock_hz,
        )

    def _buffers(self) -> list[FlatBuffer]:
        """The slots on the chip, one after the other, each as large as the largest tile that comes into it."""
        slots: dict[str, tuple[int, int]] = {}
        for step in self.steps:
            wanted = [(f"{t.matrix} tiles", t, SIDE_BY_SIDE) for t in (step.lhs, step.rhs) if self._is_loaded(t)]
            wanted.append((f"{step.result.matrix} sums", step.result, SIDE_BY_SIDE))
            wanted += [(_INTERMEDIATE, step.result, SIDE_BY_SIDE)] * self._is_kept(step.result)
            for name, tile, depth in wanted:
                slots[name] = max(slots.get(name, (0, depth)), (tile.elements * WORD_BYTES, depth))
        found, address = [], 0
        level = self.device.level(self.device.kernel_level)
        for name, (size, depth) in slots.items():
            slot = ceil(size / level.alignment_bytes) * level.alignment_bytes
            found.append(FlatBuffer(name, level.name, slot, address, depth))
            address += slot * depth
        return found

    def _semaphores(self) -> tuple[FlatSemaphore, ...]:
        loaded = dict.fromkeys(step.rhs.matrix for step in self.steps)
        summed = dict.fromkeys(step.result.matrix for step in self.steps)
        space = [FlatSemaphore(f"free {matrix}", SIDE_BY_SIDE, cause=Cause.SPACE) for matrix in loaded]
        space += [FlatSemaphore(f"place {place}", 1, cause=Cause.SPACE) for place in range(SIDE_BY_SIDE)]
        space += [
            FlatSemaphore(f"{what} {turn}", 1, cause=Cause.SPACE)
            for what in ("leaving", "replaced")
            for turn in range(_IN_TURN)
        ]
        data = [FlatSemaphore(name, cause=Cause.DATA) for name in ("loaded", *(f"summed {one}" for one in summed))]
        return (*space, *data, FlatSemaphore("launched", cause=Cause.TASK))

    def _all_engines(self) -> tuple[FlatEngine, ...]:
        did, platform = self.engines, self.platform
        launch = FlatControl(platform.cycles(self.device.control.launch_seconds), LAUNCH)
        outer, inner = self.device.dram_level, self.device.kernel_level
        names = (self.device.engine(kernels).name for kernels in (KernelClass.MATRIX, KernelClass.VECTOR))
        calls = (platform.core(name, _TILE, tuple(body)) for name, body in zip(names, (did.array, did.vector)))
        ends = (
            (outer, Side.OUT, did.port_out),
            (inner, Side.IN, [FlatAcquire("launched"), *did.buffer_in]),
            (inner, Side.OUT, did.buffer_out),
            (outer, Side.IN, did.port_in),
        )
        channels = (platform.channel(level, side, _TILE, 0, tuple(body)) for level, side, body in ends)
        return (platform.control((launch, FlatRelease("launched"))), *calls, *channels)

    def _streams(self) -> tuple[FlatStream, ...]:
        outer, inner = self.device.dram_level, self.device.kernel_level
        latency = self.device.link(outer, inner).latency_cycles

        def stream(name: str, sender: int, receiver: int) -> FlatStream:
            ends = [
                self.platform.channel_name(sender, Side.OUT, _TILE, 0),
                self.platform.channel_name(receiver, Side.IN, _TILE, 0),
            ]
            return FlatStream(name, ends[0], (ends[1],), (self.platform.link(sender, receiver, _TILE),), latency)

        return (stream("tiles", outer, inner), stream("results", inner, outer))
