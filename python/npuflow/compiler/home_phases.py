"""Phases with tensors between them at home in memory tiles: what that costs each, and what is left there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.network.calls import CallList
from npuflow.network.phases import TileChange, Writes
from npuflow.network.plan import PlannedValue
from npuflow.network.residency import TileRoom
from npuflow.network.set_up import PhaseChange
from npuflow.schedule.assign.setup import channel_descriptors
from npuflow.simulate.at_home import AtHome, at_home, users_of
from npuflow.simulate.channel_tasks import transfers
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain, HomePort
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.in_place import in_place, pieces_in_place
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import Program
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import DeadlockError, cycles_of_run, simulate
from npuflow.target import Device


@dataclass(frozen=True)
class HomeSlabs:
    """The columns of a tensor's slabs, and the bytes of the pieces that are dealt out to them.

    With `in_place` these are the tiles that collect it, which needn't be sent it.
    """

    columns: tuple[int, ...]
    piece_bytes: int
    in_place: bool = False

    def slab_bytes(self, size: int) -> int:
        """The most that a slab has of a tensor of so many bytes, in whole pieces."""
        return -(-size // (self.piece_bytes * len(self.columns))) * self.piece_bytes


@dataclass
class HomePhases:
    """The parts that calls run, phase by phase."""

    calls: CallList
    parts: Mapping[str, CompiledFunction]
    device: Device
    runs: dict[str, RunResults] = field(default_factory=dict)
    taken: dict[tuple[str, tuple[HomeChain, ...]], float] = field(default_factory=dict)
    left: dict[str, dict[tuple[int, int], int]] = field(default_factory=dict)
    collected: dict[tuple[str, str], HomeSlabs | None] = field(default_factory=dict)
    unused: dict[tuple[str, Side, int], tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def ports(self) -> Mapping[int, list[tuple[int, str, Side]]]:
        """Of each tensor the phases that move it, what it is called there, and which way: who makes it first."""
        found: dict[int, list[tuple[int, str, Side]]] = defaultdict(list)
        for phase, call in enumerate(self.calls.calls):
            part = self.parts[call.name]
            for value, name in zip(call.inputs, part.arguments):
                found[value].append((phase, name, Side.OUT))
            for value, name in zip(call.outputs, part.results):
                found[value].insert(0, (phase, name, Side.IN))
        return found

    def in_place(self, value: PlannedValue) -> HomeSlabs | None:
        """The tiles that collect a tensor from cores, each pieces of its own; None where they don't do so."""
        phase, tensor, _ = self.ports[value.number][0]
        name = self.calls.calls[phase].name
        if value.bytes > self.room.bytes * self.device.columns:
            return None
        if (name, tensor) not in self.collected:
            found = pieces_in_place(self.parts[name].program, self.device, tensor)
            self.collected[name, tensor] = None if found is None else HomeSlabs(found.columns, found.piece_bytes, True)
        return self.collected[name, tensor]

    def channels(self, value: PlannedValue, column: int) -> tuple[int, int]:
        """The fewest channels free beside a column's tile in any of a tensor's phases, and all of them."""
        free = [len(self._free_channels(phase, side, column)) for phase, _, side in self.ports[value.number]]
        return min(free), sum(free)

    def _free_channels(self, phase: int, side: Side, column: int) -> tuple[int, ...]:
        key = self.calls.calls[phase].name, side, column
        if key not in self.unused:
            program = self.parts[key[0]].program
            self.unused[key] = Platform(self.device).free_channels(program, HOME_LEVEL, side, column)
        return self.unused[key]

    def free_bytes(self, value: PlannedValue, column: int) -> int:
        return min(self.room.free(phase, column) for phase in range(value.first, value.last + 1))

    @cached_property
    def room(self) -> TileRoom:
        level = self.device.level(HOME_LEVEL)
        needed, channels = {}, {}
        for phase, call in enumerate(self.calls.calls):
            for column, size in needed_bytes(self.parts[call.name].program, self.device).items():
                needed[phase, column] = size
            for column in range(self.device.columns):
                for side in Side:
                    channels[phase, column, side is Side.IN] = len(self._free_channels(phase, side, column))
        return TileRoom(level.usable_bytes, level.alignment_bytes, needed, channels)

    # What it costs and saves

    def late_seconds(self, value: PlannedValue, slabs: HomeSlabs) -> float:
        """How much longer a tensor's phases, and the changes between them and others, take with it at home."""
        phases = dict.fromkeys(phase for phase, _, _ in self.ports[value.number])
        moved = {phase: self.moved(phase, {value.number: slabs}) for phase in phases}
        late = sum(self._late_in(phase, at_home) for phase, at_home in moved.items())
        return late + self._change_seconds({phase: at_home.chains for phase, at_home in moved.items()})

    def _late_in(self, phase: int, moved: AtHome) -> float:
        return self.seconds_at_home(phase, moved) - self._run(self.calls.calls[phase].name).seconds

    def seconds_at_home(self, phase: int, moved: AtHome) -> float:
        """How long a phase takes with tensors at home; raises NotAtHomeError where it never ends."""
        key = self.calls.calls[phase].name, moved.chains
        if key not in self.taken:
            try:
                self.taken[key] = cycles_of_run(moved.program) / moved.program.clock_hz
            except DeadlockError as error:
                raise NotAtHomeError("channels of its home would wait for each other") from error
        return self.taken[key]

    def _change_seconds(self, chains: Mapping[int, Sequence[HomeChain]]) -> float:
        """How much longer changes take with more chains in some phases."""
        places = {place for phase in chains for place in (phase, phase + 1)} - {0, len(self.calls.calls)}
        return sum(self._waiting(place, chains) - self._waiting(place, {}) for place in places)

    def _waiting(self, phase: int, chains: Mapping[int, Sequence[HomeChain]]) -> float:
        """How long a phase waits for descriptors there is no room for beside those of the one before."""
        room = self.device.dma(HOME_LEVEL).descriptors // self.device.dma(HOME_LEVEL).descriptor_groups
        taken = Counter[tuple[int, int]]()
        for each in (phase - 1, phase):
            left = self._descriptors(self.parts[self.calls.calls[each].name])
            taken.update({place: room - free for place, free in left.items()})
            for chain in chains.get(each, ()):
                taken[chain.column, chain.group] += chain.descriptors
        late = Counter[int]()
        for (column, _), count in taken.items():
            late[column] += max(0, count - room)
        changes = (TileChange(behind=Writes(count), columns=frozenset({c})) for c, count in late.items() if count)
        return PhaseChange(tuple(changes)).set_up(self.device.control).seconds

    def _run(self, name: str) -> RunResults:
        if name not in self.runs:
            self.runs[name] = simulate(self.parts[name].program)
        return self.runs[name]

    def saved_bytes(self, number: int) -> int:
        """What a tensor's phases move from and to DRAM if it stays there."""
        moved = (self._run(self.calls.calls[p].name).traffic[tensor] for p, tensor, _ in self.ports[number])
        return sum(traffic.read_bytes + traffic.written_bytes for traffic in moved)

    def moved(self, phase: int, homes: Mapping[int, HomeSlabs]) -> AtHome:
        """A phase's program with tensors at home."""
        part = self.parts[self.calls.calls[phase].name]
        free = {
            (side, c): list(self._free_channels(phase, side, c)) for side in Side for c in range(self.device.columns)
        }
        left = dict(self._descriptors(part))
        moved = AtHome(part.program)
        for number, slabs in homes.items():
            for own, tensor, side in self.ports[number]:
                if own == phase:
                    if slabs.in_place and side is Side.IN:
                        more = in_place(moved.program, self.device, tensor)
                    else:
                        ways = tuple((c, self._channel(free[side, c], c, left)) for c in slabs.columns)
                        more = at_home(moved.program, self.device, [HomePort(tensor, ways, slabs.piece_bytes)])
                    _take(more.chains, left)
                    moved = AtHome(more.program, (*moved.chains, *more.chains))
        return moved

    def _channel(self, free: list[int], column: int, left: Mapping[tuple[int, int], int]) -> int:
        """A channel that is free, of the group with the most descriptors left; it isn't free any more."""
        if not free:
            raise NotAtHomeError(f"memory tile {column} has no channel left")
        groups = self.device.dma(HOME_LEVEL).descriptor_groups
        best = max(free, key=lambda number: (left[column, number % groups], -number))
        free.remove(best)
        return best

    def _descriptors(self, part: CompiledFunction) -> dict[tuple[int, int], int]:
        """The descriptors that a part leaves beside memory tiles, by column and group."""
        if part.name not in self.left:
            dma = self.device.dma(HOME_LEVEL)
            taken = channel_descriptors(part.schedule, self.device, HOME_LEVEL)
            groups = range(dma.descriptor_groups)
            each = dma.descriptors // dma.descriptor_groups
            places = ((column, group) for column in range(self.device.columns) for group in groups)
            self.left[part.name] = {place: each - taken.get(place, 0) for place in places}
        return self.left[part.name]

    def steps(self, phase: int, tensor: str) -> set[int]:
        """The bytes from one index to the next of the dimensions along which a phase moves a tensor."""
        program = self.parts[self.calls.calls[phase].name].program
        moves = [t.access for engine in users_of(program, tensor) for t in transfers(engine.body)]
        own = (access for access in moves if access.buffer == tensor)
        return {
            stride * access.element_bytes
            for access in own
            for size, stride in zip(access.sizes, access.strides)
            if size > 1 and stride > 1
        }


def _take(chains: Sequence[HomeChain], left: dict[tuple[int, int], int]) -> None:
    """Takes the descriptors of chains from those that are left, by column and group."""
    for chain in chains:
        have = left[chain.column, chain.group]
        if chain.descriptors > have:
            others = f"has {have} descriptors left in one of its groups"
            raise NotAtHomeError(f"memory tile {chain.column} {others}, a chain takes {chain.descriptors}")
        left[chain.column, chain.group] = have - chain.descriptors


def needed_bytes(program: Program, device: Device) -> dict[int, int]:
    """What a part's own buffers need of each column's memory tile."""
    names = {f"{device.level(HOME_LEVEL).name} {column}": column for column in range(device.columns)}
    return {names[one.name]: one.bytes for one in program.memories if one.name in names}
