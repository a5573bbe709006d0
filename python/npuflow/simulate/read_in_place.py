"""Programs that read a tensor in the memory tiles that hand it to cores, where it stays from phase to phase. Pure.

What cores read comes from DRAM into a buffer of their column's tile, block by block. Where each tile gets pieces of the
tensor of its own, there may be room for all of them. Who *brings* it there has them written where they belong, and
read from there:

    tile in    acquire, receive 256x128 of the buffer, release    acquire, receive 256x128 at the block's place, release
    tile out   acquire, send 64x8 of the buffer, release          acquire, send 64x8 at the block's place, release

Who finds it there has nothing to wait for, and nothing is moved from DRAM:

    tile in    acquire, receive 256x128 of the buffer, release    -
    tile out   acquire, send 64x8 of the buffer, release          send 64x8 at the block's place
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from npuflow.simulate.at_home import AtHome, behind_launch, users_of, with_home
from npuflow.simulate.channel_tasks import NotTaskByTaskError, steps_of, transfers
from npuflow.simulate.hand_overs import HandOver, hand_overs
from npuflow.simulate.home_chains import whole_chains
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain
from npuflow.simulate.home_tasks import NotAtHomeError, TakenTasks
from npuflow.simulate.places import (
    Places,
    access_of,
    existing,
    existing_places,
    in_pattern,
    irregular_dimension,
    places_of,
)
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatEngine,
    FlatMemory,
    FlatReceive,
    FlatRelease,
    FlatSend,
    FlatStep,
    Program,
)
from npuflow.simulate.tensor_in_tiles import TensorInTiles, in_slab
from npuflow.simulate.tile_pieces import TilePieces, pieces_of_tiles
from npuflow.target import Device


def pieces_read(program: Program, device: Device, tensor: str) -> TilePieces | None:
    """How a program's tiles share a tensor that they hand to cores; None where they don't piece by piece."""
    try:
        return _ReadInPlace(program, device, tensor).pieces
    except (NotAtHomeError, NotTaskByTaskError):
        return None


def read_in_place(program: Program, device: Device, tensor: str) -> AtHome:
    """The program with a tensor that is there; raises NotAtHomeError where it can't be."""
    try:
        return _ReadInPlace(program, device, tensor).found()
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error


def brought_in_place(program: Program, device: Device, tensor: str) -> AtHome:
    """The program that brings a tensor there, to a memory `home_of(tensor)`; raises NotAtHomeError where it can't."""
    try:
        return _ReadInPlace(program, device, tensor).brought()
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error


def home_of(tensor: str) -> str:
    """The memory that a tensor is brought to."""
    return f"{tensor} at home"


@dataclass
class _Filled:
    """A tile's buffer: who fills it, what is told by which semaphores, and of each fill where its places belong."""

    filler: str
    told: set[str] = field(default_factory=set)
    fills: list[Places] = field(default_factory=list)


class _ReadInPlace(TensorInTiles):
    @cached_property
    def taken(self) -> TakenTasks:
        users = users_of(self.program, self.tensor)
        own = self.own_transfers(users)
        if not own or any(isinstance(one, FlatReceive) for one in own):
            raise NotAtHomeError("it is nothing that the phase only reads")
        return self.taken_from(users)

    @cached_property
    def sent(self) -> Mapping[str, list[FlatAccess | None]]:
        """By the channel beside a tile that gets it, what is sent of the tensor; None is something else."""
        found = {}
        for stream in self.program.streams:
            parts = self.taken.parts.get(stream.name, [])
            if not any(part is not None for part in parts):
                continue
            if len(stream.receivers) > 1 or stream.receivers[0] in found:
                raise NotAtHomeError("several tiles get the same of it")
            received = [
                step
                for step in steps_of(self.engines[stream.receivers[0]])
                if isinstance(step, FlatReceive) and step.stream == stream.name
            ]
            if len(received) != len(parts):
                raise NotAtHomeError("its other end moves it in other transfers")
            found[stream.receivers[0]] = [None if part is None else part[0].transfer.access for part in parts]
        return found

    @cached_property
    def filled(self) -> Mapping[str, _Filled]:
        """The buffers of tiles that the tensor comes into."""
        found: dict[str, _Filled] = {}
        for name in self.sent:
            for one, own in self._hand_overs(name):
                if all(access is None for access in own):
                    continue
                buffers = {move.access.buffer for move in one.moves}
                steps: tuple[FlatAcquire | FlatRelease, ...] = (*one.waits, *one.gives)
                if len(buffers) > 1 or None in own or any(step.count != 1 for step in steps):
                    raise NotAtHomeError("it is handed over together with other tensors")
                filled = found.setdefault(buffers.pop(), _Filled(name))
                if filled.filler != name:
                    raise NotAtHomeError("several channels fill a buffer with it")
                filled.told |= {step.semaphore for step in steps}
                filled.fills.append(_places(zip((move.access for move in one.moves), own)))
        return found

    def _hand_overs(self, name: str) -> Iterator[tuple[HandOver, list[FlatAccess | None]]]:
        """What a channel fills, one buffer after the other, with what is sent of the tensor by each transfer."""
        streams = {s.name for s in self.program.streams if any(p for p in self.taken.parts.get(s.name, ()))}
        sent = iter(self.sent[name])
        for one in hand_overs(self.engines[name].body):
            yield one, [next(sent) if move.stream in streams else None for move in one.moves]

    @cached_property
    def pieces(self) -> TilePieces:
        """Raises NotAtHomeError where a tile's parts aren't pieces that come in turn."""
        maker = np.full(self.size // self.element_bytes, -1)
        for name, accesses in self.sent.items():
            column = self.column(name)
            for access in filter(None, accesses):
                own = existing_places(access)
                if ((maker[own] != -1) & (maker[own] != column)).any():
                    raise NotAtHomeError("several tiles get the same of it")
                maker[own] = column
        if not self.filled:
            raise NotAtHomeError("no tile has a buffer for it")
        return pieces_of_tiles(maker, self.element_bytes)

    # The programs

    def found(self) -> AtHome:
        """Nothing of the tensor comes; channels to cores are started, and find all there."""
        bodies: dict[str, Sequence[FlatStep]] = dict(self.taken.left)
        told, chains = list[str](), list[HomeChain]()
        for name in self.sent:
            bodies[name] = self._left(name)
            chains += self._chains(name, bodies[name])
        for name in self._readers:
            told.append(f"{self.tensor} to {name} start")
            steps = self._read(self.engines[name], self.tensor, waits=False)
            bodies[name] = (FlatAcquire(told[-1]), *steps)
            chains += self._chains(name, steps)
        control = behind_launch(self.taken.control, [FlatRelease(one) for one in told])
        parts = self.taken.parts
        streams = [s for s in self.program.streams if None in parts.get(s.name, [None])]
        whole = with_home(self.program, self.tensor, control, bodies, told, streams)
        buffers = (one for one in whole.buffers if one.name not in self.filled)
        return AtHome(replace(whole, buffers=tuple(buffers)), tuple(chains))

    def brought(self) -> AtHome:
        """All is moved as before, to where it stays and from there."""
        home, bodies, chains = home_of(self.tensor), dict[str, Sequence[FlatStep]](), list[HomeChain]()
        sent = sum(len(existing_places(access)) for own in self.sent.values() for access in filter(None, own))
        if sent * self.element_bytes > self.size:
            raise NotAtHomeError("it comes several times")
        for name in self.sent:
            bodies[name] = self._received(name, home)
            chains += self._chains(name, bodies[name])
        for name in self._readers:
            bodies[name] = self._read(self.engines[name], home, waits=True)
            chains += self._chains(name, bodies[name])
        engines = tuple(replace(one, body=tuple(bodies.get(one.name, one.body))) for one in self.program.engines)
        buffers = (
            *(one for one in self.program.buffers if one.name not in self.filled),
            FlatBuffer(home, home, self.size, tensor=self.tensor),
        )
        memories = (*self.program.memories, FlatMemory(home, HOME_LEVEL, self.size))
        return AtHome(replace(self.program, engines=engines, buffers=buffers, memories=memories), tuple(chains))

    @cached_property
    def _readers(self) -> list[str]:
        """The channels that send the buffers on; raises NotAtHomeError where somebody else has to do with them."""
        found = []
        for engine in self.program.engines:
            own = [step for step in transfers(engine.body) if step.access.buffer in self.filled]
            if engine.name not in self.sent and own:
                found.append(engine.name)
                if not all(isinstance(step, FlatSend) for step in own):
                    raise NotAtHomeError("others fill its buffers as well")
        return found

    def _left(self, name: str) -> list[FlatStep]:
        """What a channel fills beside the tensor."""
        pairs = self._hand_overs(name)
        return [step for one, own in pairs if None in own for step in (*one.waits, *one.moves, *one.gives)]

    def _received(self, name: str, home: str) -> list[FlatStep]:
        found: list[FlatStep] = []
        for one, own in self._hand_overs(name):
            moves = (
                step if access is None else replace(step, access=self._there(step.access, _sent_places(access), home))
                for step, access in zip(one.moves, own)
            )
            found += [*one.waits, *moves, *one.gives]
        return found

    def _read(self, engine: FlatEngine, home: str, *, waits: bool) -> list[FlatStep]:
        """The steps of a channel to cores, by what it has waited for so far."""
        owner = {told: buffer for buffer, one in self.filled.items() for told in one.told}
        counts: dict[str, int] = defaultdict(int)
        now: dict[str, int] = {}
        found: list[FlatStep] = []
        for step in steps_of(engine):
            if isinstance(step, FlatAcquire) and step.semaphore in owner:
                now[owner[step.semaphore]] = counts[step.semaphore]
                counts[step.semaphore] += step.count
            elif isinstance(step, FlatSend) and step.access.buffer in self.filled:
                fills, number = self.filled[step.access.buffer].fills, now.get(step.access.buffer, len(step.stream))
                places = places_of(step.access)
                if number >= len(fills) or places.min() < 0 or places.max() >= len(fills[number]):
                    raise NotAtHomeError("cores get more of it than comes")
                there = self._there(step.access, fills[number][places], home)
                found.append(replace(step, access=there))
                continue
            if waits or not (isinstance(step, FlatAcquire | FlatRelease) and step.semaphore in owner):
                found.append(step)
        return found

    def _there(self, access: FlatAccess, places: Places, home: str) -> FlatAccess:
        """An access to a tile's buffer as one to what stays there, given the place of each element in the tensor."""
        if access.limits or places.min() < 0:
            raise NotAtHomeError("it is cut off, or filled up with zeros")
        found = in_pattern(places.reshape(access.sizes), self.most_dims)
        if found is None or irregular_dimension(in_slab(found, self.pieces, access.element_bytes)) is not None:
            raise NotAtHomeError("cores get it in no pattern")
        return replace(access_of(access, found), buffer=home, slot=FlatAffine())

    def _chains(self, name: str, steps: Sequence[FlatStep]) -> tuple[HomeChain, ...]:
        return whole_chains(self.program, self.device, self.engines[name], steps)


def _places(moved: Iterator[tuple[FlatAccess, FlatAccess | None]]) -> Places:
    """By the places of a buffer, those of the tensor that come there; -1 is none."""
    pairs = [(places_of(there), _sent_places(sent)) for there, sent in moved if sent is not None]
    found = np.full(max(int(there.max()) for there, _ in pairs) + 1, -1)
    for there, sent in pairs:
        if len(there) != len(sent):
            raise NotAtHomeError("its other end moves it in other transfers")
        if there.min() < 0:
            raise NotAtHomeError("it is cut off, or filled up with zeros")
        found[there] = sent
    return found


def _sent_places(access: FlatAccess) -> Places:
    """The places of the tensor that an access goes through; -1 is beyond its edges, where nothing comes from."""
    return np.where(existing(access), places_of(access), -1)
