"""How the control processor goes on from one phase of a launch to the next, and how long the array stands still. Pure.

What may come `ahead` is done while the phase before works, as far as the control processor only waits then: descriptors
are written, or come as packets; tasks beside DRAM are written that the next phase begins with, and those that bring
packets behind the phase, so that there is only a start left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from npuflow.network.phases import NO_WRITES, PhaseSetup, StoreKind, Tile, TileChange, Writes, size_of, writes_of
from npuflow.target import Control


@dataclass(frozen=True)
class Waiting:
    """How long the control processor only waits in a phase, and the columns whose shims have a channel left then.

    `descriptors` are those beside DRAM that the phase leaves, by column; to `reached` columns' shims packets go anyway.
    """

    seconds: float = 0.0
    columns: frozenset[int] = frozenset()
    reached: frozenset[int] = frozenset()
    descriptors: Mapping[int, int] = field(default_factory=dict)


NO_WAITING = Waiting()


@dataclass(frozen=True)
class TaskWrites:
    """Descriptors of tasks that are written ahead, how long the control processor takes, and how many each column has.

    Those `held` are there before their phase begins, in all phases from the one on in which they are written. They come
    `first`, in front of what else may come ahead, or in what that leaves of the waits.
    """

    descriptors: int = 0
    seconds: float = 0.0
    held: Mapping[int, int] = field(default_factory=dict)
    first: bool = False

    def __add__(self, other: TaskWrites) -> TaskWrites:
        held = {at: self.held.get(at, 0) + other.held.get(at, 0) for at in {**self.held, **other.held}}
        seconds, first = self.seconds + other.seconds, self.first or other.first
        return TaskWrites(self.descriptors + other.descriptors, seconds, held, first)


NO_TASKS = TaskWrites()


@dataclass(frozen=True)
class SetUp:
    """What was done between two phases, and how long the array stood still for it.

    Of the tiles that were loaded, `sent` ones were while the phase before worked: with descriptors and the like.
    `tasks` is how many descriptors of tasks were written ahead, and `left` is what the waits still had room for.
    """

    ahead: Writes = NO_WRITES
    behind: Writes = NO_WRITES
    loads: int = 0
    seconds: float = 0.0
    sent: int = 0
    tasks: int = 0
    left: Waiting = field(default=NO_WAITING, compare=False)

    @property
    def writes(self) -> Writes:
        return self.ahead + self.behind


NOTHING = SetUp()


@dataclass(frozen=True)
class PhaseChange:
    """What it takes to go on to a phase, by the tiles in which anything differs, or those that get the same.

    Where it `may_load`, tiles are loaded if it takes longer to write what differs; else those whose programs aren't
    there, and all descriptors are written. Where it `may_send`, what can be written ahead may come as packets then.
    Where it `may_prepare`, the tasks that bring packets behind the phase before are written ahead; so are `tasks`, with
    which this phase begins, or the next one.
    """

    changes: tuple[TileChange, ...] = ()
    may_load: bool = True
    may_send: bool = False
    may_prepare: bool = False
    tasks: TaskWrites = NO_TASKS

    def with_descriptors(self, columns: Mapping[int, int]) -> PhaseChange:
        """The same with so many descriptors more to be written in a tile of each of some columns.

        They come with what differs there anyway, or as one stream where tiles of several columns get alike.
        """
        found, left = list[TileChange](), dict(columns)
        for one in self.changes:
            (column, *others) = one.columns
            count = 0 if others or one.tiles > 1 or one.loads else left.pop(column, 0)
            found.append(replace(one, ahead=one.ahead + Writes(count)) if count else one)
        for count in sorted({*left.values()} - {0}):
            own = frozenset(column for column, many in left.items() if many == count)
            found.append(TileChange(Writes(count), columns=own, tiles=len(own)))
        return replace(self, changes=tuple(found))

    def set_up(self, control: Control, waiting: Waiting = NO_WAITING) -> SetUp:
        """How it is done where the control processor waited so long in the phase before.

        Of each tile what differs is written where it alone is ready sooner so. But what that takes of the waits, tasks
        that bring packets lack: all tiles are loaded where they are sooner ready together.
        """
        may_load = self.may_load and (control.packet_seconds > 0 or control.program_seconds > 0)
        change = replace(self, may_load=may_load)
        found = change._done(control, waiting)
        if not may_load or found.ahead == NO_WRITES:
            return found
        return min(found, change._done(control, waiting, writes=False), key=lambda way: way.seconds)

    def _done(self, control: Control, waiting: Waiting, *, writes: bool = True) -> SetUp:
        """The same where it `writes` what differs, or only loads."""
        free = {column: count - self.tasks.held.get(column, 0) for column, count in waiting.descriptors.items()}
        tasks_first = self.tasks.seconds if self.tasks.first else 0.0
        done = _SettingUp(self, control, waiting, max(0.0, waiting.seconds - tasks_first), free)
        done.late = max(0.0, tasks_first - waiting.seconds)
        for one in (one for one in self.changes if one.loads):
            done.load(one)
        rest = [(done.ahead_seconds(one), one) for one in self.changes if not (one.loads and self.may_load)]
        for before, one in sorted(rest, key=lambda cost: cost[0]):
            if writes:
                done.set_up(one, before)
            else:
                done.load(one)
        return done.found()


@dataclass
class _SettingUp:
    """What is done so far; `left` and `free` are what is left of the waits, `late` what doesn't come through shims."""

    change: PhaseChange
    control: Control
    waiting: Waiting
    left: float
    free: dict[int, int]
    ahead: Writes = NO_WRITES
    behind: Writes = NO_WRITES
    late: float = 0.0
    loads: int = 0
    sent: int = 0
    reached: set[int] = field(default_factory=set)
    bytes: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def found(self) -> SetUp:
        """All of it, with the tasks that are written ahead in what is left of the waits, if they didn't come first."""
        brought = max(self.bytes.values()) / self.control.packet_bytes_per_second if self.bytes else 0.0
        tasks, loads = self.change.tasks, self.loads + self.sent
        last = 0.0 if tasks.first else tasks.seconds
        seconds = self.late + brought + max(0.0, last - self.left)
        left = Waiting(max(0.0, self.left - last), self._columns, frozenset(self.reached), self.free)
        return SetUp(self.ahead, self.behind, loads, seconds, self.sent, tasks.descriptors, left)

    def ahead_seconds(self, one: TileChange) -> float:
        """What is written ahead takes: one by one, or as packets through a shim with a channel left."""
        written, control = (one.ahead * one.tiles).seconds(self.control), self.control
        if not one.columns & self._columns:
            return written
        return min(written, control.packet_seconds + one.ahead.bytes / control.packet_bytes_per_second)

    @property
    def _columns(self) -> frozenset[int]:
        """The columns through whose shims packets may come ahead."""
        may_send = self.change.may_load and self.change.may_send and self.control.packet_seconds > 0
        return self.waiting.columns if may_send else frozenset()

    def set_up(self, one: TileChange, before: float) -> None:
        """Writes what differs, which takes so long before the end of the phase before, or loads the tiles."""
        waits = max(0.0, before - self.left) + (one.behind * one.tiles).seconds(self.control)
        if self.change.may_load and waits > self._loading_seconds(one):
            self.load(one)
            return
        self.left, self.late = max(0.0, self.left - before), self.late + waits
        self.behind += one.behind * one.tiles
        if before < (one.ahead * one.tiles).seconds(self.control):
            self.sent += one.tiles
            self.reached |= one.columns if len(one.columns) == 1 else set()
        else:
            self.ahead += one.ahead * one.tiles

    def load(self, one: TileChange) -> None:
        """Loads tiles behind the phase: by packets, or one by one."""
        self.loads += one.tiles
        if not (self.change.may_load and self.control.packet_seconds):
            self.late += one.tiles * self.control.program_seconds
            return
        self.late += self._beginning_seconds(one)
        for column in one.columns:
            self.bytes[column] += one.bytes
        if self._is_prepared(one):
            self.left -= self._preparing_seconds(one)
            self.free.update({column: self.free[column] - 1 for column in one.columns})
            self.reached |= one.columns if len(one.columns) == 1 and one.columns <= self._columns else set()

    def _loading_seconds(self, one: TileChange) -> float:
        """How long it takes to load tiles: by packets, or as long as the device says."""
        if not self.control.packet_seconds:
            return one.tiles * self.control.program_seconds
        return self._beginning_seconds(one) + one.bytes / self.control.packet_bytes_per_second

    def _beginning_seconds(self, one: TileChange) -> float:
        """What the control processor does for a stream of packets behind the phase."""
        return self.control.start_seconds if self._is_prepared(one) else self.control.packet_seconds

    def _is_prepared(self, one: TileChange) -> bool:
        """Whether the task that brings packets is written ahead: in the waits, into descriptors that are free."""
        is_worth_it = self.control.start_seconds < self.control.packet_seconds
        has_time = self._preparing_seconds(one) <= self.left
        has_room = all(self.free.get(column, 0) > 0 for column in one.columns)
        return self.change.may_prepare and is_worth_it and has_time and has_room

    def _preparing_seconds(self, one: TileChange) -> float:
        """What it takes to write the task that brings packets: nothing where others of its shim come as packets."""
        return 0.0 if len(one.columns) == 1 and one.columns <= self.reached else self.control.packet_seconds


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
