"""Programs whose last work goes beside the way in of what the next phase begins with. Pure.

What DRAM holds before a launch, weights above all, needn't wait for the phase that reads it: as far as scratchpads have
room beside the phase before, that one's channels bring it, behind what they move themselves. Its own phase then begins
with buffers that are full:

    before                           behind
    acquire empty                    (full begins at 1 more, empty at 1 less)
    receive arg1 into l1_2
    release full
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from npuflow.simulate.channel_tasks import NotTaskByTaskError, tasks_of, unrolled
from npuflow.simulate.home_tasks import handed_to
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import (
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatBuffer,
    FlatControl,
    FlatEngine,
    FlatMemory,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    FlatStream,
    Program,
)
from npuflow.simulate.walk import leaves
from npuflow.target import Device


class NotAheadError(Exception):
    """A tensor that its phase can't find on the chip; the text says why."""


@dataclass(frozen=True)
class Landing:
    """Where a transfer arrives: the scratchpad, by its number, and the buffer there."""

    number: int
    buffer: FlatBuffer
    access: FlatAccess


@dataclass(frozen=True)
class Arrival:
    """One transfer that comes ahead: what is read, and all who receive it."""

    read: FlatAccess
    landings: tuple[Landing, ...]


@dataclass(frozen=True)
class Prefetch:
    """The first transfers of a tensor, in order."""

    tensor: str
    bytes: int
    arrivals: tuple[Arrival, ...]

    @property
    def moved_bytes(self) -> int:
        """What is read for them."""
        return sum(arrival.read.bytes for arrival in self.arrivals)

    @property
    def buffers(self) -> Mapping[FlatBuffer, tuple[int, int]]:
        """Of each buffer that they fill, the scratchpad's number, and how many slots."""
        found = Counter((landing.buffer, landing.number) for one in self.arrivals for landing in one.landings)
        return {buffer: (number, count) for (buffer, number), count in found.items()}

    @property
    def places(self) -> Iterator[tuple[int, slice]]:
        """The bytes that they fill of each scratchpad, by its number."""
        for buffer, (number, slots) in self.buffers.items():
            yield number, slice(buffer.address_bytes, buffer.address_bytes + slots * buffer.slot_bytes)

    def moved(self, addresses: Mapping[str, int]) -> Prefetch:
        """The same into buffers at other addresses, by their names."""

        def at(landing: Landing) -> Landing:
            return replace(landing, buffer=replace(landing.buffer, address_bytes=addresses[landing.buffer.name]))

        return replace(
            self, arrivals=tuple(replace(one, landings=tuple(map(at, one.landings))) for one in self.arrivals)
        )


@dataclass(frozen=True)
class Brought:
    """What a phase brings for the next one of a tensor, by its number, and the lane of each transfer."""

    number: int
    lanes: tuple[int, ...]
    prefetch: Prefetch


@dataclass(frozen=True)
class Ahead:
    """What a phase brings for the next one, and what it finds that was brought."""

    brings: tuple[Brought, ...] = ()
    finds: tuple[Prefetch, ...] = ()


NOTHING_AHEAD = Ahead()


@dataclass
class FirstFills:
    """A phase's program and what of a tensor could come before it; `memories` are the scratchpads' names, by number."""

    program: Program
    tensor: str
    memories: Sequence[str]
    _fills: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _unrolled: dict[str, list[FlatStep]] = field(default_factory=dict)

    def found(self) -> tuple[Prefetch, Program]:
        """The transfers that fill slots for the first time, and the program without them; raises NotAheadError."""
        try:
            return self._found()
        except NotTaskByTaskError as error:
            raise NotAheadError(str(error)) from error

    def _found(self) -> tuple[Prefetch, Program]:
        senders = [e for e in self.program.engines if any(s.access.buffer == self.tensor for s in _sends(e))]
        taken = {engine.name: self._taken(engine) for engine in senders}
        arrivals = [arrival for own in taken.values() for arrival in own.arrivals]
        if not arrivals:
            raise NotAheadError("no slot is filled by it alone")
        engines, begins = [], Counter[str]()
        for engine in self.program.engines:
            if engine.name in taken:
                engines.append(replace(engine, body=taken[engine.name].body))
            elif engine.kind == "control":
                dropped = {task for own in taken.values() for task in own.tasks}
                engines.append(replace(engine, body=tuple(handing_out(engine, dropped))))
            else:
                engines.append(self._receiver(engine, taken.values(), begins))
        semaphores = tuple(replace(one, initial=one.initial + begins[one.name]) for one in self.program.semaphores)
        if any(not 0 <= one.initial <= one.maximum for one in semaphores):
            raise NotAheadError("its slots are handed over together with others")
        (memory,) = (one for one in self.program.memories if one.name == self.tensor)
        program = replace(self.program, engines=tuple(engines), semaphores=semaphores)
        return Prefetch(self.tensor, memory.bytes, tuple(arrivals)), program

    def _taken(self, engine: FlatEngine) -> _SentAhead:
        """What a channel beside DRAM sends ahead: as long as all slots are filled for the first time."""
        kept: list[FlatStep] = []
        taken, turns, counts = _SentAhead(), Counter[str](), Counter[str]()
        goes_on = True
        for task in tasks_of(engine):
            own: list[FlatStep] = []
            for step in task.transfers:
                assert isinstance(step, FlatSend), "a channel out of DRAM sends"
                turn, turns[step.stream] = turns[step.stream], turns[step.stream] + 1
                if step.access.buffer == self.tensor and goes_on:
                    landings = self._landings(step.stream, turn)
                    if goes_on := landings is not None:
                        taken.arrivals.append(Arrival(step.access, landings or ()))
                        taken.dropped.add((step.stream, turn))
                        continue
                own.append(step)
            number, counts[task.waits.semaphore] = counts[task.waits.semaphore], counts[task.waits.semaphore] + 1
            if own:
                kept += [task.waits, *own, task.gives]
            else:
                taken.tasks.add((task.waits.semaphore, number))
        taken.body = tuple(kept)
        return taken

    def _landings(self, stream: str, turn: int) -> tuple[Landing, ...] | None:
        """Where a stream's transfer arrives; None where a slot there was filled before."""
        (path,) = (one for one in self.program.streams if one.name == stream)
        found = []
        for name in path.receivers:
            received = self._received(name, stream)
            if turn >= len(received):
                return None
            access = received[turn].access
            (buffer,) = (one for one in self.program.buffers if one.name == access.buffer)
            fills, count = self._filling(name, buffer.name), self._fills[buffer.name]
            if count == buffer.depth or fills[count] is not received[turn] or access.slot.constant != count:
                return None
            found.append(Landing(self.memories.index(buffer.memory), buffer, access))
        for landing in found:
            self._fills[landing.buffer.name] += 1
        return tuple(found)

    def _received(self, engine: str, stream: str) -> list[FlatReceive]:
        return [s for s in self._steps(engine) if isinstance(s, FlatReceive) and s.stream == stream]

    def _filling(self, engine: str, buffer: str) -> list[FlatReceive]:
        return [s for s in self._steps(engine) if isinstance(s, FlatReceive) and s.access.buffer == buffer]

    def _steps(self, engine: str) -> list[FlatStep]:
        if engine not in self._unrolled:
            (one,) = (each for each in self.program.engines if each.name == engine)
            self._unrolled[engine] = list(unrolled(one.body))
        return self._unrolled[engine]

    def _receiver(self, engine: FlatEngine, taken: Collection[_SentAhead], begins: Counter[str]) -> FlatEngine:
        """A channel into a scratchpad without what comes ahead; `begins` are what semaphores begin at more, or less."""
        dropped = {place for own in taken for place in own.dropped}
        streams = {stream for stream, _ in dropped}
        if not any(engine.name in one.receivers for one in self.program.streams if one.name in streams):
            return engine
        steps, kept, turns = self._steps(engine.name), list[FlatStep](), Counter[str]()
        skip = 0
        for position, step in enumerate(steps):
            if skip:
                skip -= 1
                continue
            following = steps[position + 1] if position + 1 < len(steps) else None
            if isinstance(following, FlatReceive) and (following.stream, turns[following.stream]) in dropped:
                behind = steps[position + 2] if position + 2 < len(steps) else None
                if not isinstance(step, FlatAcquire) or not isinstance(behind, FlatRelease):
                    raise NotAheadError("its slots are handed over together with others")
                begins[step.semaphore] -= step.count
                begins[behind.semaphore] += behind.count
                turns[following.stream] += 1
                skip = 2
                continue
            if isinstance(step, FlatReceive):
                if (step.stream, turns[step.stream]) in dropped:
                    raise NotAheadError("its slots are handed over together with others")
                turns[step.stream] += 1
            kept.append(step)
        return replace(engine, body=tuple(kept))


@dataclass
class _SentAhead:
    """What a channel beside DRAM leaves to the phase before: `tasks` are whole ones, by semaphore and number."""

    arrivals: list[Arrival] = field(default_factory=list)
    dropped: set[tuple[str, int]] = field(default_factory=set)
    tasks: set[tuple[str, int]] = field(default_factory=set)
    body: tuple[FlatStep, ...] = ()


def _sends(engine: FlatEngine) -> Iterator[FlatSend]:
    yield from (step for step in leaves(engine.body) if isinstance(step, FlatSend))


def handing_out(control: FlatEngine, dropped: set[tuple[str, int]]) -> Iterator[FlatStep]:
    """The control processor's steps without tasks that there are no more."""
    steps, counts, skip = list(unrolled(control.body)), Counter[str](), 0
    for position, step in enumerate(steps):
        if skip:
            skip -= 1
            continue
        if semaphore := handed_to(steps[position : position + 3]):
            number, counts[semaphore] = counts[semaphore], counts[semaphore] + 1
            if (semaphore, number) in dropped:
                skip = 2
                continue
        yield step


def bringing(program: Program, device: Device, brought: Brought) -> Program:
    """A phase's program that also brings what the next one begins with; `device` is arranged for it."""
    return _Bringing(program, device, brought).program_with()


@dataclass(frozen=True)
class _Bringing:
    program: Program
    device: Device
    brought: Brought

    @property
    def prefetch(self) -> Prefetch:
        return self.brought.prefetch

    @property
    def tensor(self) -> str:
        return ahead_name(self.brought.number)

    def program_with(self) -> Program:
        names = Platform(self.device).memory_names(self.device.kernel_level)
        more: dict[str, FlatEngine] = {}
        streams, handing, queues = list[FlatStream](), list[FlatStep](), list[FlatSemaphore]()
        for lane in sorted(set(self.brought.lanes)):
            own, sent = self._lane(lane, streams)
            more |= {engine.name: engine for engine in own}
            room, task = f"{self.tensor} room {lane}", f"{self.tensor} task {lane}"
            cycles = Platform(self.device).cycles(self.device.control.descriptor_seconds * sent)
            handing += [FlatAcquire(room), FlatControl(cycles, "descriptor"), FlatRelease(task)]
            queues += [FlatSemaphore(room, 1, 1, Cause.TASK), FlatSemaphore(task, 0, 1, Cause.TASK)]
        waits = [step for step in handing if isinstance(step, FlatAcquire)]
        return replace(
            self.program,
            engines=tuple(self._engines(more, handing, waits)),
            memories=tuple(self._memories(names)),
            buffers=(*self.program.buffers, *self._buffers(names)),
            semaphores=(*self.program.semaphores, *queues),
            streams=(*self.program.streams, *streams),
        )

    def _lane(self, lane: int, streams: list[FlatStream]) -> tuple[list[FlatEngine], int]:
        """What the channels of a lane do, and how many transfers that is; adds the streams between them."""
        platform, level, outer = Platform(self.device), self.device.kernel_level, self.device.dram_level
        tiles = [(row, column) for row in range(self.device.rows) for column in range(self.device.columns)]
        port = platform.channel_name(outer, Side.OUT, (0, 0), lane)
        latency = self.device.link(outer, level).latency_cycles
        paths = dict[tuple[int, ...], FlatStream]()
        sent, received = list[FlatStep](), defaultdict[int, list[FlatStep]](list)
        for arrival in (a for a, own in zip(self.prefetch.arrivals, self.brought.lanes) if own == lane):
            numbers = tuple(landing.number for landing in arrival.landings)
            ends = tuple(platform.channel_name(level, Side.IN, tiles[number], lane) for number in numbers)
            links = tuple(dict.fromkeys(platform.link(outer, level, tiles[number]) for number in numbers))
            name = f"{self.tensor} by {lane} to {', '.join(map(str, numbers))}"
            stream = paths.setdefault(numbers, FlatStream(name, port, ends, links, latency)).name
            sent.append(FlatSend(stream, replace(arrival.read, buffer=self.tensor)))
            for landing in arrival.landings:
                access = replace(landing.access, buffer=f"{self.tensor} {landing.buffer.name}")
                received[landing.number].append(FlatReceive(stream, access))
        streams += paths.values()
        room, task = f"{self.tensor} room {lane}", f"{self.tensor} task {lane}"
        sending = platform.channel(outer, Side.OUT, (0, 0), lane, (FlatAcquire(task), *sent, FlatRelease(room)))
        ends_in = (platform.channel(level, Side.IN, tiles[n], lane, tuple(steps)) for n, steps in received.items())
        return [sending, *ends_in], len(sent)

    def _engines(
        self, more: dict[str, FlatEngine], handing: Sequence[FlatStep], waits: Sequence[FlatStep]
    ) -> Iterator[FlatEngine]:
        for engine in self.program.engines:
            if engine.kind == "control":
                ends = _last_work(engine.body)
                yield replace(engine, body=(*engine.body[:ends], *handing, *engine.body[ends:], *waits))
            elif engine.name in more:
                yield replace(engine, body=(*engine.body, *more.pop(engine.name).body))
            else:
                yield engine
        yield from more.values()

    def _memories(self, names: Sequence[str]) -> Iterator[FlatMemory]:
        ends = Counter[str]()
        for buffer, (number, slots) in self.prefetch.buffers.items():
            end = buffer.address_bytes + slots * buffer.slot_bytes
            ends[names[number]] = max(ends[names[number]], end)
        for memory in self.program.memories:
            yield replace(memory, bytes=max(memory.bytes, ends.pop(memory.name, 0)))
        yield from (FlatMemory(name, self.device.kernel_level, end) for name, end in ends.items())
        yield FlatMemory(self.tensor, self.device.dram_level, self.prefetch.bytes)

    def _buffers(self, names: Sequence[str]) -> Iterator[FlatBuffer]:
        yield FlatBuffer(self.tensor, self.tensor, self.prefetch.bytes, tensor=self.tensor)
        for buffer, (number, slots) in self.prefetch.buffers.items():
            name = f"{self.tensor} {buffer.name}"
            yield replace(buffer, name=name, memory=names[number], depth=slots, tensor=self.tensor)


def ahead_name(number: int) -> str:
    """What a tensor of the next phase is called in the one that brings it."""
    return f"next %{number}"


def _last_work(body: Sequence[FlatStep]) -> int:
    """Where a control processor has handed out all tasks, and only waits."""
    return max((n + 1 for n, step in enumerate(body) if not isinstance(step, FlatAcquire)), default=0)


def relocated(program: Program, addresses: Mapping[str, int]) -> Program:
    """The program with some buffers at other addresses, by their names."""
    buffers = tuple(replace(b, address_bytes=addresses.get(b.name, b.address_bytes)) for b in program.buffers)
    ends = Counter[str]()
    for buffer in buffers:
        ends[buffer.memory] = max(ends[buffer.memory], buffer.address_bytes + buffer.depth * buffer.slot_bytes)
    memories = tuple(replace(m, bytes=max(m.bytes, ends[m.name])) for m in program.memories)
    return replace(program, buffers=buffers, memories=memories)
