"""Phases of one launch: what is set up for each of them, and what it takes to go on from one to the next. Pure.

A phase finds its cores' programs and its channels' descriptors in *stores*: a core's program memory, the descriptors of
a group of channels beside a memory. What is there already costs nothing. The control processor writes what isn't, one
descriptor after the other, into places that nobody uses; as the phase before doesn't look at these, it can do so while
that one works, where it would only wait. A channel that goes on to other descriptors is started on them, which its
queue lets happen ahead as well. A core's program can only be loaded when it stands still: behind the phase before. What
is loaded is the *tile*, with the descriptors beside its memory, and so can tiles be that have much to be written. It is
sent as control packets, a stream of them for a tile, through the shim of its column: columns get theirs side by side.
Streams branch, so that a column's tiles that get the same, or all of the array, are sent it at once. `network/changes`
says what differs between phases, `network/set_up` how that is done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from npuflow.target import Control

# Eight registers for a descriptor; a parameter is one word.
_DESCRIPTOR_BYTES, _PARAMETER_BYTES = 32, 4


# A memory, with all stores beside it: its level, row and column.
Tile = tuple[int, int, int]


class StoreKind(Enum):
    """What a store holds."""

    DESCRIPTORS = "descriptors"
    PROGRAMS = "programs"
    PARAMETERS = "parameters"


@dataclass(frozen=True)
class Store:
    """A place for what phases find set up, with `room` descriptors, bytes of programs or parameters; 0 is any number.

    It is beside a memory of a level, at a row and column; `name` and `group` tell those of one memory apart.
    """

    kind: StoreKind
    name: str
    level: int
    row: int
    column: int
    room: int
    group: int = 0

    @property
    def tile(self) -> Tile:
        return self.level, self.row, self.column


@dataclass(frozen=True)
class Piece:
    """Something in a store that is written as a whole; equal contents are the same."""

    content: Hashable
    size: int


PhaseSetup = Mapping[Store, tuple[Piece, ...]]


@dataclass(frozen=True)
class Writes:
    """What the control processor does: descriptors and parameters that it writes, channels that it starts.

    A parameter is a constant of a kernel that lies in data: one write, like a start.
    """

    descriptors: int = 0
    starts: int = 0
    parameters: int = 0

    def __add__(self, other: Writes) -> Writes:
        descriptors, starts = self.descriptors + other.descriptors, self.starts + other.starts
        return Writes(descriptors, starts, self.parameters + other.parameters)

    def __mul__(self, times: int) -> Writes:
        return Writes(self.descriptors * times, self.starts * times, self.parameters * times)

    def seconds(self, control: Control) -> float:
        return self.descriptors * control.descriptor_seconds + (self.starts + self.parameters) * control.start_seconds

    @property
    def bytes(self) -> int:
        """Of what is written, sent as packets."""
        return self.descriptors * _DESCRIPTOR_BYTES + self.parameters * _PARAMETER_BYTES


NO_WRITES = Writes()


@dataclass(frozen=True)
class TileChange:
    """What differs in a tile, or in each of so many that one stream reaches: they get the same.

    It is written `ahead`, while the phase before works, and `behind` it. With bytes of a program, its core's isn't
    there: it is loaded behind the phase, and all the rest with it.
    """

    ahead: Writes = NO_WRITES
    behind: Writes = NO_WRITES
    program_bytes: int = 0
    columns: frozenset[int] = frozenset({0})
    tiles: int = 1

    def __add__(self, other: TileChange) -> TileChange:
        """Both, in the same tiles."""
        ahead, behind = self.ahead + other.ahead, self.behind + other.behind
        return replace(self, ahead=ahead, behind=behind, program_bytes=self.program_bytes + other.program_bytes)

    @property
    def loads(self) -> bool:
        return self.program_bytes > 0

    @property
    def bytes(self) -> int:
        """All that differs."""
        return self.program_bytes + (self.ahead + self.behind).bytes


NOTHING_DIFFERS = TileChange()


def writes_of(store: Store, pieces: Iterable[Piece]) -> Writes:
    """What it takes to write pieces into a store that the control processor writes."""
    size = size_of(pieces)
    return Writes(parameters=size) if store.kind is StoreKind.PARAMETERS else Writes(descriptors=size)


def size_of(pieces: Iterable[Piece]) -> int:
    return sum(piece.size for piece in pieces)


def phases_of_pieces(needs: Sequence[Iterable[Piece]]) -> dict[Piece, list[int]]:
    """The phases that need each piece, in order."""
    found: dict[Piece, list[int]] = {}
    for number, need in enumerate(needs):
        for piece in dict.fromkeys(need):
            found.setdefault(piece, []).append(number)
    return found
