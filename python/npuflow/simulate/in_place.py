"""Programs whose result stays in the memory tiles that collect it: who collects it writes it where it belongs. Pure.

Cores' results lie in a buffer of their column's tile until they leave for DRAM, block by block. Where each tile makes
pieces of the tensor of its own, these can stay: the channels from the cores write to them, and nothing leaves.

    result in  acquire room, receive 32x98 of the buffer, release     receive 32x98 of the tensor, at the block's place
    result out acquire, send 32x392 of the buffer, release            -
    shim in    receive 32x392 of the tensor                           -
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from npuflow.simulate.at_home import AtHome, users_of, with_home
from npuflow.simulate.chains import chain_length, chain_move
from npuflow.simulate.channel_tasks import FlatTransfer, NotTaskByTaskError, steps_of, transfers
from npuflow.simulate.home_chains import whole_chains
from npuflow.simulate.home_ports import HomeChain
from npuflow.simulate.home_tasks import NotAtHomeError, TakenTasks
from npuflow.simulate.places import access_of, existing, existing_places, in_pattern, irregular_dimension, places_of
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatEngine,
    FlatReceive,
    FlatRelease,
    FlatSend,
    FlatStep,
    Program,
)
from npuflow.simulate.tensor_in_tiles import TensorInTiles, in_slab
from npuflow.simulate.tile_pieces import TilePieces, pieces_of_tiles
from npuflow.target import Device
from npuflow.target.patterns import merged


def pieces_in_place(program: Program, device: Device, tensor: str) -> TilePieces | None:
    """How a program's tiles share a result; None where they don't piece by piece, or it takes a way of its own."""
    try:
        return _InPlace(program, device, tensor).pieces
    except (NotAtHomeError, NotTaskByTaskError):
        return None


def in_place(program: Program, device: Device, tensor: str, pieces: TilePieces) -> AtHome:
    """The program with a result that stays where it is made, in such pieces; raises NotAtHomeError where it can't."""
    try:
        return _InPlace(program, device, tensor).moved(pieces)
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error


@dataclass(frozen=True)
class _Collected:
    """A block of a tensor on its way out of a tile's buffer: where it lies there, and where in the tensor."""

    buffer: FlatAccess
    tensor: FlatAccess


@dataclass(frozen=True)
class _CoreWay:
    """Both ends of a transfer from a core."""

    sent: FlatSend
    received: FlatReceive


class _InPlace(TensorInTiles):
    @cached_property
    def taken(self) -> TakenTasks:
        users = users_of(self.program, self.tensor)
        if not users or any(isinstance(one, FlatSend) for one in self.own_transfers(users)):
            raise NotAtHomeError("it is no result of the phase")
        return self.taken_from(users)

    @cached_property
    def collected(self) -> dict[str, list[_Collected]]:
        """By the channel that sends a tile's buffer on to DRAM, its blocks in order."""
        found = {}
        for stream in self.program.streams:
            parts = self.taken.parts.get(stream.name, [])
            if not any(part is not None for part in parts):
                continue
            sent = [step for step in steps_of(self.engines[stream.sender]) if isinstance(step, FlatSend)]
            ends = [part[0].transfer.access for part in parts if part is not None]
            if len(ends) < len(parts) or any(step.stream != stream.name for step in sent) or len(sent) != len(ends):
                raise NotAtHomeError("what collects it sends other things as well")
            found[stream.sender] = [_Collected(step.access, end) for step, end in zip(sent, ends)]
        return found

    @cached_property
    def pieces(self) -> TilePieces:
        """Raises NotAtHomeError where a tile's parts aren't pieces that come in turn."""
        collected, maker = self.collected, np.full(self.size // self.element_bytes, -1)
        for name, blocks in collected.items():
            for block in blocks:
                maker[existing_places(block.tensor)] = self.column(name)
        return pieces_of_tiles(maker, self.element_bytes)

    # The program

    def moved(self, pieces: TilePieces) -> AtHome:
        bodies: dict[str, Sequence[FlatStep]] = {**self.taken.left, **dict.fromkeys(self.collected, ())}
        done: list[str] = []
        chains: list[HomeChain] = []
        for name, blocks in self.collected.items():
            chains += whole_chains(self.program, self.device, self.engines[name], ())
            for writer in self.writers[blocks[0].buffer.buffer]:
                ways = self._ways(writer, blocks, pieces)
                received = [way.received for _, way in ways if way is not None]
                done.append(f"{self.tensor} of {writer.name} done")
                bodies[writer.name] = (*received, FlatRelease(done[-1]))
                chains += whole_chains(self.program, self.device, writer, received)
                bodies |= self._sent(ways)
        control = (*self.taken.control, *(FlatAcquire(one) for one in done))
        streams = [one for one in self.program.streams if one.sender not in self.collected]
        return AtHome(with_home(self.program, self.tensor, control, bodies, done, streams), tuple(chains))

    @cached_property
    def writers(self) -> Mapping[str, list[FlatEngine]]:
        """By buffer, the channels that fill it."""
        found: dict[str, list[FlatEngine]] = defaultdict(list)
        for engine in self.program.engines:
            filled = (t.access.buffer for t in transfers(engine.body) if isinstance(t, FlatReceive))
            for buffer in dict.fromkeys(filled):
                found[buffer].append(engine)
        return found

    @cached_property
    def senders(self) -> Mapping[str, FlatEngine]:
        """By stream, who sends on it."""
        return {one.name: self.engines[one.sender] for one in self.program.streams}

    def _ways(
        self, writer: FlatEngine, blocks: Sequence[_Collected], pieces: TilePieces
    ) -> list[tuple[FlatSend, _CoreWay | None]]:
        """What cores send to a channel, as many transfers for each block, each with its way into the tensor."""
        received = [step for step in steps_of(writer) if isinstance(step, FlatReceive)]
        each, rest = divmod(len(received), len(blocks))
        if rest or len({(step.stream, step.access.buffer) for step in received}) > 1:
            raise NotAtHomeError("what collects it receives other things as well")
        stream = received[0].stream
        sends = [s for s in steps_of(self.senders[stream]) if isinstance(s, FlatSend) and s.stream == stream]
        if len(sends) != len(received):
            raise NotAtHomeError("cores send it in other transfers than arrive")
        pairs = enumerate(zip(sends, received))
        return [(sent, self._way(sent, step, blocks[number // each], pieces)) for number, (sent, step) in pairs]

    def _way(self, send: FlatSend, receive: FlatReceive, block: _Collected, pieces: TilePieces) -> _CoreWay | None:
        """From a core's memory into the tensor, without what is beyond its edges; None where all is.

        What is a whole turn of pieces further in the tensor is so in each slab: such transfers are looked at once.
        """
        sent, received = send.access, receive.access
        if sent.limits or received.limits:
            raise NotAtHomeError("cores send it without what is beyond its edges")
        turn = pieces.piece_bytes // received.element_bytes * len(pieces.columns)
        begin = block.tensor.offset.constant // turn * turn
        found = _both_ends(_Ends.of(sent, received, block, begin, pieces, self.most_dims))
        if found is None:
            return None
        own, there = found
        offset = FlatAffine(begin + there.offset.constant)
        read = sent.going(own.sizes, own.strides, own.offset, ())
        written = FlatAccess(self.tensor, there.sizes, there.strides, received.element_bytes, offset)
        return _CoreWay(FlatSend(send.stream, read, send.name), FlatReceive(receive.stream, written, receive.name))

    def _sent(self, ways: Sequence[tuple[FlatSend, _CoreWay | None]]) -> dict[str, list[FlatStep]]:
        """The body of the channel that sends what comes, where it leaves something out."""
        sends = [step for step, _ in ways]
        left = [way.sent for _, way in ways if way is not None]
        if [one.access.bytes for one in left] == [step.access.bytes for step in sends]:
            return {}
        if len(left) < len(sends) > self.depths[sends[0].access.buffer]:
            raise NotAtHomeError("cores would make one block after the other that nobody takes")
        pattern = self.device.dma(self.device.kernel_level).pattern
        dims = max((len(merged(zip(one.access.sizes, one.access.strides))) for one in left), default=0)
        if self._length(left) > self._length(sends) or (pattern is not None and dims > pattern.dims):
            raise NotAtHomeError("cores would send it in more ways than they have descriptors for")
        sender, stream = self.senders[sends[0].stream], sends[0].stream
        following = (None if way is None else way.sent for _, way in ways)
        steps = [
            next(following) if isinstance(step, FlatSend) and step.stream == stream else step
            for step in steps_of(sender)
        ]
        return {sender.name: [step for step in steps if step is not None]}

    def _length(self, moves: Sequence[FlatTransfer]) -> int:
        return chain_length([chain_move(one, self.depths) for one in moves], 0)

    @cached_property
    def depths(self) -> Mapping[str, int]:
        return {buffer.name: buffer.depth for buffer in self.program.buffers}


@dataclass(frozen=True)
class _Ends:
    """Both ends of a transfer from a core into a block; those of equal `patterns` lie alike, whatever they are of.

    In the tensor that is from `begin` on.
    """

    patterns: tuple[object, ...]
    sent: FlatAccess = field(compare=False)
    received: FlatAccess = field(compare=False)
    block: _Collected = field(compare=False)
    begin: int = field(compare=False)
    pieces: TilePieces
    most_dims: int

    @staticmethod
    def of(
        sent: FlatAccess, received: FlatAccess, block: _Collected, begin: int, pieces: TilePieces, most_dims: int
    ) -> _Ends:
        ends = (sent, 0), (received, 0), (block.buffer, 0), (block.tensor, begin)
        patterns = ((a.element_bytes, a.sizes, a.strides, a.offset.constant - first, a.limits) for a, first in ends)
        return _Ends(tuple(patterns), sent, received, block, begin, pieces, most_dims)


# A program moves one tensor after the other, in several orders: most of what a tensor's transfers are is asked again.
@lru_cache(maxsize=4096)
def _both_ends(ends: _Ends) -> tuple[FlatAccess, FlatAccess] | None:
    """The patterns of both ends of a transfer from a core into the tensor, without what is beyond its edges."""
    sent, received, block = ends.sent, ends.received, ends.block
    first, inside = places_of(block.buffer), places_of(received)
    if len(first) != prod(block.tensor.sizes) or inside.max() > first.max():
        raise NotAtHomeError("its blocks are sent on in another order than they are collected in")
    at, stands = np.full(int(first.max()) + 1, -1), np.zeros(int(first.max()) + 1, bool)
    at[first], stands[first] = places_of(block.tensor) - ends.begin, existing(block.tensor)
    places = in_pattern(at[inside].reshape(received.sizes), ends.most_dims)
    if places is None:
        raise NotAtHomeError("what a core makes of it lies in no pattern")
    exists, own = stands[inside].reshape(places.shape), places_of(sent).reshape(places.shape)
    if not exists.any():
        return None
    box = tuple(slice(int(found.min()), int(found.max()) + 1) for found in np.nonzero(exists))
    places, own = places[box], own[box]
    there = in_slab(places, ends.pieces, received.element_bytes)
    if not exists[box].all() or any(irregular_dimension(one) is not None for one in (places, there, own)):
        raise NotAtHomeError("what a core makes of it lies in no pattern")
    return access_of(sent, own), access_of(received, places)
