"""A tensor that a program's memory tiles share, in place: what reading it and writing it there have in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npuflow.simulate.at_home import users_of
from npuflow.simulate.channel_tasks import FlatTransfer, transfers
from npuflow.simulate.home_ports import HOME_LEVEL, HomePort, SlabPort
from npuflow.simulate.home_tasks import NotAtHomeError, TakenTasks, taken_tasks
from npuflow.simulate.places import Places
from npuflow.simulate.program import FlatEngine, Program
from npuflow.simulate.tile_pieces import TilePieces
from npuflow.target import Device


@dataclass(frozen=True)
class TensorInTiles:
    """A tensor of a program, by the name of its memory."""

    program: Program
    device: Device
    tensor: str

    @cached_property
    def engines(self) -> Mapping[str, FlatEngine]:
        return {engine.name: engine for engine in self.program.engines}

    @cached_property
    def size(self) -> int:
        return next(memory.bytes for memory in self.program.memories if memory.name == self.tensor)

    @cached_property
    def element_bytes(self) -> int:
        sizes = {one.access.element_bytes for one in self.own_transfers(users_of(self.program, self.tensor))}
        if len(sizes) != 1:
            raise NotAtHomeError("it isn't moved as elements of one size")
        return sizes.pop()

    def own_transfers(self, users: Sequence[FlatEngine]) -> list[FlatTransfer]:
        """What engines move of the tensor itself."""
        return [one for user in users for one in transfers(user.body) if one.access.buffer == self.tensor]

    def taken_from(self, users: Sequence[FlatEngine]) -> TakenTasks:
        return taken_tasks(self.program, self.device, HomePort(self.tensor, (SlabPort(0, (0,)),), self.size), users)

    def column(self, name: str) -> int:
        """The column of the tile that a channel is beside."""
        tile = self.engines[name].tile
        assert tile is not None, "it is beside a memory tile"
        return tile[1]

    @property
    def most_dims(self) -> int:
        """Of what a channel beside a tile goes through."""
        pattern = self.device.dma(HOME_LEVEL).pattern
        return pattern.dims if pattern else np.iinfo(np.int64).max


def in_slab(places: Places, pieces: TilePieces, element_bytes: int) -> Places:
    """Places of a tensor as those of its tile's slab."""
    piece = pieces.piece_bytes // element_bytes
    return places // (piece * len(pieces.columns)) * piece + places % piece
