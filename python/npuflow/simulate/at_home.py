"""Programs whose tensors are at home in memory tiles instead of in DRAM. Pure.

A tensor lies there as it would in DRAM, or dealt out piece by piece, in slabs of equal size, one to a tile. What
channels of shims read or wrote of it, a channel beside each slab does, or several: as chains of descriptors that are
there before the phase begins and go round by themselves. The control processor hands out nothing; it starts them, and
waits until they are done:

    launch                           launch
    acquire shim_out0_room[0]        release arg0 0 start
    control 1566
    release shim_out0_task[0]        acquire arg0 0 done

A transfer that is in several slabs becomes several, whose other end takes them one after the other. Between two memory
tiles a stream goes through the switches of the shims' row, of all columns on its way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle, zip_longest
from typing import TypeAlias

from npuflow.simulate.chains import chain_length, chain_move
from npuflow.simulate.channel_tasks import FlatTransfer, NotTaskByTaskError, steps_of, transfers
from npuflow.simulate.home_chains import home_chain, task_chains
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain, HomePort, NearTensor
from npuflow.simulate.home_tasks import NotAtHomeError, SlabTransfer, taken_tasks
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import (
    Cause,
    FlatAcquire,
    FlatControl,
    FlatEngine,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    FlatStream,
    Program,
)
from npuflow.simulate.shares import part_of
from npuflow.target import Device

# A slab by its place in the tensor, and one of the channels that serve it, by number.
_SlabChannel: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True)
class AtHome:
    """A program with tensors at home, and the descriptors that take the place of tasks.

    Those that are `near` take none.
    """

    program: Program
    chains: tuple[HomeChain, ...] = ()
    near: tuple[NearTensor, ...] = ()

    @property
    def ways(self) -> tuple[object, ...]:
        """What makes it another program than that with everything in DRAM."""
        return self.chains, self.near


def at_home(program: Program, device: Device, ports: Sequence[HomePort]) -> AtHome:
    """The program with tensors at home; raises NotAtHomeError where one can't be."""
    found = AtHome(program)
    try:
        for port in ports:
            moved = _Move(found.program, device, port).moved()
            found = AtHome(moved.program, (*found.chains, *moved.chains))
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error
    return found


def users_of(program: Program, tensor: str) -> list[FlatEngine]:
    """The engines that move a tensor: beside DRAM, or beside its home."""
    return [engine for engine in program.engines if tensor in engine.moved_buffers]


def _on(stream: str, transfer: FlatTransfer) -> FlatTransfer:
    """A transfer on another stream."""
    return type(transfer)(stream, transfer.access, transfer.name)


def behind_launch(control: Sequence[FlatStep], steps: Sequence[FlatStep]) -> list[FlatStep]:
    """The control processor's steps with others right behind the launch."""
    launch = next((n + 1 for n, step in enumerate(control) if isinstance(step, FlatControl)), 0)
    return [*control[:launch], *steps, *control[launch:]]


def with_home(
    program: Program,
    tensor: str,
    control: Sequence[FlatStep],
    bodies: Mapping[str, Sequence[FlatStep]],
    told: Sequence[str],
    streams: Sequence[FlatStream],
) -> Program:
    """A program whose tensor is in memory tiles: other steps of the control processor, and of the engines in `bodies`.

    Who has none left goes. `told` are semaphores by which channels are started, or say that they are done.
    """
    engines = (
        _with_body(each, control if each.kind == "control" else bodies.get(each.name)) for each in program.engines
    )
    memories = (replace(one, level=HOME_LEVEL) if one.name == tensor else one for one in program.memories)
    return replace(
        program,
        engines=tuple(engine for engine in engines if engine.body),
        semaphores=(*program.semaphores, *(FlatSemaphore(name, 0, 1, Cause.TASK) for name in told)),
        streams=tuple(streams),
        memories=tuple(memories),
    )


def _with_body(engine: FlatEngine, body: Sequence[FlatStep] | None) -> FlatEngine:
    """An engine with another body, if there is one."""
    return engine if body is None else replace(engine, body=tuple(body))


@dataclass
class _Move:
    """One tensor's way home; `parts` are those of its tasks."""

    program: Program
    device: Device
    port: HomePort
    side: Side = Side.OUT
    parts: Mapping[str, Sequence[Sequence[SlabTransfer] | None]] = field(default_factory=dict)
    chains: list[HomeChain] = field(default_factory=list)

    def moved(self) -> AtHome:
        users = users_of(self.program, self.port.tensor)
        if not users:
            return AtHome(self.program)
        is_sent = {isinstance(t, FlatSend) for e in users for t in transfers(e.body) if self._is_own(t)}
        if len(is_sent) > 1:
            raise NotAtHomeError("it is read and written in the same phase")
        self.side = Side.OUT if is_sent.pop() else Side.IN
        taken = taken_tasks(self.program, self.device, self.port, users)
        self.parts = taken.parts
        streams = self._streams()
        homes = self._homes()
        control = self._started(taken.control, homes)
        bodies = {**taken.left, **self._ends()}
        told = [what(channel) for channel in homes for what in (self._start, self._done)]
        whole = with_home(self.program, self.port.tensor, control, bodies, told, streams)
        return AtHome(replace(whole, engines=(*whole.engines, *homes.values())), tuple(self.chains))

    def _is_own(self, transfer: FlatTransfer) -> bool:
        return transfer.access.buffer == self.port.tensor

    def _started(self, control: Sequence[FlatStep], channels: Collection[_SlabChannel]) -> list[FlatStep]:
        """The control processor's steps with the start of the channels behind the launch, and their end."""
        starts = [FlatRelease(self._start(each)) for each in channels]
        return [*behind_launch(control, starts), *(FlatAcquire(self._done(each)) for each in channels)]

    def _start(self, channel: _SlabChannel) -> str:
        return f"{self._channel_name(channel)} start"

    def _done(self, channel: _SlabChannel) -> str:
        return f"{self._channel_name(channel)} done"

    def _channel_name(self, channel: _SlabChannel) -> str:
        """A slab's first channel is called after it, others by their number as well."""
        slab, number = channel
        is_first = number == self.port.slabs[slab].channels[0]
        return f"{self.port.tensor} {slab}" if is_first else f"{self.port.tensor} {slab}.{number}"

    def _stream_name(self, stream: str, slab: int) -> str:
        return f"{stream} of {self.port.tensor} {slab}"

    # Beside the slabs

    def _homes(self) -> dict[_SlabChannel, FlatEngine]:
        """The channels beside slabs that are used."""
        served: dict[_SlabChannel, list[list[SlabTransfer]]] = defaultdict(list)
        for (slab, user), number in self.channel_of.items():
            served[slab, number].append(self.queues[slab][user])
        return {channel: self._home(channel, served[channel]) for channel in sorted(served)}

    @cached_property
    def queues(self) -> Mapping[int, Mapping[str, list[SlabTransfer]]]:
        """What each channel of shims did with each slab."""
        found: dict[int, dict[str, list[SlabTransfer]]] = defaultdict(lambda: defaultdict(list))
        for part in (part for parts in self.parts.values() for split in parts for part in split or ()):
            found[part.slab][part.user].append(part)
        return found

    @cached_property
    def channel_of(self) -> dict[tuple[int, str], int]:
        """The channel beside a slab by which it is moved to, or from, where a channel of a shim did that."""
        return {
            (slab, user): number
            for slab, own in self.queues.items()
            for user, number in zip(own, cycle(self.port.slabs[slab].channels))
        }

    def _home(self, channel: _SlabChannel, queues: Sequence[Sequence[SlabTransfer]]) -> FlatEngine:
        """A channel beside a slab: what several channels of shims did side by side in turn, first parts first."""
        slab, number = channel
        column = self.port.slabs[slab].column
        rounds = ([part for part in several if part is not None] for several in zip_longest(*queues))
        turns = [part for several in rounds for part in sorted(several, key=lambda part: part.turn)]
        steps = [_on(self._stream_name(part.transfer.stream, slab), part.transfer) for part in turns]
        body = (FlatAcquire(self._start(channel)), *steps, FlatRelease(self._done(channel)))
        moves, each = [part.transfer for part in turns], max(part.descriptors for part in turns)
        self.chains += task_chains(self.device, column, number, moves, self._depths, each)
        return Platform(self.device).channel(HOME_LEVEL, self.side, (0, column), number, body)

    def _length(self, moves: Sequence[FlatTransfer]) -> int:
        return chain_length([chain_move(one, self._depths) for one in moves], self._most_turns)

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        return {buffer.name: buffer.depth for buffer in self.program.buffers}

    @property
    def _most_turns(self) -> int:
        pattern = self.device.dma(HOME_LEVEL).pattern
        return pattern.iteration_max if pattern else 0

    # The other ends

    def _ends(self) -> dict[str, list[FlatStep]]:
        """The bodies of the engines at the other ends of the tensor's transfers."""
        streams: dict[str, list[str]] = defaultdict(list)
        for stream in self.program.streams:
            if any(part is not None for part in self.parts.get(stream.name, ())):
                for end in self._others(stream):
                    streams[end].append(stream.name)
        return {end: self._end(self._engines[end], own) for end, own in streams.items()}

    @cached_property
    def _engines(self) -> Mapping[str, FlatEngine]:
        return {engine.name: engine for engine in self.program.engines}

    def _others(self, stream: FlatStream) -> tuple[str, ...]:
        return stream.receivers if self.side is Side.OUT else (stream.sender,)

    def _end(self, engine: FlatEngine, streams: Sequence[str]) -> list[FlatStep]:
        left = {stream: iter(self.parts[stream]) for stream in streams}
        found: list[FlatStep] = []
        before, after = list[FlatTransfer](), list[FlatTransfer]()
        for step in steps_of(engine):
            if (
                not isinstance(step, FlatTransfer)
                or step.stream not in left
                or (own := next(left[step.stream])) is None
            ):
                found.append(step)
                continue
            cut = self._cut(step, own)
            before.append(step)
            after += cut
            found += cut
        if any(next(one, None) is not None for one in left.values()):
            raise NotAtHomeError("its other end moves it in other transfers")
        self._more(engine, after, self._length(after) - self._length(before))
        return found

    def _cut(self, step: FlatTransfer, parts: Sequence[SlabTransfer]) -> list[FlatTransfer]:
        if len(parts) == 1:
            return [_on(self._stream_name(step.stream, parts[0].slab), step)]
        found = []
        for part in parts:
            access = part_of(step.access, part.share)
            if access is None:
                raise NotAtHomeError("its slabs begin within what its other end takes as a row")
            found.append(type(step)(self._stream_name(step.stream, part.slab), access, step.name))
        return found

    def _more(self, engine: FlatEngine, moves: Sequence[FlatTransfer], descriptors: int) -> None:
        """Notes how many more descriptors the engine at the other end takes for what is in several slabs."""
        if descriptors <= 0 or engine.tile is None:
            return
        column = engine.tile[1]
        for side in Side:
            number = Platform(self.device).channels_beside(HOME_LEVEL, side, column).get(engine.name)
            if number is not None:
                self.chains.append(home_chain(self.device, column, number, descriptors, moves))

    # Streams

    def _streams(self) -> list[FlatStream]:
        """The streams, with one to or from each slab in place of what moved the tensor."""
        found: list[FlatStream] = []
        for stream in self.program.streams:
            parts = self.parts.get(stream.name, [])
            slabs = sorted({part.slab for split in parts for part in split or ()})
            if self.side is Side.IN and slabs and len(stream.receivers) > 1:
                raise NotAtHomeError("it is written by several channels at once")
            if not slabs or any(split is None for split in parts):
                found.append(stream)
            users = {part.slab: part.user for split in parts for part in split or ()}
            found += [self._stream(stream, (slab, self.channel_of[slab, users[slab]])) for slab in slabs]
        return found

    def _stream(self, stream: FlatStream, served: _SlabChannel) -> FlatStream:
        (slab, number), home = served, self.port.slabs[served[0]].column
        tiles = [self._engines[name].tile for name in self._others(stream)]
        columns = [tile[1] for tile in tiles if tile is not None] + [home]
        way = range(min(columns), max(columns) + 1)
        platform, outer = Platform(self.device), self.device.dram_level
        # What is read at home would have come from DRAM, what is written there have gone to it.
        ends = (outer, HOME_LEVEL) if self.side is Side.OUT else (HOME_LEVEL, outer)
        links = dict.fromkeys(platform.link(*ends, (0, column)) for column in way)
        latency = self.device.link(outer, HOME_LEVEL).latency_cycles * (len(way) + 1)
        channel = platform.channel_name(HOME_LEVEL, self.side, (0, home), number)
        name, links_on_way = self._stream_name(stream.name, slab), tuple(links)
        if self.side is Side.OUT:
            return replace(stream, name=name, links=links_on_way, latency_cycles=latency, sender=channel)
        return replace(stream, name=name, links=links_on_way, latency_cycles=latency, receivers=(channel,))
