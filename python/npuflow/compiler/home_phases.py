"""Phases with tensors between them at home on the chip: what that costs each, and what room is left there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.core.answers import Answers, KeptAnswers
from npuflow.network.calls import CallList
from npuflow.network.plan import PlannedValue
from npuflow.network.residency import TileRoom
from npuflow.network.spread import TensorSpread
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.home_ports import HomeChain
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.platform import Side
from npuflow.simulate.program import Program
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import DeadlockError, cycles_of_run, simulate
from npuflow.target import Device

# More than what is asked of one network.
MOST_ANSWERS = 1 << 16


@dataclass(frozen=True)
class HomeSlabs:
    """The memories of a tensor's slabs, by number, and the bytes of the pieces that are dealt out to them.

    With `in_place` these are the tiles that collect it, which needn't be sent it, or that hand it to cores. What is in
    DRAM as well is `brought` in a phase, and `readers` are those that find it there. With a `spread` clusters have it
    as they make it and read it.
    """

    columns: tuple[int, ...]
    piece_bytes: int
    in_place: bool = False
    brought: int | None = None
    readers: frozenset[int] = frozenset()
    spread: TensorSpread | None = None

    def slab_bytes(self, size: int) -> int:
        """The most that a slab has of a tensor of so many bytes, in whole pieces."""
        if self.spread is not None:
            return self.piece_bytes
        return -(-size // (self.piece_bytes * len(self.columns))) * self.piece_bytes


@dataclass(frozen=True)
class TensorWay:
    """How a part's program moves a tensor at home, by its name there, through so many `channels` beside each slab.

    With `brings` it has all of it in tiles that hand it to cores, and brings it there, or finds it.
    """

    tensor: str
    side: Side
    columns: tuple[int, ...]
    piece_bytes: int
    in_place: bool = False
    brings: bool | None = None
    spread: TensorSpread | None = None
    channels: int = 1

    @property
    def has_channels(self) -> bool:
        """Whether it is moved by channels beside its slabs, and not in place by those that do so anyway."""
        return self.brings is None and not (self.in_place and self.side is Side.IN)


# One after the other.
Ways: TypeAlias = tuple[TensorWay, ...]


@dataclass(frozen=True)
class LatePhase:
    """By how much longer a phase runs with tensors at home, and its chains."""

    seconds: float
    chains: tuple[HomeChain, ...]


@dataclass
class HomePhases(ABC):
    """The parts that calls run, phase by phase; `level` is where tensors can be at home."""

    calls: CallList
    parts: Mapping[str, CompiledFunction]
    device: Device
    level: int
    runs: dict[str, RunResults] = field(default_factory=dict)
    taken: dict[tuple[object, ...], float] = field(default_factory=dict)
    known: dict[tuple[str, Ways], AtHome | str] = field(default_factory=dict)
    late: Answers[LatePhase | str] = field(default_factory=lambda: Answers(MOST_ANSWERS))
    wider: Answers[Ways] = field(default_factory=lambda: Answers(MOST_ANSWERS))

    @property
    def answers(self) -> list[KeptAnswers]:
        """What may be found in other processes: programs are too much to be sent."""
        return [self.late, self.wider]

    # What devices differ in

    widens: ClassVar[bool] = False
    """Whether channels that nobody takes may move tensors at home as well."""

    @abstractmethod
    def columns(self, value: PlannedValue) -> list[int]:
        """The memories where a tensor could have a slab in all of its phases, the best first."""

    @abstractmethod
    def in_place(self, value: PlannedValue) -> HomeSlabs | None:
        """The memories that collect a tensor, each pieces of its own; None where they don't do so."""

    @abstractmethod
    def brought(self, value: PlannedValue) -> list[HomeSlabs]:
        """The ways in which a phase can bring a tensor from DRAM to where it stays for all that read it later."""

    @abstractmethod
    def counts(self) -> Sequence[int]:
        """In how many slabs a tensor may lie, the likeliest to be fast first."""

    @abstractmethod
    def pieces(self, value: PlannedValue, count: int) -> list[int]:
        """The bytes of what may be dealt out to so many slabs."""

    @abstractmethod
    def moves(self, value: PlannedValue, slabs: HomeSlabs) -> tuple[tuple[int, bool], ...]:
        """The phases that take a channel for each slab, and whether that writes there."""

    @abstractmethod
    def channels_left(self, phase: int, side: Side, column: int) -> int:
        """How many of them a phase leaves."""

    @abstractmethod
    def ways(self, phase: int, homes: Mapping[int, HomeSlabs]) -> Ways:
        """How a phase moves tensors at home, in the names of its part: phases of a part that do so alike are alike."""

    @abstractmethod
    def made(self, name: str, ways: Ways) -> AtHome:
        """A part's program that moves tensors in these ways; raises NotAtHomeError where it can't."""

    @abstractmethod
    def change_seconds(self, chains: Mapping[int, Sequence[HomeChain]]) -> float:
        """How much longer changes take with these chains of some phases."""

    def sent_seconds(self, phase: int, chains: Sequence[HomeChain]) -> float:
        """How long it takes at least to send the descriptors of a phase's chains."""
        return 0.0

    def widened(self, phase: int, moved: AtHome, homes: Mapping[int, HomeSlabs]) -> AtHome:
        """A phase's program with tensors at home by channels that nobody takes as well, where it is faster so."""
        return moved

    # What they don't

    def moved(self, phase: int, homes: Mapping[int, HomeSlabs]) -> AtHome:
        """A phase's program with tensors at home; raises NotAtHomeError where it has none."""
        return self.program_of(self.calls.calls[phase].name, self.ways(phase, homes))

    def program_of(self, name: str, ways: Ways) -> AtHome:
        """The same of a part, made once."""
        if (name, ways) not in self.known:
            try:
                self.known[name, ways] = self.made(name, ways)
            except NotAtHomeError as error:
                self.known[name, ways] = str(error)
        found = self.known[name, ways]
        if isinstance(found, str):
            raise NotAtHomeError(found)
        return found

    @cached_property
    def ports(self) -> Mapping[int, list[tuple[int, str, Side]]]:
        """Of each tensor the phases that move it, what it is called there, and which way, in order.

        What several phases write a part of each is one tensor, by the number that it has behind the first of them.
        """
        found: dict[int, list[tuple[int, str, Side]]] = defaultdict(list)
        versions = self.calls.first_versions
        for phase, call in enumerate(self.calls.calls):
            part = self.parts[call.name]
            for value, name in zip(call.inputs, part.arguments):
                if name not in part.updated:
                    found[versions.get(value, value)].append((phase, name, Side.OUT))
            for value, name in zip(call.outputs, part.results):
                found[versions.get(value, value)].append((phase, name, Side.IN))
        return found

    @cached_property
    def moving(self) -> Mapping[int, frozenset[int]]:
        """Of each tensor the phases that move it."""
        return {number: frozenset(phase for phase, _, _ in ports) for number, ports in self.ports.items()}

    def likeness(self, value: PlannedValue) -> Hashable:
        """What is equal of tensors of one size that parts move alike."""
        return value.bytes, tuple((self.calls.calls[phase].name, *port) for phase, *port in self.ports[value.number])

    def free_bytes(self, first: int, last: int, column: int) -> int:
        """What all phases from one to another leave of a memory."""
        return min(self.room.free(phase, column) for phase in range(first, last + 1))

    def reads(self, number: int) -> list[int]:
        """The phases that read a tensor, and don't make it."""
        return [*dict.fromkeys(phase for phase, _, side in self.ports[number] if side is Side.OUT)]

    def phases_of(self, number: int, slabs: HomeSlabs) -> list[int]:
        """The phases that have to do with a tensor's home: who makes or brings it comes first."""
        if slabs.brought is not None:
            return [slabs.brought, *sorted(slabs.readers)]
        return [*dict.fromkeys(phase for phase, _, _ in self.ports[number])]

    @property
    def memories(self) -> int:
        """How many there are of the level."""
        return self.device.level(self.level).shared_by.instances(self.device.rows, self.device.columns)

    @cached_property
    def room(self) -> TileRoom:
        level = self.device.level(self.level)
        needed, channels = {}, {}
        for phase, call in enumerate(self.calls.calls):
            for column, size in needed_bytes(self.parts[call.name], self.level).items():
                needed[phase, column] = size
            for column in range(self.memories):
                for side in Side:
                    channels[phase, column, side is Side.IN] = self.channels_left(phase, side, column)
        byte_seconds = 1 / self.device.dram.total_bytes_per_second
        return TileRoom(level.usable_bytes, level.alignment_bytes, needed, channels, byte_seconds)

    def late_seconds(self, value: PlannedValue, slabs: HomeSlabs) -> float:
        """How much longer a tensor's phases, and the changes between them and others, take with it at home."""
        homes, phases = {value.number: slabs}, self.phases_of(value.number, slabs)
        found: dict[int, LatePhase] = {}
        for phase in phases:
            late = self.late_with(phase, homes)
            if isinstance(late, str):
                raise NotAtHomeError(late)
            found[phase] = late
        changes = self.change_seconds({phase: late.chains for phase, late in found.items()})
        return sum(late.seconds for late in found.values()) + changes

    def late_with(self, phase: int, homes: Mapping[int, HomeSlabs]) -> LatePhase | str:
        """By how much longer a phase runs with tensors at home together; a text says why it can't."""

        def find() -> LatePhase | str:
            try:
                moved = self.moved(phase, homes)
                return LatePhase(self.late_in(phase, moved), moved.chains)
            except NotAtHomeError as error:
                return str(error)

        return self.late.of(self.question(phase, homes), find)

    def question(self, phase: int, homes: Mapping[int, HomeSlabs]) -> tuple[str, Ways]:
        """What `late` keeps that by: the same of phases that are alike."""
        asked = phase, *homes.items()
        if asked not in self._questions:
            self._questions[asked] = self.calls.calls[phase].name, self.ways(phase, homes)
        return self._questions[asked]

    @cached_property
    def _questions(self) -> dict[tuple[object, ...], tuple[str, Ways]]:
        """Those that were asked: of many homes again and again, while others are tried."""
        return {}

    def late_in(self, phase: int, moved: AtHome) -> float:
        return self.seconds_at_home(phase, moved) - self.run_of(self.calls.calls[phase].name).seconds

    def seconds_at_home(self, phase: int, moved: AtHome) -> float:
        """How long a phase takes with tensors at home; raises NotAtHomeError where it never ends."""
        return self.seconds_of(self.calls.calls[phase].name, moved)

    def seconds_of(self, name: str, moved: AtHome) -> float:
        """The same of a part."""
        key = name, *moved.ways
        if key not in self.taken:
            try:
                self.taken[key] = cycles_of_run(moved.program) / moved.program.clock_hz
            except DeadlockError as error:
                raise NotAtHomeError("channels of its home would wait for each other") from error
        return self.taken[key]

    def run_of(self, name: str) -> RunResults:
        if name not in self.runs:
            self.runs[name] = simulate(self.parts[name].program)
        return self.runs[name]

    def saved_bytes(self, number: int, slabs: HomeSlabs) -> int:
        """What a tensor's phases needn't move from and to DRAM if it stays in slabs."""
        ports = (port for port in self.ports[number] if slabs.brought is None or port[0] in slabs.readers)
        moved = (self.run_of(self.calls.calls[p].name).traffic[tensor] for p, tensor, _ in ports)
        return sum(traffic.read_bytes + traffic.written_bytes for traffic in moved)


def needed_bytes(part: CompiledFunction, level: int) -> dict[int, int]:
    """What a part's own buffers need of each memory of a level, by its number."""
    numbers = {name: number for number, name in enumerate(part.memory_names(level))}
    return {numbers[one.name]: one.bytes for one in part.program.memories if one.name in numbers}


def buffer_places(program: Program, memories: Sequence[str]) -> dict[str, tuple[int, tuple[int, int]]]:
    """Of each of a program's buffers in some memories, the memory's number, and from where to where it lies there."""
    numbers = {name: number for number, name in enumerate(memories)}
    return {
        one.name: (numbers[one.memory], (one.address_bytes, one.address_bytes + one.depth * one.slot_bytes))
        for one in program.buffers
        if one.memory in numbers
    }
