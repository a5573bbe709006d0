"""Programs whose kernels write a tensor where it stays, in their cluster's scratchpad, and read it there. Pure.

    matrix    acquire full, compute on l1_0, release empty        compute on the cluster's window of the tensor
    port out  send rows 0 to 11 of the tensor                     -
    scratchpad in   acquire empty, receive l1_0, release full     -

What a cluster reads and others make, as rows beside its own, ports bring to its window from theirs, before its first
kernel that reads the tensor: what several clusters lack alike, once for all of them. One that lacks nothing has all
that it reads from the start; it begins behind the launch, as channels do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import prod

import numpy as np
import numpy.typing as npt

from npuflow.network.spread import NOBODY, TensorSpread
from npuflow.simulate.at_clusters import AtClusters, at_places, computing, taken_moves, uses, without
from npuflow.simulate.at_home import behind_launch
from npuflow.simulate.channel_tasks import NotTaskByTaskError, tasks_of
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.places import Places, access_of, in_pattern, irregular_dimension
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.prefetch import handing_out
from npuflow.simulate.program import (
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatBuffer,
    FlatCompute,
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
from npuflow.simulate.run import POISON
from npuflow.target import Device

# Of what clusters take from each other in one transfer.
_MOST_DIMS = 4


def elements_at_clusters(tensor: AtClusters) -> dict[int, Places]:
    """The elements that each cluster makes, or reads; raises NotAtHomeError where kernels can't do so in place."""
    try:
        return {number: tensor.elements(number) for number in sorted({number for number, _ in tensor.buffers.values()})}
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error


def spread_of(
    made: Mapping[int, Places], read: Sequence[Mapping[int, Places]], shape: Sequence[int], element_bytes: int
) -> TensorSpread:
    """How a tensor is spread that clusters make and read so: by the dimensions that take least room."""
    owners: npt.NDArray[np.uint8] = np.full(prod(shape), NOBODY, np.uint8)
    periods = dict.fromkeys(prod(shape[dimension:]) for dimension in range(len(shape)))
    for number, elements in made.items():
        owners[elements] = number
    if (owners == NOBODY).any():
        raise NotAtHomeError("no cluster makes some of it")
    return min(
        (TensorSpread(_windows([made, *read], period), period, owners.tobytes(), element_bytes) for period in periods),
        key=lambda spread: max(map(spread.window_elements, spread.windows)),
    )


def _windows(sides: Sequence[Mapping[int, Places]], period: int) -> dict[int, tuple[int, int]]:
    ends: dict[int, list[int]] = defaultdict(list)
    for number, elements in (item for side in sides for item in side.items()):
        there = elements % period
        ends[number] += [int(there.min()), int(there.max()) + 1] if there.size else []
    return {number: (min(own), max(own)) if own else (0, 1) for number, own in sorted(ends.items())}


def in_clusters(tensor: AtClusters, spread: TensorSpread) -> Program:
    """A tensor's program with it spread so; raises NotAtHomeError where it can't be."""
    try:
        return _InClusters(tensor, spread).moved()
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error


def window_name(tensor: str, number: int) -> str:
    """What a cluster's window of a tensor is called."""
    return f"{tensor} in {number}"


def in_windows(tensor: str, spread: TensorSpread, array: npt.NDArray[np.generic]) -> dict[str, npt.NDArray[np.uint8]]:
    """A tensor as scratchpads have it behind who makes it: each what it owns, and nothing else."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, spread.element_bytes)
    found = {}
    for number in spread.windows:
        own, where = _owned(spread, number)
        window = np.full((spread.window_elements(number), spread.element_bytes), POISON, np.uint8)
        window[where] = data[own]
        found[window_name(tensor, number)] = window.reshape(-1)
    return found


def from_windows(
    tensor: str, spread: TensorSpread, memories: Mapping[str, npt.NDArray[np.uint8]]
) -> npt.NDArray[np.uint8]:
    """The tensor of which scratchpads have parts."""
    data = np.full((len(spread.owners), spread.element_bytes), POISON, np.uint8)
    for number in spread.windows:
        own, where = _owned(spread, number)
        data[own] = memories[window_name(tensor, number)].reshape(-1, spread.element_bytes)[where]
    return data.reshape(-1)


def _owned(spread: TensorSpread, number: int) -> tuple[Places, Places]:
    """The elements that a scratchpad owns, and where they are in its window."""
    own = np.flatnonzero(np.frombuffer(spread.owners, np.uint8) == number)
    return own, places_in(spread, number, own)


def places_in(spread: TensorSpread, number: int, elements: Places) -> Places:
    """Where elements are in a scratchpad's window."""
    begin, end = spread.windows[number]
    return elements // spread.period * (end - begin) + elements % spread.period - begin


@dataclass(frozen=True)
class _Exchange:
    """What clusters lack of what one of them owns."""

    owner: int
    takers: tuple[int, ...]
    elements: Places


@dataclass
class _InClusters:
    """`ahead` is how many steps channels were let do in front of all else."""

    tensor: AtClusters
    spread: TensorSpread
    engines: dict[str, FlatEngine] = field(init=False)
    ahead: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self.engines = {engine.name: engine for engine in self.program.engines}

    @property
    def program(self) -> Program:
        return self.tensor.program

    @property
    def device(self) -> Device:
        return self.tensor.device

    @property
    def name(self) -> str:
        return self.tensor.tensor

    def moved(self) -> Program:
        taken = taken_moves(self.tensor)
        self._without_tasks()
        for name, body in taken.bodies.items():
            self.engines[name] = replace(self.engines[name], body=body)
        for engine in computing(self.program):
            if any(uses(step, [*self.tensor.buffers]) for step in self.tensor.steps(engine.name)):
                steps = without(self.tensor.steps(engine.name), taken.semaphores)
                self.engines[engine.name] = replace(engine, body=tuple(map(self._in_place, steps)))
        (memory,) = (one for one in self.program.memories if one.name == self.name)
        windows = [
            FlatMemory(window_name(self.name, number), self.device.kernel_level, self.spread.window_bytes(number), True)
            for number in self.spread.windows
        ]
        buffers = [one for one in self.program.buffers if one.name not in self.tensor.buffers and one.name != self.name]
        own = [FlatBuffer(one.name, one.name, one.bytes, tensor=self.name) for one in windows]
        program = replace(
            self.program,
            memories=(*(one for one in self.program.memories if one != memory), *windows),
            buffers=(*buffers, *own),
            semaphores=tuple(one for one in self.program.semaphores if one.name not in taken.semaphores),
        )
        reads = self.tensor.side is Side.OUT
        exchanges = self._exchanges() if reads else []
        streams, semaphores = self._exchanged(exchanges) if exchanges else ([], [])
        if reads:
            semaphores += self._begun({number for one in exchanges for number in one.takers})
        return replace(
            program,
            engines=tuple(self.engines.values()),
            semaphores=(*program.semaphores, *semaphores),
            streams=(*program.streams, *streams),
        )

    def _in_place(self, step: FlatStep) -> FlatStep:
        """A kernel's call on the window of its cluster."""
        if not isinstance(step, FlatCompute) or not uses(step, [*self.tensor.buffers]):
            return step
        own = (self.tensor.buffers.get(operand.access.buffer) for operand in step.operands)
        (number,) = {one[0] for one in own if one is not None}
        return at_places(step, self.tensor, window_name(self.name, number), partial(places_in, self.spread, number))

    def _without_tasks(self) -> None:
        """Leaves out the tensor's transfers of channels beside DRAM, and tasks that had no others."""
        gone = set[tuple[str, int]]()
        for user in self.tensor.users:
            body, counts = list[FlatStep](), Counter[str]()
            for task in tasks_of(user):
                number, counts[task.waits.semaphore] = counts[task.waits.semaphore], counts[task.waits.semaphore] + 1
                if left := [one for one in task.transfers if one.access.buffer != self.name]:
                    body += [task.waits, *left, task.gives]
                else:
                    gone.add((task.waits.semaphore, number))
            self.engines[user.name] = replace(user, body=tuple(body))
        control = self.engines["control"]
        self.engines["control"] = replace(control, body=tuple(handing_out(control, gone)))

    # What clusters take from each other

    def _exchanges(self) -> list[_Exchange]:
        owners = np.frombuffer(self.spread.owners, np.uint8)
        found: dict[tuple[int, bytes], list[int]] = defaultdict(list)
        for number in self.spread.windows:
            elements = self.tensor.elements(number)
            by = owners[elements]
            for owner in sorted({*by.tolist()} - {number}):
                found[owner, elements[by == owner].tobytes()].append(number)
        return [
            _Exchange(owner, tuple(takers), np.frombuffer(elements, np.int64))
            for (owner, elements), takers in found.items()
        ]

    def _exchanged(self, exchanges: list[_Exchange]) -> tuple[list[FlatStream], list[FlatSemaphore]]:
        """Lets ports bring them, each lane some of them, in front of all else; gives the streams and the semaphores."""
        dma = self.device.dma(self.device.dram_level)
        lanes = range(dma.channels_out)
        parts = ((one, places) for one in exchanges for places in transfers_of(one.elements, self._ends(one)))
        moves = list(islice(parts, dma.descriptors + 1))
        if len(moves) > dma.descriptors:
            raise NotAtHomeError(f"clusters lack more of it than {dma.descriptors} descriptors can bring")
        streams, semaphores, handing = list[FlatStream](), list[FlatSemaphore](), list[FlatStep]()
        waits: Counter[int] = Counter()
        for lane in lanes:
            own = moves[lane :: len(lanes)]
            if not own:
                continue
            room, task = f"{self.name} room {lane}", f"{self.name} task {lane}"
            cycles = Platform(self.device).cycles(self.device.control.descriptor_seconds * len(own))
            handing += [FlatAcquire(room), FlatControl(cycles, "descriptor"), FlatRelease(task)]
            semaphores += [FlatSemaphore(room, 1, 1, Cause.TASK), FlatSemaphore(task, 0, 1, Cause.TASK)]
            sent: list[FlatStep] = []
            for one, places in own:
                stream = self._stream(lane, one.takers)
                if stream not in streams:
                    streams.append(stream)
                sent.append(FlatSend(stream.name, self._access(one.owner, places)))
                for number in one.takers:
                    waits[number] += 1
                    received = FlatReceive(stream.name, self._access(number, places))
                    self._first(self._channel(Side.IN, number, lane), [received, FlatRelease(self._there(number))])
            self._first(self._channel(Side.OUT, 0, lane), [FlatAcquire(task), *sent, FlatRelease(room)])
        for number, count in waits.items():
            semaphores.append(FlatSemaphore(self._there(number), 0, count, Cause.DATA))
        self._wait(waits)
        control = self.engines["control"]
        self.engines["control"] = replace(control, body=tuple(behind_launch(control.body, handing)))
        return streams, semaphores

    def _ends(self, one: _Exchange) -> list[Callable[[Places], Places]]:
        """Where elements are in the windows of who owns and who takes them."""
        return [partial(places_in, self.spread, number) for number in (one.owner, *one.takers)]

    def _there(self, number: int) -> str:
        return f"{self.name} there in {number}"

    def _access(self, number: int, places: Places) -> FlatAccess:
        there = places_in(self.spread, number, places)
        what = window_name(self.name, number), places.shape, places.shape, self.spread.element_bytes
        return access_of(FlatAccess(*what), there)

    def _stream(self, lane: int, takers: tuple[int, ...]) -> FlatStream:
        platform, level, outer = Platform(self.device), self.device.kernel_level, self.device.dram_level
        ends = tuple(self._channel(Side.IN, number, lane).name for number in takers)
        links = tuple(dict.fromkeys(platform.link(outer, level, self._tile(number)) for number in takers))
        name = f"{self.name} by {lane} to {', '.join(map(str, takers))}"
        latency = self.device.link(outer, level).latency_cycles
        return FlatStream(name, self._channel(Side.OUT, 0, lane).name, ends, links, latency)

    def _tile(self, number: int) -> tuple[int, int]:
        return divmod(number, self.device.columns)

    def _channel(self, side: Side, number: int, lane: int) -> FlatEngine:
        """A channel into a scratchpad, or beside DRAM, without what it does."""
        level = self.device.kernel_level if side is Side.IN else self.device.dram_level
        return Platform(self.device).channel(level, side, self._tile(number), lane, ())

    def _first(self, channel: FlatEngine, steps: list[FlatStep]) -> None:
        """Lets a channel do something behind what it was let do so before, and in front of all else."""
        known, done = self.engines.get(channel.name, channel), self.ahead[channel.name]
        self.engines[channel.name] = replace(known, body=(*known.body[:done], *steps, *known.body[done:]))
        self.ahead[channel.name] += len(steps)

    def _begun(self, waiting: set[int]) -> list[FlatSemaphore]:
        """Lets engines of clusters that lack nothing, and so wait for no others, wait for the launch."""
        windows = [window_name(self.name, number) for number in self.spread.windows if number not in waiting]
        found = list[FlatSemaphore]()
        for name, engine in self.engines.items():
            if any(uses(step, windows) for step in engine.body):
                found.append(FlatSemaphore(f"{self.name} begins in {name}", 0, 1, Cause.TASK))
                self.engines[name] = replace(engine, body=(FlatAcquire(found[-1].name), *engine.body))
        control = self.engines["control"]
        begins = [FlatRelease(one.name) for one in found]
        self.engines["control"] = replace(control, body=tuple(behind_launch(control.body, begins)))
        return found

    def _wait(self, counts: Counter[int]) -> None:
        """Lets the first kernel of a cluster that reads the tensor wait for what comes from others."""
        for number, count in counts.items():
            waited = False
            for name, engine in self.engines.items():
                body = list(engine.body)
                at = next((n for n, step in enumerate(body) if uses(step, [window_name(self.name, number)])), None)
                if at is None:
                    continue
                if waited:
                    raise NotAtHomeError("several engines of a cluster read what comes from others")
                waited = True
                self.engines[name] = replace(
                    engine, body=(*body[:at], FlatAcquire(self._there(number), count), *body[at:])
                )


def transfers_of(elements: Places, ends: Sequence[Callable[[Places], Places]]) -> Iterator[Places]:
    """Elements in transfers, each of which goes on by the same step along each dimension, at all of its ends."""
    breaks = np.flatnonzero(np.diff(elements) != 1) + 1
    begins, lasts = np.concatenate([[0], breaks]), np.concatenate([breaks, [elements.size]])
    sizes = lasts - begins
    changes = np.flatnonzero(np.diff(sizes)) + 1
    for first, last in zip([0, *changes], [*changes, sizes.size]):
        yield from _in_groups(elements[begins[first:last]][:, None] + np.arange(sizes[first]), ends)


def _in_groups(rows: Places, ends: Sequence[Callable[[Places], Places]]) -> Iterator[Places]:
    """Runs of one length, in as few transfers as have the same steps throughout.

    A run is one in a window as well: what follows on each other in two periods does so where a window has all of both.
    """
    found = in_pattern(rows, _MOST_DIMS)
    if found is not None and all(irregular_dimension(end(found)) is None for end in ends):
        yield found
    elif len(rows) > 1:
        yield from _in_groups(rows[: len(rows) // 2], ends)
        yield from _in_groups(rows[len(rows) // 2 :], ends)
    else:
        yield rows
