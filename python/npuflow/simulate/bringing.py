"""A phase's program that also brings what a later one begins with, through channels that lead there. Pure.

Where streams go through switches, a channel has one way for a whole phase: something comes through channels that the
phase leaves alone, or that lead to the same memory anyway. The last channel of a shim is left for packets. A port that
reaches all scratchpads does so through any of its lanes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import zip_longest

from npuflow.core.once_of_object import once_of_object
from npuflow.simulate.chains import chain_length, chain_move
from npuflow.simulate.deepened import with_buffers
from npuflow.simulate.home_ports import HomeChain
from npuflow.simulate.home_tasks import handed_to
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.prefetch import Arrival, Brought, Prefetch
from npuflow.simulate.program import (
    Cause,
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
from npuflow.target import Device


@dataclass(frozen=True)
class WithBrought:
    """A phase's program that brings something, what of that it can, and the descriptors beside memory tiles.

    `way` is how all that comes: where that is equal, programs that bring the same are, and needn't be made.
    """

    _more: _Bringing
    brought: Brought
    way: Hashable

    @cached_property
    def program(self) -> Program:
        return self._more.program_with()

    @cached_property
    def chains(self) -> tuple[HomeChain, ...]:
        return self._more.chains()


def bringing(
    program: Program, device: Device, level: int, brought: Brought, lane: int = 0, *, early: bool = False
) -> WithBrought:
    """A phase's program that also brings something to memories of a level, by a lane where that leads there.

    Else it comes by others; what no lane leads to is left out, with all that its channel would send later. `device` is
    arranged for it. It is handed out behind all else, or `early`, before the control processor only waits.
    """
    more = _Bringing(program, device, level, brought, lane, early)
    return WithBrought(more, replace(brought, prefetch=more.landed), more.way)


@dataclass(frozen=True)
class _Lane:
    """By which lane something comes, from the channel `port` through a stream."""

    arrival: Arrival
    lane: int
    port: str
    stream: FlatStream


@dataclass(frozen=True)
class _Wired:
    """The names of a program's engines, to what channels each sends, once each, and which feed each channel."""

    engines: frozenset[str]
    receivers: Mapping[str, Sequence[tuple[str, ...]]]
    senders: Mapping[str, Set[str]]


@once_of_object
def _wired(program: Program) -> _Wired:
    receivers, senders = defaultdict[str, list[tuple[str, ...]]](list), defaultdict[str, set[str]](set)
    for stream in program.streams:
        if stream.receivers not in receivers[stream.sender]:
            receivers[stream.sender].append(stream.receivers)
        for end in stream.receivers:
            senders[end].add(stream.sender)
    return _Wired(frozenset(engine.name for engine in program.engines), receivers, senders)


@dataclass
class _Bringing:
    """`ways` are how things come, `received` what channels receive, by name, whose places and numbers are `ends`."""

    program: Program
    device: Device
    level: int
    brought: Brought
    lane: int
    early: bool
    ways: list[_Lane] = field(default_factory=list)
    received: dict[str, list[FlatReceive]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[str, tuple[tuple[int, int], int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count, left_out = self.device.dma(self.device.dram_level).channels_out, set[str]()
        lanes = sorted(range(count), key=lambda lane: lane != self.lane)
        for arrival in self.brought.prefetch.arrivals:
            if arrival.path.sender in left_out:
                continue
            way = next(filter(None, (self._way(arrival, lane) for lane in lanes)), None)
            if way is None:
                left_out.add(arrival.path.sender)
                continue
            self.ways.append(way)
            for landing, end in zip(arrival.landings, way.stream.receivers, strict=True):
                access = replace(landing.access, buffer=self.brought.buffer_name(landing.buffer))
                self.received[end].append(FlatReceive(way.stream.name, access))

    @cached_property
    def platform(self) -> Platform:
        return Platform(self.device)

    @cached_property
    def _wired(self) -> _Wired:
        return _wired(self.program)

    @property
    def tensor(self) -> str:
        return self.brought.name

    @cached_property
    def tiles(self) -> list[tuple[int, int]]:
        """Where the memories of the level are, by their numbers."""
        return [(row, column) for row in range(self.device.rows) for column in range(self.device.columns)]

    @property
    def goes_through_switches(self) -> bool:
        return self.level != self.device.kernel_level

    # Ways

    def _way(self, arrival: Arrival, lane: int) -> _Lane | None:
        """How something comes by a lane; None where that leads elsewhere, or is left for packets."""
        port = self.platform.channel_name(self.device.dram_level, Side.OUT, arrival.tile, lane)
        known = (one.stream for one in self.ways if one.port == port and one.arrival.numbers == arrival.numbers)
        if (stream := next(known, None)) is not None:
            return _Lane(arrival, lane, port, stream)
        ends = self._ends(port, arrival, lane)
        if ends is None:
            return None
        name = f"{self.tensor} by {port} to {', '.join(map(str, arrival.numbers))}"
        return _Lane(arrival, lane, port, replace(arrival.path, name=name, sender=port, receivers=ends))

    def _ends(self, port: str, arrival: Arrival, lane: int) -> tuple[str, ...] | None:
        """The channels at which a port's stream ends, in the order of what lands; None where it can't."""
        places = [self.tiles[number] for number in arrival.numbers]
        if not self.goes_through_switches:
            return tuple(self._end(place, lane) for place in places)
        own = (way.stream.receivers for way in self.ways if way.stream.sender == port)
        leads = [*dict.fromkeys((*self._wired.receivers.get(port, ()), *own))]
        if not leads:
            ends = [self._free_end(place, lane) for place in places]
            found = tuple(end for end in ends if end is not None)
            return None if self._is_last(port, arrival) or len(found) < len(ends) else found
        known = {self._end(place, number): place for place in places for number in self._numbers}
        leads_there = len(leads) == 1 and [known.get(end) for end in leads[0]] == places
        return leads[0] if leads_there and all(self._wired.senders.get(e, {port}) == {port} for e in leads[0]) else None

    def _is_last(self, port: str, arrival: Arrival) -> bool:
        """Whether packets could come through no channel of a shim but this one."""
        _, column = arrival.tile
        names = self.platform.channels_beside(self.device.dram_level, Side.OUT, column)
        taken = {way.port for way in self.ways}
        return {name for name in names if name not in self._wired.engines and name not in taken} == {port}

    def _free_end(self, place: tuple[int, int], lane: int) -> str | None:
        """A channel into a memory tile that a phase leaves alone, that of the lane first."""
        found = (self._end(place, number) for number in sorted(self._numbers, key=lambda number: number != lane))
        return next((name for name in found if name not in self._wired.engines and name not in self.received), None)

    def _end(self, place: tuple[int, int], number: int) -> str:
        name = self.platform.channel_name(self.level, Side.IN, place, number)
        self.ends[name] = place, number
        return name

    @property
    def _numbers(self) -> range:
        return range(self.device.dma(self.level).channels_in)

    @property
    def way(self) -> Hashable:
        return self._begin, tuple((one.port, one.stream.receivers) for one in self.ways)

    # The program

    @cached_property
    def _begin(self) -> int:
        """At which of the control processor's steps it is handed out."""
        body = next((engine.body for engine in self.program.engines if engine.kind == "control"), ())
        return _first_wait(body) if self.early else _last_work(body)

    def program_with(self) -> Program:
        names = self.platform.memory_names(self.level)
        streams = {way.stream.name: way.stream for way in self.ways}
        return replace(
            self.program,
            engines=tuple(self._engines()),
            memories=tuple(self._memories(names)),
            buffers=(*self.program.buffers, *self._buffers(names)),
            semaphores=(*self.program.semaphores, *(each for port in self._ports for each in self._queue(port))),
            streams=(*self.program.streams, *streams.values()),
        )

    def chains(self) -> tuple[HomeChain, ...]:
        """The descriptors beside memory tiles that receive it."""
        if not self.goes_through_switches:
            return ()
        depths = {self.brought.buffer_name(buffer): buffer.depth for buffer in self.landed.buffers}
        landed = {self.brought.buffer_name(one): (one.address_bytes, one.slot_bytes) for one in self.landed.buffers}
        pattern, found = self.device.dma(self.level).pattern, []
        for end, own in self.received.items():
            (_, column), number = self.ends[end]
            length = chain_length([chain_move(one, depths) for one in own], pattern.iteration_max if pattern else 0)
            places = [(landed[one.access.buffer], one.access.slot, one.access.sizes, one.access.strides) for one in own]
            content = sha256(repr((number, places)).encode()).hexdigest()
            group = number % self.device.dma(self.level).descriptor_groups
            found.append(HomeChain(column, group, length, content))
        return tuple(found)

    @cached_property
    def landed(self) -> Prefetch:
        """What it brings of all."""
        return replace(self.brought.prefetch, arrivals=tuple(way.arrival for way in self.ways))

    @property
    def _ports(self) -> Mapping[str, list[_Lane]]:
        """What each channel beside DRAM sends."""
        found: dict[str, list[_Lane]] = defaultdict(list)
        for way in self.ways:
            found[way.port].append(way)
        return found

    def _room(self, port: str) -> str:
        return f"{self.tensor} room of {port}"

    def _task(self, port: str) -> str:
        return f"{self.tensor} task of {port}"

    def _queue(self, port: str) -> tuple[FlatSemaphore, FlatSemaphore]:
        depth = self.device.dma(self.device.dram_level).queue_depth
        room, task = self._room(port), self._task(port)
        return FlatSemaphore(room, depth, depth, Cause.TASK), FlatSemaphore(task, 0, depth, Cause.TASK)

    def _handing(self) -> Iterator[FlatStep]:
        """What the control processor does: one task of each port, then the next ones."""
        for turn in zip_longest(*self._ports.values()):
            for way in filter(None, turn):
                yield from (
                    FlatAcquire(self._room(way.port)),
                    FlatControl(way.arrival.cycles, "descriptor"),
                    FlatRelease(self._task(way.port)),
                )

    def _waits(self) -> Iterator[FlatStep]:
        """What it waits for in the end: that all queues are empty."""
        depth = self.device.dma(self.device.dram_level).queue_depth
        yield from (FlatAcquire(self._room(port), depth) for port in self._ports)

    def _engines(self) -> Iterator[FlatEngine]:
        more = self._more()
        for engine in self.program.engines:
            if engine.kind == "control":
                at = self._begin
                yield replace(engine, body=(*engine.body[:at], *self._handing(), *engine.body[at:], *self._waits()))
            elif engine.name in more:
                yield replace(engine, body=(*engine.body, *more.pop(engine.name).body))
            else:
                yield engine
        yield from more.values()

    def _more(self) -> dict[str, FlatEngine]:
        """What channels do for it, by name."""
        found, outer = dict[str, FlatEngine](), self.device.dram_level
        for port, ways in self._ports.items():
            steps = tuple(step for way in ways for step in self._as_task(way))
            found[port] = self.platform.channel(outer, Side.OUT, ways[0].arrival.tile, ways[0].lane, steps)
        for end, own in self.received.items():
            found[end] = self.platform.channel(self.level, Side.IN, *self.ends[end], tuple(own))
        return found

    def _as_task(self, way: _Lane) -> tuple[FlatStep, ...]:
        send = FlatSend(way.stream.name, replace(way.arrival.read, buffer=self.tensor))
        return FlatAcquire(self._task(way.port)), send, FlatRelease(self._room(way.port))

    def _memories(self, names: Sequence[str]) -> Iterator[FlatMemory]:
        ends = Counter[str]()
        for buffer, (number, slots) in self.landed.buffers.items():
            end = buffer.address_bytes + slots * buffer.slot_bytes
            ends[names[number]] = max(ends[names[number]], end)
        for memory in self.program.memories:
            yield replace(memory, bytes=max(memory.bytes, ends.pop(memory.name, 0)))
        yield from (FlatMemory(name, self.level, end) for name, end in ends.items())
        yield FlatMemory(self.tensor, self.device.dram_level, self.brought.prefetch.bytes)

    def _buffers(self, names: Sequence[str]) -> Iterator[FlatBuffer]:
        yield FlatBuffer(self.tensor, self.tensor, self.brought.prefetch.bytes, tensor=self.tensor)
        for buffer, (number, slots) in self.landed.buffers.items():
            name = self.brought.buffer_name(buffer)
            yield replace(buffer, name=name, memory=names[number], depth=slots, tensor=self.tensor)


def _first_wait(body: Sequence[FlatStep]) -> int:
    """Where a control processor first waits for something else than room for a task."""
    hands = {n + 1 for n in range(len(body)) if handed_to(body[n : n + 3])}
    waits = (n for n, step in enumerate(body) if isinstance(step, FlatAcquire) and n + 1 not in hands)
    return next(waits, len(body))


def _last_work(body: Sequence[FlatStep]) -> int:
    """Where a control processor has handed out all tasks, and only waits."""
    return max((n + 1 for n, step in enumerate(body) if not isinstance(step, FlatAcquire)), default=0)


def relocated(program: Program, addresses: Mapping[str, int]) -> Program:
    """The program with some buffers at other addresses, by their names."""
    buffers = (replace(b, address_bytes=addresses[b.name]) if b.name in addresses else b for b in program.buffers)
    return with_buffers(program, tuple(buffers))
