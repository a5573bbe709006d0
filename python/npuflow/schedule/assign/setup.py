"""What is set up on the chip for a schedule: its cores' kernels and steps, its channels' descriptors. Pure.

Two channels' descriptors are the same if they do the same with the same bytes and locks, whatever things are called
and whichever of alike memories they are beside; the descriptors' own numbers don't count, for which are free depends on
what ran before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from npuflow.kernels.program_bytes import steps_bytes
from npuflow.network.phases import PhaseSetup, Piece, Store, StoreKind
from npuflow.schedule.assign.assign_numbers import numbered, transfers_of
from npuflow.schedule.assign.programs import kernel_calls
from npuflow.schedule.data import model
from npuflow.schedule.data.addresses import aligned_slot_bytes
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.channels import Channel, channel_of, coordinates_of_memory, memory_of
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.placed import placed_steps
from npuflow.target import Device, Work


@dataclass(frozen=True)
class KernelImage:
    """A kernel as a part of a core's program: its code as a text, how long it is, and constants that aren't in it.

    `parameters` are (position in the code, value) of those that lie in data.
    """

    code: str
    code_bytes: int
    parameters: tuple[tuple[int, str], ...] = ()


# Words of what a core's memory has reserved beside its stack: assumed.
_PARAMETERS = 64


# A channel beside a memory: the level, the column, whether it leads inward, and its number.
ChannelPlace = tuple[int, int, bool, int]


def setup_of(
    schedule: Schedule, device: Device, kernels: Mapping[str, KernelImage], without: Collection[ChannelPlace] = ()
) -> PhaseSetup:
    """By store, everything that must be there before the schedule runs, `without` channels that do something else."""
    return _Setup(numbered(schedule, device), device, kernels, without).found()


def channel_descriptors(schedule: Schedule, device: Device, level: int) -> dict[ChannelPlace, int]:
    """The descriptors that channels beside a level's memories take."""
    found: dict[ChannelPlace, int] = defaultdict(int)
    whole = numbered(schedule, device)
    for engine in whole.engines.values():
        count = sum(t.descriptors.count for t in transfers_of(engine.program) if t.descriptors is not None)
        for channel in (channel_of(engine, place, whole) for place in whole.places(engine.span)):
            if channel is not None and channel.memory.level == level:
                found[_place(channel)] += count
    return dict(found)


@dataclass(frozen=True)
class _Setup:
    schedule: Schedule
    device: Device
    kernels: Mapping[str, KernelImage]
    without: Collection[ChannelPlace]

    def found(self) -> PhaseSetup:
        found: dict[Store, list[Piece]] = defaultdict(list)
        for engine in self.schedule.engines.values():
            if engine.stage.work is Work.CONTROL or engine.stage.at_dram:
                continue
            size, here = self._size(engine), coordinates_of_memory(engine, self.schedule)
            program = _Said(self.schedule, self.device, self.kernels, here)
            text = sha256(repr(program.steps(engine.program, {})).encode()).hexdigest()
            kernels, parameters = self._kernels(engine)
            for place in self.schedule.places(engine.span):
                channel = channel_of(engine, place, self.schedule)
                if channel is not None and _place(channel) in self.without:
                    continue
                store, number = self._store(engine, place)
                other = tuple((c, at) for c, at in place.items() if c not in here or c in program.mentioned)
                found[store] += [_piece((engine.stage.name, number, other, text), size), *kernels]
                if parameters:
                    found[replace(store, kind=StoreKind.PARAMETERS, room=_PARAMETERS)] += parameters
        return {store: tuple(dict.fromkeys(pieces)) for store, pieces in found.items()}

    def _size(self, engine: model.Engine) -> int:
        """The bytes of the steps of an engine's program, or the descriptors of a channel's."""
        if engine.stage.work is Work.COMPUTE:
            return steps_bytes(sum(1 for _ in placed_steps(engine, self.schedule.extents)))
        return sum(t.descriptors.count for t in transfers_of(engine.program) if t.descriptors is not None)

    def _kernels(self, engine: model.Engine) -> tuple[list[Piece], list[Piece]]:
        """The kernels that an engine calls, and what these find in data."""
        called = [self.kernels[name] for name in kernel_calls(engine, self.schedule)]
        kernels = [_piece((one.code,), one.code_bytes) for one in called]
        return kernels, [_piece((one.code, *parameter), 1) for one in called for parameter in one.parameters]

    def _store(self, engine: model.Engine, place: Mapping[str, int]) -> tuple[Store, int]:
        """Where an engine finds what is set up for it, and of a channel its number."""
        memory = memory_of(engine, place, self.schedule)
        assert memory is not None, "the control processor is set up by the launch"
        name = engine.stage.name
        channel = channel_of(engine, place, self.schedule)
        if channel is None:
            room = next((one.program_bytes for one in self.device.engines if one.name == name), 0)
            return Store(StoreKind.PROGRAMS, name, memory.level, memory.row, memory.column, room), 0
        dma = self.device.dma(memory.level)
        room, group = dma.descriptors // dma.descriptor_groups, channel.number % dma.descriptor_groups
        return Store(
            StoreKind.DESCRIPTORS, dma.name, memory.level, memory.row, memory.column, room, group
        ), channel.number


def _place(channel: Channel) -> ChannelPlace:
    return channel.memory.level, channel.memory.column, channel.inward, channel.number


@dataclass(frozen=True)
class _Said:
    """What the steps of an engine say, whatever things are called and whichever of alike memories they are beside.

    `here` are coordinates that say which, and `mentioned` the counters that play another part.
    """

    schedule: Schedule
    device: Device
    kernels: Mapping[str, KernelImage]
    here: frozenset[str]
    mentioned: set[str] = field(default_factory=set)

    def steps(self, steps: tuple[model.Step, ...], counters: Mapping[str, Affine]) -> tuple[object, ...]:
        return tuple(self._step(step, counters) for step in steps)

    def _step(self, step: model.Step, counters: Mapping[str, Affine]) -> tuple[object, ...]:
        kind = type(step).__name__
        if isinstance(step, model.Repeat):
            inner = {**counters, step.counter: Affine.counter(f"loop {len(counters)}")}
            return kind, step.trips, self.steps(step.body, inner)
        if isinstance(step, model.Each):
            return kind, step.coordinate, step.count, self.steps(step.body, counters)
        if isinstance(step, (model.Acquire, model.Release)):
            semaphore = self.schedule.semaphores[step.semaphore.name]
            return kind, semaphore.locks, semaphore.initial, self._beside(step.semaphore.at)
        if isinstance(step, (model.Send, model.Receive)):
            return kind, self._access(step.access, counters)
        if isinstance(step, model.Compute):
            operands = tuple(self._access(operand.access, counters) for operand in step.operands)
            return kind, self.kernels[step.kernel].code, operands
        return (kind,)

    def _access(self, access: model.Access, counters: Mapping[str, Affine]) -> tuple[object, ...]:
        buffer = self.schedule.buffers[access.buffer.name]
        slot_bytes = aligned_slot_bytes(buffer, self.device.level(buffer.level).alignment_bytes)
        at = self._beside(access.buffer.at)
        if buffer.address.step:
            self.mentioned.update(name for index in access.buffer.at for name in index.counters)
        moved = model.substitute_access(access, dict(counters))
        for place in (moved.slot, moved.offset, *(limit.bound for limit in moved.limits)):
            self.mentioned.update(place.counters)
        where = (buffer.level, buffer.address, slot_bytes, buffer.depth, buffer.element_bytes, at)
        return *where, moved.slot, moved.offset, moved.sizes, moved.strides, moved.limits, moved.zeros

    def _beside(self, at: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Which of those in the engine's memory."""
        own = {Affine.counter(name) for name in self.here}
        which = tuple(index for index in at if index not in own)
        self.mentioned.update(name for index in which for name in index.counters)
        return which


def _piece(said: tuple[object, ...], size: int) -> Piece:
    return Piece(sha256(repr(said).encode()).hexdigest(), size)
