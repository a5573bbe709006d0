"""Programs whose last work goes beside the way in of what a later phase begins with. Pure.

What DRAM holds before a launch, weights above all, needn't wait for the phase that reads it: as far as memories that
channels beside DRAM reach, memory tiles or scratchpads, have room beside phases before, channels of one of these bring
it, behind what they move themselves. Its own phase then begins with buffers that are full:

    before                           behind
    acquire empty                    (full begins at 1 more, empty at 1 less; of several who empty it, of each)
    receive arg1 into l1_2
    release full
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from npuflow.simulate.channel_tasks import NotTaskByTaskError, steps_of, tasks_of
from npuflow.simulate.deepened import filling_at
from npuflow.simulate.home_ports import HomeChain
from npuflow.simulate.home_tasks import handed_out
from npuflow.simulate.program import (
    FlatAccess,
    FlatBuffer,
    FlatControl,
    FlatEngine,
    FlatReceive,
    FlatSend,
    FlatStep,
    FlatStream,
    Program,
)
from npuflow.simulate.walk import leaves

# What a channel receives, by stream and by buffer.
_Receives: TypeAlias = "tuple[dict[str, list[FlatReceive]], dict[str, list[FlatReceive]]]"


class NotAheadError(Exception):
    """A tensor that its phase can't find on the chip; the text says why."""


@dataclass(frozen=True)
class Landing:
    """Where a transfer arrives: the memory, by its number, and the buffer there."""

    number: int
    buffer: FlatBuffer
    access: FlatAccess

    @property
    def slot(self) -> int:
        return self.access.slot.constant

    @property
    def place(self) -> slice:
        """The bytes of the memory that it fills."""
        begin = self.buffer.address_bytes + self.slot * self.buffer.slot_bytes
        return slice(begin, begin + self.buffer.slot_bytes)


@dataclass(frozen=True)
class Arrival:
    """One transfer that comes ahead: what is read, all who receive it, the way, from which `tile`.

    The control processor takes so many `cycles` to set it up; of what its channel sends it is at `place_there`.
    """

    read: FlatAccess
    landings: tuple[Landing, ...]
    path: FlatStream
    tile: tuple[int, int]
    cycles: int
    place_there: int = field(default=0, compare=False)

    @property
    def likeness(self) -> tuple[str, int]:
        """What is equal of the same transfer of a tensor, however many slots its buffers have and wherever they lie."""
        return self.path.sender, self.place_there

    @property
    def numbers(self) -> tuple[int, ...]:
        """The memories in which it lands."""
        return tuple(landing.number for landing in self.landings)

    @property
    def turn(self) -> int:
        """Which slots it fills, the first ones or later ones."""
        return max(landing.slot for landing in self.landings)


@dataclass(frozen=True)
class Prefetch:
    """Transfers that fill slots of buffers for the first time, of a tensor of so many bytes in all."""

    tensor: str
    bytes: int
    arrivals: tuple[Arrival, ...]

    @property
    def moved_bytes(self) -> int:
        """What is read for them."""
        return sum(arrival.read.bytes for arrival in self.arrivals)

    @property
    def landings(self) -> Iterator[Landing]:
        yield from (landing for one in self.arrivals for landing in one.landings)

    @property
    def buffers(self) -> Mapping[FlatBuffer, tuple[int, int]]:
        """Of each buffer that they fill, the memory's number, and up to which slot."""
        found: dict[FlatBuffer, tuple[int, int]] = {}
        for landing in self.landings:
            _, most = found.get(landing.buffer, (0, 0))
            found[landing.buffer] = landing.number, max(most, landing.slot + 1)
        return found

    @property
    def places(self) -> Iterator[tuple[int, slice]]:
        """The bytes that they fill of each memory, by its number."""
        yield from ((landing.number, landing.place) for landing in self.landings)

    def moved(self, addresses: Mapping[str, int]) -> Prefetch:
        """The same into buffers at other addresses, by their names."""

        def at(landing: Landing) -> Landing:
            return replace(landing, buffer=replace(landing.buffer, address_bytes=addresses[landing.buffer.name]))

        return replace(
            self, arrivals=tuple(replace(one, landings=tuple(map(at, one.landings))) for one in self.arrivals)
        )


@dataclass(frozen=True)
class Brought:
    """What a phase brings for a later one of a tensor, by its number."""

    number: int
    prefetch: Prefetch

    @property
    def name(self) -> str:
        """What the tensor is called in the phase that brings it."""
        return ahead_name(self.number)

    @property
    def buffer_names(self) -> list[str]:
        """The buffers there in which it lands."""
        return [self.buffer_name(buffer) for buffer in self.prefetch.buffers]

    def buffer_name(self, buffer: FlatBuffer) -> str:
        """What a buffer of the phase that finds it is called there."""
        return f"{self.name} {buffer.name}"


@dataclass(frozen=True)
class Ahead:
    """What a phase brings for later ones, with descriptors beside memory tiles, and what it finds that was brought.

    `depths` are how many slots some buffers have then, by their names in the schedule.
    """

    brings: tuple[Brought, ...] = ()
    finds: tuple[Prefetch, ...] = ()
    chains: tuple[HomeChain, ...] = ()
    depths: tuple[tuple[str, int], ...] = ()


NOTHING_AHEAD = Ahead()


@dataclass
class FirstFills:
    """A phase's program and what of a tensor could come before it, if no slot is filled twice.

    `memories` are the names of those where it may land, by number. With `most`, channels beside DRAM leave so many
    transfers of it to phases before, by their names.
    """

    program: Program
    tensor: str
    memories: Sequence[str]
    most: Mapping[str, int] | None = None
    _fills: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _known: dict[str, _Receives] = field(default_factory=dict)

    def found(self) -> tuple[Prefetch, Program]:
        """The transfers that fill slots for the first time, and the program without them; raises NotAheadError."""
        try:
            return self._found()
        except NotTaskByTaskError as error:
            raise NotAheadError(str(error)) from error

    def _found(self) -> tuple[Prefetch, Program]:
        moving = (one for one in self.program.engines if self.tensor in one.moved_buffers)
        senders = [one for one in moving if any(step.access.buffer == self.tensor for step in _sends(one))]
        taken = {engine.name: self._taken(engine) for engine in senders}
        arrivals = [arrival for own in taken.values() for arrival in own.arrivals]
        if not arrivals:
            raise NotAheadError("no slot is filled by it alone")
        engines, begins = [], Counter[str]()
        dropped = {place for own in taken.values() for place in own.dropped}
        receivers = {name for stream, _ in dropped for name in self._paths[stream].receivers}
        for engine in self.program.engines:
            if engine.name in taken:
                engines.append(replace(engine, body=taken[engine.name].body))
            elif engine.kind == "control":
                tasks = {task for own in taken.values() for task in own.tasks}
                engines.append(replace(engine, body=tuple(handing_out(engine, tasks))))
            elif engine.name in receivers:
                engines.append(self._receiver(engine, dropped, begins))
            else:
                engines.append(engine)
        semaphores = tuple(
            replace(one, initial=one.initial + begins[one.name]) if begins[one.name] else one
            for one in self.program.semaphores
        )
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
        tile = engine.tile or (0, 0)
        for task in tasks_of(engine):
            own: list[FlatStep] = []
            number, counts[task.waits.semaphore] = counts[task.waits.semaphore], counts[task.waits.semaphore] + 1
            cycles = self._handed.get((task.waits.semaphore, number), 0) // len(task.transfers)
            for step in task.transfers:
                assert isinstance(step, FlatSend), "a channel out of DRAM sends"
                turn, turns[step.stream] = turns[step.stream], turns[step.stream] + 1
                if step.access.buffer == self.tensor and goes_on:
                    is_ahead = self.most is None or len(taken.arrivals) < self.most.get(engine.name, 0)
                    landings = self._landings(step.stream, turn) if is_ahead else None
                    if goes_on := landings is not None:
                        path = self._paths[step.stream]
                        taken.arrivals.append(
                            Arrival(step.access, landings or (), path, tile, cycles, len(taken.arrivals))
                        )
                        taken.dropped.add((step.stream, turn))
                        continue
                own.append(step)
            if own:
                kept += [task.waits, *own, task.gives]
            else:
                taken.tasks.add((task.waits.semaphore, number))
        taken.body = tuple(kept)
        return taken

    def _landings(self, stream: str, turn: int) -> tuple[Landing, ...] | None:
        """Where a stream's transfer arrives; None where a slot there was filled before."""
        found = []
        for name in self._paths[stream].receivers:
            received = self._received(name, stream)
            if turn >= len(received):
                return None
            access = received[turn].access
            buffer = self._buffers[access.buffer]
            fills, count = self._filling(name, buffer.name), self._fills[buffer.name]
            if count == buffer.depth or fills[count] is not received[turn] or access.slot.constant != count:
                return None
            found.append(Landing(self.memories.index(buffer.memory), buffer, access))
        for landing in found:
            self._fills[landing.buffer.name] += 1
        return tuple(found)

    @cached_property
    def _paths(self) -> Mapping[str, FlatStream]:
        return {one.name: one for one in self.program.streams}

    @cached_property
    def _buffers(self) -> Mapping[str, FlatBuffer]:
        return {one.name: one for one in self.program.buffers}

    @cached_property
    def _handed(self) -> Mapping[tuple[str, int], int]:
        """The cycles in which each task is set up, by its semaphore and its number there."""
        counts, found = Counter[str](), dict[tuple[str, int], int]()
        for control in (engine for engine in self.program.engines if engine.kind == "control"):
            for semaphore, steps in handed_out(control):
                if semaphore:
                    found[semaphore, counts[semaphore]] = sum(s.cycles for s in steps if isinstance(s, FlatControl))
                    counts[semaphore] += 1
        return found

    def _received(self, engine: str, stream: str) -> list[FlatReceive]:
        return self._receives(engine)[0][stream]

    def _filling(self, engine: str, buffer: str) -> list[FlatReceive]:
        return self._receives(engine)[1][buffer]

    def _receives(self, engine: str) -> _Receives:
        if engine not in self._known:
            by_stream, by_buffer = self._known[engine] = defaultdict(list), defaultdict(list)
            (one,) = (each for each in self.program.engines if each.name == engine)
            for step in steps_of(one):
                if isinstance(step, FlatReceive):
                    by_stream[step.stream].append(step)
                    by_buffer[step.access.buffer].append(step)
        return self._known[engine]

    def _receiver(self, engine: FlatEngine, dropped: Collection[tuple[str, int]], begins: Counter[str]) -> FlatEngine:
        """A channel into a memory without what comes ahead; `begins` are what semaphores begin at more, or less."""
        steps, turns, ahead = steps_of(engine), Counter[str](), set[int]()
        for position, step in enumerate(steps):
            if not isinstance(step, FlatReceive):
                continue
            turn, turns[step.stream] = turns[step.stream], turns[step.stream] + 1
            if (step.stream, turn) not in dropped:
                continue
            filling = filling_at(steps, position)
            if filling is None:
                raise NotAheadError("its slots are handed over together with others")
            for takes in filling.takes:
                begins[takes.semaphore] -= takes.count
            for gives in filling.gives:
                begins[gives.semaphore] += gives.count
            ahead |= {*range(position - len(filling.takes), position + len(filling.gives) + 1)}
        return replace(engine, body=tuple(step for position, step in enumerate(steps) if position not in ahead))


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
    counts = Counter[str]()
    for semaphore, steps in handed_out(control):
        number, counts[semaphore] = counts[semaphore], counts[semaphore] + 1
        if (semaphore, number) not in dropped:
            yield from steps


def ahead_name(number: int) -> str:
    """What a tensor of a later phase is called in the one that brings it."""
    return f"next %{number}"
