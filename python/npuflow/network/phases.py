"""Phases of one launch: what is set up for each of them, and what it takes to go on from one to the next. Pure.

A phase finds its cores' programs and its channels' descriptors in *stores*: a core's program memory, the descriptors of
a group of channels beside a memory. What is there already costs nothing. The control processor writes what isn't, one
descriptor after the other, into places that nobody uses; as the phase before doesn't look at these, it can do so while
that one works, where it would only wait. A channel that goes on to other descriptors is started on them, which its
queue lets happen ahead as well. A core's program can only be loaded when it stands still: behind the phase before. What
is loaded is the *tile*, with the descriptors beside its memory, and so can tiles be that have much to be written. It is
sent as control packets, a stream of them for a tile, through the shim of its column: columns get theirs side by side.
Streams branch, so that a column's tiles that get the same, or all of the array, are sent it at once. `network/changes`
says what differs between phases.
"""

from __future__ import annotations

from collections import defaultdict
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


@dataclass(frozen=True)
class TileChange:
    """What differs in a tile, or in each of so many that one stream reaches: they get the same.

    It is written `ahead`, while the phase before works, and `behind` it. With bytes of a program, its core's isn't
    there: it is loaded behind the phase, and all the rest with it.
    """

    ahead: Writes = Writes()
    behind: Writes = Writes()
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


@dataclass(frozen=True)
class Waiting:
    """How long the control processor only waits in a phase, and the columns whose shims have a channel left then."""

    seconds: float = 0.0
    columns: frozenset[int] = frozenset()


NO_WAITING = Waiting()


@dataclass(frozen=True)
class SetUp:
    """What was done between two phases, and how long the array stood still for it.

    Of the tiles that were loaded, `sent` ones were while the phase before worked: with descriptors and the like.
    """

    ahead: Writes = Writes()
    behind: Writes = Writes()
    loads: int = 0
    seconds: float = 0.0
    sent: int = 0

    @property
    def writes(self) -> Writes:
        return self.ahead + self.behind


NOTHING = SetUp()


@dataclass(frozen=True)
class PhaseChange:
    """What it takes to go on to a phase, by the tiles in which anything differs, or those that get the same.

    Where it `may_load`, tiles are loaded if it takes longer to write what differs; else those whose programs aren't
    there, and all descriptors are written. Where it `may_send`, what can be written ahead may come as packets then.
    """

    changes: tuple[TileChange, ...] = ()
    may_load: bool = True
    may_send: bool = False

    def set_up(self, control: Control, waiting: Waiting = NO_WAITING) -> SetUp:
        """How it is done where the control processor waited so long in the phase before."""
        may_load = self.may_load and _loading_seconds(control, [NOTHING_DIFFERS]) > 0
        loaded = [one for one in self.changes if one.loads and may_load]
        written = [one for one in self.changes if not (one.loads and may_load)]
        ahead = behind = Writes()
        left, late, sent = waiting.seconds, 0.0, 0
        costs = [(self._ahead_seconds(one, control, waiting), one) for one in written]
        for before, one in sorted(costs, key=lambda cost: cost[0]):
            waits = max(0.0, before - left) + (one.behind * one.tiles).seconds(control)
            if may_load and waits > _loading_seconds(control, [one]):
                loaded.append(one)
                continue
            left, late = max(0.0, left - before), late + waits
            behind += one.behind * one.tiles
            if before < (one.ahead * one.tiles).seconds(control):
                sent += one.tiles
            else:
                ahead += one.ahead * one.tiles
        if may_load:
            loads = sum(one.tiles for one in loaded)
            return SetUp(ahead, behind, loads + sent, late + _loading_seconds(control, loaded), sent)
        loads = sum(one.tiles for one in self.changes if one.loads)
        return SetUp(ahead, behind, loads, late + loads * control.program_seconds)

    def _ahead_seconds(self, one: TileChange, control: Control, waiting: Waiting) -> float:
        """What is written ahead takes: one by one, or as packets through a shim with a channel left."""
        written = (one.ahead * one.tiles).seconds(control)
        may_send = self.may_load and self.may_send and control.packet_seconds > 0 and one.columns & waiting.columns
        return min(written, _loading_seconds(control, [replace(one, behind=Writes())])) if may_send else written


def _loading_seconds(control: Control, changes: Sequence[TileChange]) -> float:
    """How long it takes to load tiles: as control packets, columns side by side, or as long as the device says."""
    if not control.packet_seconds:
        return sum(one.tiles for one in changes) * control.program_seconds
    sent: dict[int, int] = defaultdict(int)
    for one in changes:
        for column in one.columns:
            sent[column] += one.bytes
    return len(changes) * control.packet_seconds + max(sent.values(), default=0) / control.packet_bytes_per_second


def whole_change(setup: PhaseSetup) -> PhaseChange:
    """To a phase of which nothing is there: every descriptor is written, every core loaded."""
    tiles: dict[Tile, TileChange] = {}
    for store, pieces in setup.items():
        if store.kind is StoreKind.PROGRAMS:
            own = TileChange(program_bytes=size_of(pieces))
        else:
            own = TileChange(behind=writes_of(store, pieces))
        at = frozenset({store.column})
        tiles[store.tile] = tiles.get(store.tile, TileChange(columns=at)) + own
    return PhaseChange(tuple(tiles.values()), may_load=False)


def writes_of(store: Store, pieces: Iterable[Piece]) -> Writes:
    """What it takes to write pieces into a store that the control processor writes."""
    size = size_of(pieces)
    return Writes(parameters=size) if store.kind is StoreKind.PARAMETERS else Writes(descriptors=size)


def size_of(pieces: Iterable[Piece]) -> int:
    return sum(piece.size for piece in pieces)
