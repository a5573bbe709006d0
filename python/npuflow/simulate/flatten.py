"""A schedule to the flat program that the simulator runs: every engine of the array, with its channel and addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.schedule.assign.assign_numbers import numbered
from npuflow.schedule.data import model
from npuflow.schedule.data.addresses import aligned_slot_bytes
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.channels import channel_of, column_of
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.neighbours import adjoining
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
    FlatLimit,
    FlatLoop,
    FlatMemory,
    FlatOperand,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    FlatStream,
    Outside,
    Program,
)
from npuflow.simulate.runs import runs_of
from npuflow.target import Device, Work

_CAUSES = {"data": Cause.DATA, "space": Cause.SPACE, "task": Cause.TASK}
Place = Mapping[str, int]


@dataclass
class _Flattening:
    schedule: Schedule
    device: Device
    cycles: Mapping[str, int]
    platform: Platform = field(init=False)
    used: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        grid = (self.schedule.extents.get(name, 1) for name in ("row", "column"))
        self.platform = Platform(self.device.arranged(*grid))

    def program(self) -> Program:
        buffers = [
            self._buffer(b, place) for b in self.schedule.buffers.values() for place in self.schedule.places(b.span)
        ]
        engines = [
            self._engine(e, place) for e in self.schedule.engines.values() for place in self.schedule.places(e.span)
        ]
        streams = [
            self._stream(s, place) for s in self.schedule.streams.values() for place in self.schedule.places(s.span)
        ]
        semaphores = tuple(
            FlatSemaphore(_name(s.name, place), s.initial, s.maximum, _CAUSES[s.cause])
            for s in self.schedule.semaphores.values()
            for place in self.schedule.places(s.span)
        )
        dram = self.device.dram_level
        memories = [FlatMemory(b.name, dram, b.slot_bytes) for b in self.schedule.buffers.values() if b.level == dram]
        memories += [FlatMemory(name, level, size) for (name, level), size in self.used.items()]
        return Program(
            tuple(engines),
            tuple(memories),
            tuple(buffers),
            semaphores,
            self.platform.resources(),
            tuple(streams),
            self.device.clock_hz,
        )

    # Memory

    def _buffer(self, buffer: model.Buffer, place: Place) -> FlatBuffer:
        name = _name(buffer.name, place)
        if buffer.level == self.device.dram_level:
            return FlatBuffer(name, buffer.name, buffer.slot_bytes, tensor=buffer.name)
        memory = self._memory(buffer, place)
        slot = aligned_slot_bytes(buffer, self.device.level(buffer.level).alignment_bytes)
        address = buffer.address.at(place.get(buffer.span[0], 0) if buffer.span else 0)
        key = (memory, buffer.level)
        self.used[key] = max(self.used.get(key, 0), address + slot * buffer.depth)
        self._check_room(memory, buffer)
        return FlatBuffer(name, memory, slot, address, buffer.depth, buffer.name)

    def _memory(self, buffer: model.Buffer, place: Place) -> str:
        return self.platform.memory_name(buffer.level, (place.get("row", 0), self._column(place) if place else 0))

    def _check_room(self, memory: str, buffer: model.Buffer) -> None:
        have = self.device.level(buffer.level).usable_bytes
        used = self.used[memory, buffer.level]
        if used <= have:
            return
        text = f"{memory} needs at least {used} bytes for {buffer.name} and what lies before it, has {have}"
        raise InputError(Diagnostic(Severity.ERROR, f"{text}; hint: use smaller tiles or fewer slots", buffer.location))

    def _column(self, place: Place) -> int:
        """The memory tile that serves a place."""
        return column_of(place, self.schedule)

    # Engines

    def _engine(self, engine: model.Engine, place: Place) -> FlatEngine:
        body = self._steps(engine, engine.program, place, ())
        row, column = place.get("row", 0), self._column(place) if place else 0
        if engine.stage.work is Work.CONTROL:
            launch = FlatControl(self.platform.cycles(self.device.control.launch_seconds), LAUNCH)
            return self.platform.control((launch, *body))
        if engine.stage.work is Work.COMPUTE:
            return self.platform.core(engine.stage.name, (row, column), body)
        level, side, number = self._channel(engine, place)
        return self.platform.channel(level, side, (row, column), number, body)

    def _channel(self, engine: model.Engine, place: Place) -> tuple[int, Side, int]:
        """Level, side and number of a DMA channel."""
        channel = channel_of(engine, place, self.schedule)
        assert channel is not None, "cores and the control processor are no channels"
        return channel.memory.level, Side.IN if channel.inward else Side.OUT, channel.number

    def engine_name(self, engine: model.Engine, place: Place) -> str:
        """What an engine is called in the program, in which `place` may say more than the engine's coordinates."""
        own = {coordinate: place[coordinate] for coordinate in engine.span}
        tile = own.get("row", 0), self._column(own)
        if engine.stage.work is Work.CONTROL:
            return self.platform.control(()).name
        if engine.stage.work is Work.COMPUTE:
            return self.platform.core(engine.stage.name, tile, ()).name
        level, side, number = self._channel(engine, own)
        return self.platform.channel_name(level, side, tile, number)

    def _stream(self, stream: model.Stream, place: Place) -> FlatStream:
        receivers = []
        links: list[str] = []
        source, target = self.device.ways.levels_of(self.schedule.engines[stream.receiver].stage)
        for more in self.schedule.places(stream.multicast):
            whole = {**place, **more}
            receivers.append(self.engine_name(self.schedule.engines[stream.receiver], whole))
            link = self.platform.link(source, target, (whole.get("row", 0), self._column(whole)))
            links += [link] if link not in links else []
        sender = self.engine_name(self.schedule.engines[stream.sender], place)
        latency = self.device.link(max(source, target), min(source, target)).latency_cycles
        return FlatStream(_name(stream.name, place), sender, tuple(receivers), tuple(links), latency)

    # Steps

    def _steps(
        self, engine: model.Engine, steps: tuple[model.Step, ...], place: Place, loops: tuple[str, ...]
    ) -> tuple[FlatStep, ...]:
        return tuple(step for one in steps for step in self._step(engine, one, place, loops))

    def _step(
        self, engine: model.Engine, step: model.Step, place: Place, loops: tuple[str, ...]
    ) -> tuple[FlatStep, ...]:
        if isinstance(step, model.Repeat):
            return (FlatLoop(step.trips, self._steps(engine, step.body, place, (*loops, step.counter))),)
        if isinstance(step, model.Each):
            places = [{**place, step.coordinate: value} for value in range(step.count)]
            return tuple(s for each in places for s in self._steps(engine, step.body, each, loops))
        if isinstance(step, model.Acquire):
            return (FlatAcquire(_at(step.semaphore, place)),)
        if isinstance(step, model.Release):
            return (FlatRelease(_at(step.semaphore, place)),)
        if isinstance(step, model.Send):
            return (FlatSend(_at(step.stream, place), self._moved(engine, step, place, loops)),)
        if isinstance(step, model.Receive):
            return (FlatReceive(_at(step.stream, place), self._moved(engine, step, place, loops)),)
        if isinstance(step, model.Configure):
            cycles = self.platform.cycles(self.device.control.descriptor_seconds * step.descriptors)
            return (FlatControl(cycles, "descriptor"),)
        operands = tuple(
            FlatOperand(self._access(operand.access, place, loops), operand.reads, operand.writes)
            for operand in step.operands
        )
        cycles = self.cycles.get(step.kernel, step.cycles)
        return (FlatCompute(step.kernel, cycles, operands, step.kind),)

    def _moved(
        self, engine: model.Engine, step: model.Send | model.Receive, place: Place, loops: tuple[str, ...]
    ) -> FlatAccess:
        """What a channel moves, with what its runs cost where they are in DRAM: those that adjoin share that."""
        access = self._access(step.access, place, loops)
        if not engine.stage.at_dram:
            return access
        dram = self.device.dram
        overhead = dram.run_overhead_bytes(runs_of(access), write=isinstance(step, model.Receive))
        joined = adjoining(step.access, engine, self.schedule) if dram.joins_runs else 1
        return replace(access, run_overhead_bytes=overhead / joined)

    def _access(self, access: model.Access, place: Place, loops: tuple[str, ...]) -> FlatAccess:
        buffer = self.schedule.buffers[access.buffer.name]
        limits = tuple(FlatLimit(limit.weights, _affine(limit.bound, place, loops)) for limit in access.limits)
        return FlatAccess(
            _at(access.buffer, place),
            access.sizes,
            access.strides,
            buffer.element_bytes,
            _affine(access.offset, place, loops),
            _affine(access.slot, place, loops),
            limits,
            Outside.ZERO if access.zeros else Outside.SKIP,
        )


def _name(name: str, place: Place) -> str:
    return f"{name}[{','.join(str(value) for value in place.values())}]" if place else name


def _at(ref: model.Ref, place: Place) -> str:
    values = [_affine(index, place, ()).constant for index in ref.at]
    return f"{ref.name}[{','.join(map(str, values))}]" if values else ref.name


def _affine(total: Affine, place: Place, loops: tuple[str, ...]) -> FlatAffine:
    """Coordinates become constants, counters positions in the loops around."""
    constant, coefficients = total.constant, [0] * len(loops)
    for name, coefficient in total.terms:
        if name in loops:
            coefficients[loops.index(name)] += coefficient
        else:
            constant += coefficient * place[name]
    return FlatAffine(constant, tuple(coefficients))


def flatten(schedule: Schedule, device: Device, cycles: Mapping[str, int] | None = None) -> Program:
    """The program; `cycles` overrides the times per call that the schedule gives its kernels, by their names."""
    return _Flattening(numbered(schedule, device), device, cycles or {}).program()


def names_of_things(schedule: Schedule) -> dict[str, str]:
    """The program's semaphores and streams by name: which of the schedule's each is."""
    things: tuple[model.Semaphore | model.Stream, ...] = (*schedule.semaphores.values(), *schedule.streams.values())
    return {_name(thing.name, place): thing.name for thing in things for place in schedule.places(thing.span)}


def engine_names(schedule: Schedule, device: Device) -> dict[str, tuple[str, Place]]:
    """The program's engines by name: which engine of the schedule each is, and where."""
    flattening = _Flattening(numbered(schedule, device), device, {})
    engines = [(e, p) for e in flattening.schedule.engines.values() for p in schedule.places(e.span)]
    return {flattening.engine_name(engine, place): (engine.name, place) for engine, place in engines}
