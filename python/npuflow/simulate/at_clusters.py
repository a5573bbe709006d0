"""What engines of clusters read and write of a tensor through buffers of their own: where each element is. Pure.

A tensor comes to a cluster, or leaves it, tile by tile: a transfer has a tile at one end and a part of the tensor at
the other. So what a kernel does with a tile's elements it does with these of the tensor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np

from npuflow.simulate.at_home import users_of
from npuflow.simulate.channel_tasks import FlatTransfer, steps_of
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.places import Places, existing, places_of
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatCompute,
    FlatEngine,
    FlatLimit,
    FlatReceive,
    FlatRelease,
    FlatSend,
    FlatStep,
    Outside,
    Program,
    contiguous_strides,
)
from npuflow.target import Device

_NOWHERE = -1


@dataclass(frozen=True)
class _TileEnds:
    """A transfer between a tile and the tensor, as a channel's step: the channel beside the tile, and which step."""

    channel: str
    position: int
    tile: FlatAccess
    tensor: FlatAccess


@dataclass
class AtClusters:
    """A tensor of a program, by the name of its memory; `device` is arranged for the program."""

    program: Program
    device: Device
    tensor: str
    _moving: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    @cached_property
    def users(self) -> list[FlatEngine]:
        """The channels beside DRAM that move it."""
        return users_of(self.program, self.tensor)

    @cached_property
    def side(self) -> Side:
        """Out of DRAM, or into it."""
        is_sent = {isinstance(step, FlatSend) for user in self.users for step in self._own(user)}
        if len(is_sent) != 1:
            raise NotAtHomeError("it is read and written in the same phase, or neither")
        return Side.OUT if is_sent.pop() else Side.IN

    @cached_property
    def moves(self) -> list[_TileEnds]:
        """Its transfers, at both ends."""
        found = []
        for user in self.users:
            turns = Counter[str]()
            for step in self.steps(user.name):
                if not isinstance(step, FlatSend | FlatReceive):
                    continue
                turn, turns[step.stream] = turns[step.stream], turns[step.stream] + 1
                if step.access.buffer == self.tensor:
                    found += [self._move(step, name, turn) for name in self._others(step.stream)]
        return found

    def _own(self, user: FlatEngine) -> Iterator[FlatTransfer]:
        for step in self.steps(user.name):
            if isinstance(step, FlatSend | FlatReceive) and step.access.buffer == self.tensor:
                yield step

    def _others(self, stream: str) -> Sequence[str]:
        (path,) = (one for one in self.program.streams if one.name == stream)
        return path.receivers if self.side is Side.OUT else (path.sender,)

    def _move(self, step: FlatTransfer, name: str, turn: int) -> _TileEnds:
        own = self._on_stream(name, step.stream)
        if turn >= len(own):
            raise NotAtHomeError("its other end moves it in other transfers")
        other = self.steps(name)[own[turn]]
        assert isinstance(other, FlatSend | FlatReceive), "what moves on a stream is a transfer"
        return _TileEnds(name, own[turn], other.access, step.access)

    def _on_stream(self, engine: str, stream: str) -> list[int]:
        """Which of an engine's steps move something on a stream."""
        if engine not in self._moving:
            found = self._moving[engine] = defaultdict(list)
            for number, step in enumerate(self.steps(engine)):
                if isinstance(step, FlatSend | FlatReceive):
                    found[step.stream].append(number)
        return self._moving[engine][stream]

    def steps(self, engine: str) -> tuple[FlatStep, ...]:
        """All that an engine does, with loops written out."""
        return steps_of(self.engines[engine])

    @cached_property
    def engines(self) -> dict[str, FlatEngine]:
        return {engine.name: engine for engine in self.program.engines}

    @cached_property
    def names(self) -> list[str]:
        """Of the scratchpads, by number."""
        return Platform(self.device).memory_names(self.device.kernel_level)

    @cached_property
    def buffers(self) -> dict[str, tuple[int, FlatBuffer]]:
        """The buffers of its tiles, each with its scratchpad's number."""
        known = {buffer.name: buffer for buffer in self.program.buffers}
        own = dict.fromkeys(move.tile.buffer for move in self.moves)
        if any(known[name].memory not in self.names for name in own):
            raise NotAtHomeError("its tiles are no kernel's")
        return {name: (self.names.index(known[name].memory), known[name]) for name in own}

    @cached_property
    def tiles(self) -> dict[tuple[str, int], Places]:
        """Of each slot's turn which element of the tensor is at each of its places, or nowhere."""
        found: dict[tuple[str, int], Places] = {}
        for move in self.moves:
            places, elements = _travelling(move.tile), _travelling(move.tensor)
            if places.size != elements.size:
                raise NotAtHomeError("its other end moves other elements")
            key = move.tile.buffer, move.tile.slot.constant
            size = self.buffers[key[0]][1].slot_bytes // move.tile.element_bytes
            places, elements = places[elements != _NOWHERE], elements[elements != _NOWHERE]
            tile = found.setdefault(key, np.full(size, _NOWHERE))
            if (tile[places] != _NOWHERE).any() and not np.array_equal(tile[places], elements):
                raise NotAtHomeError("a tile's place has several parts of it in turn")
            tile[places] = elements
        return found

    def elements(self, number: int) -> Places:
        """The elements that are in tiles of a scratchpad, in order."""
        (memory,) = (one for one in self.program.memories if one.name == self.tensor)
        there = np.zeros(memory.bytes, bool)
        for (name, _), tile in self.tiles.items():
            if self.buffers[name][0] == number:
                there[tile[tile != _NOWHERE]] = True
        return np.flatnonzero(there)

    def placed(self, access: FlatAccess, name: str, places: Callable[[Places], Places]) -> FlatAccess:
        """A kernel's access to a tile, to a buffer of that name instead, in which elements have `places`."""
        tile = self.tiles.get((access.buffer, access.slot.constant))
        if tile is None:
            raise NotAtHomeError("a kernel has a tile of it that nothing is moved of")
        dense = zip(access.sizes, access.strides, contiguous_strides(access.sizes))
        if not access.limits and any(stride != own for size, stride, own in dense if size > 1):
            raise NotAtHomeError("a kernel has a part of a tile, whose rows lie apart")
        own, inside = places_of(access), existing(access)
        elements = np.full(own.size, _NOWHERE)
        elements[inside] = tile[own[inside]]
        there = np.where(elements == _NOWHERE, _NOWHERE, places(elements))
        for shape in (access.sizes, *self._shapes(access.buffer)):
            if prod(shape) == there.size and (found := _affine(there.reshape(shape))) is not None:
                offset, strides, limits = found
                what = name, tuple(shape), strides, access.element_bytes, FlatAffine(offset)
                return FlatAccess(*what, limits=limits, outside=Outside.ZERO)
        raise NotAtHomeError("what a kernel has of it is no box of the tensor")

    def _shapes(self, buffer: str) -> list[tuple[int, ...]]:
        """The dimensions in which a buffer's tiles are moved."""
        return list(dict.fromkeys(move.tile.sizes for move in self.moves if move.tile.buffer == buffer))


def _travelling(access: FlatAccess) -> Places:
    """What an access goes through, nowhere where that is zeros that are made up on the way."""
    places, inside = places_of(access), existing(access)
    return np.where(inside, places, _NOWHERE) if access.outside is Outside.ZERO else places[inside]


def _affine(elements: Places) -> tuple[int, tuple[int, ...], tuple[FlatLimit, ...]] | None:
    """Offset, strides and limits that go through elements of a box, but those that are nowhere; None for others."""
    inside, dense = elements != _NOWHERE, contiguous_strides(elements.shape)
    if not inside.any():
        return 0, dense, (FlatLimit((0,) * elements.ndim, FlatAffine()),)
    ends = []
    for dimension in range(elements.ndim):
        others = tuple(d for d in range(elements.ndim) if d != dimension)
        (there,) = np.nonzero(inside.any(axis=others))
        ends.append((int(there[0]), int(there[-1]) + 1))
    box = elements[tuple(slice(*end) for end in ends)]
    if (box == _NOWHERE).any():
        return None
    first, strides = int(box.flat[0]), []
    for dimension, size in enumerate(box.shape):
        second = tuple(1 if d == dimension else 0 for d in range(box.ndim))
        strides.append(int(box[second]) - first if size > 1 else dense[dimension])
    grid = sum(
        np.arange(n).reshape([-1 if d == at else 1 for d in range(box.ndim)]) * s
        for at, (n, s) in enumerate(zip(box.shape, strides))
    )
    if not np.array_equal(box, first + grid):
        return None
    offset = first - sum(begin * stride for (begin, _), stride in zip(ends, strides))
    return offset, tuple(strides), tuple(_limits(elements.shape, ends))


def _limits(shape: Sequence[int], ends: Sequence[tuple[int, int]]) -> Iterator[FlatLimit]:
    for dimension, (size, (begin, end)) in enumerate(zip(shape, ends)):
        unit = tuple(int(d == dimension) for d in range(len(shape)))
        if begin:
            yield FlatLimit(tuple(-c for c in unit), FlatAffine(1 - begin))
        if end < size:
            yield FlatLimit(unit, FlatAffine(end))


@dataclass(frozen=True)
class TakenMoves:
    """Channels beside tiles without a tensor's transfers, and the semaphores by which tiles were handed over."""

    bodies: dict[str, tuple[FlatStep, ...]]
    semaphores: frozenset[str]


def taken_moves(tensor: AtClusters) -> TakenMoves:
    """What is left of the channels; raises NotAtHomeError where tiles are handed over together with others."""
    bodies, gone, kept = {}, set[str](), set[str]()
    own = {(move.channel, move.position) for move in tensor.moves}
    channels = {channel for channel, _ in own}
    if any(tensor.buffers.keys() & one.moved_buffers for one in tensor.program.engines if one.name not in channels):
        raise NotAtHomeError("its tiles have another tensor before, or after")
    for channel in channels:
        body: list[FlatStep] = []
        for turn in _turns(tensor.steps(channel)):
            transfers = [n for n, step in turn if isinstance(step, FlatSend | FlatReceive)]
            is_own = {(channel, n) in own for n in transfers}
            semaphores = {step.semaphore for _, step in turn if isinstance(step, FlatAcquire | FlatRelease)}
            if len(is_own) > 1:
                raise NotAtHomeError("its tiles are handed over together with others")
            if True in is_own:
                gone |= semaphores
            else:
                kept |= semaphores
                body += [step for _, step in turn]
        bodies[channel] = tuple(body)
    if gone & kept:
        raise NotAtHomeError("its tiles are handed over as others are")
    return TakenMoves(bodies, frozenset(gone))


def _turns(steps: Sequence[FlatStep]) -> Iterator[list[tuple[int, FlatStep]]]:
    """A channel's steps in turns: what it waits for, moves and hands over."""
    turn: list[tuple[int, FlatStep]] = []
    for number, step in enumerate(steps):
        if isinstance(step, FlatAcquire) and any(isinstance(one, FlatRelease) for _, one in turn):
            yield turn
            turn = []
        turn.append((number, step))
    if turn:
        yield turn


def without(steps: Sequence[FlatStep], semaphores: frozenset[str]) -> list[FlatStep]:
    """Steps without those on some semaphores."""
    return [s for s in steps if not (isinstance(s, FlatAcquire | FlatRelease) and s.semaphore in semaphores)]


def uses(step: FlatStep, buffers: Sequence[str]) -> bool:
    """Whether a kernel has anything of some buffers."""
    return isinstance(step, FlatCompute) and any(operand.access.buffer in buffers for operand in step.operands)


def computing(program: Program) -> list[FlatEngine]:
    return [engine for engine in program.engines if FlatCompute in engine.step_kinds]


def at_places(step: FlatCompute, tensor: AtClusters, name: str, places: Callable[[Places], Places]) -> FlatCompute:
    """A kernel's call on the tensor itself, in a buffer of that name in which elements have `places`."""
    operands = tuple(
        replace(one, access=tensor.placed(one.access, name, places), apart=True)
        if one.access.buffer in tensor.buffers
        else one
        for one in step.operands
    )
    return replace(step, operands=operands)
