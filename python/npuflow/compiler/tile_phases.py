"""Phases with tensors at home in memory tiles, moved by channels that they leave alone, as chains of descriptors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, lcm
from typing import ClassVar

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.home_phases import MOST_ANSWERS, HomePhases, HomeSlabs, TensorWay, Ways
from npuflow.core.answers import Answers, KeptAnswers
from npuflow.network.phases import TileChange, Writes
from npuflow.network.plan import PlannedValue
from npuflow.network.set_up import PhaseChange
from npuflow.schedule.assign.setup import ChannelPlace, channel_descriptors
from npuflow.simulate.at_home import AtHome, at_home, users_of
from npuflow.simulate.channel_tasks import transfers
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain, HomePort, SlabPort, slab_bytes
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.in_place import in_place, pieces_in_place
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import FlatAccess
from npuflow.simulate.read_in_place import brought_in_place, pieces_read, read_in_place
from npuflow.simulate.tile_pieces import TilePieces
from npuflow.target import Device

# Channels beside each slab that are tried where phases leave some, the most first.
_MORE_CHANNELS = (4, 2)

# Sizes of pieces that are dealt out, the largest first, beside one piece for each slab.
_MOST_PIECES = 2


@dataclass
class TilePhases(HomePhases):
    """`taken_by` has the descriptors that parts take, by channel, `unused` channels that they leave.

    `collected` is what tiles collect, `handed` what they hand to cores, each found once; `used` are the channels by
    which programs move tensors at home.
    """

    widens: ClassVar[bool] = True
    taken_by: dict[str, dict[ChannelPlace, int]] = field(default_factory=dict)
    collected: Answers[HomeSlabs | None] = field(default_factory=lambda: Answers(MOST_ANSWERS))
    handed: Answers[HomeSlabs | None] = field(default_factory=lambda: Answers(MOST_ANSWERS))
    unused: dict[tuple[str, Side, int], tuple[int, ...]] = field(default_factory=dict)
    used: dict[tuple[str, Ways], frozenset[tuple[Side, int, int]]] = field(default_factory=dict)

    @property
    def answers(self) -> list[KeptAnswers]:
        return [*super().answers, self.collected, self.handed]

    def columns(self, value: PlannedValue) -> list[int]:
        free = {column: self._channels(value, column) for column in range(self.memories)}
        return sorted((c for c, (least, _) in free.items() if least), key=lambda column: free[column], reverse=True)

    def _channels(self, value: PlannedValue, column: int) -> tuple[int, int]:
        """The fewest channels free beside a column's tile in any of a tensor's phases, and all of them."""
        free = [self.channels_left(phase, side, column) for phase, _, side in self.ports[value.number]]
        return min(free), sum(free)

    def channels_left(self, phase: int, side: Side, column: int) -> int:
        return len(self._free_channels(self.calls.calls[phase].name, side, column))

    def _free_channels(self, name: str, side: Side, column: int) -> tuple[int, ...]:
        key = name, side, column
        if key not in self.unused:
            program = self.parts[name].program
            self.unused[key] = Platform(self.device).free_channels(program, HOME_LEVEL, side, column)
        return self.unused[key]

    def in_place(self, value: PlannedValue) -> HomeSlabs | None:
        phase, tensor, _ = self.ports[value.number][0]
        name = self.calls.calls[phase].name
        if value.bytes > self.room.bytes * self.memories or value.number in self.calls.first_versions:
            return None
        program = self.parts[name].program
        return self.collected.of((name, tensor), lambda: _slabs_of(pieces_in_place(program, self.device, tensor)))

    def brought(self, value: PlannedValue) -> list[HomeSlabs]:
        """One for each way in which tiles share it, by the first phase that does so; no later ones than needed."""
        found: dict[HomeSlabs, int] = {}
        phases = self.reads(value.number)
        if value.bytes <= self.room.bytes * self.memories:
            for phase in phases[:-1]:
                if (slabs := self._handed(phase, value.number)) is not None:
                    found.setdefault(slabs, phase)
        after = {one: frozenset(each for each in phases if each > phase) for one, phase in found.items()}
        return [replace(one, brought=phase, readers=after[one]) for one, phase in found.items()]

    def _handed(self, phase: int, number: int) -> HomeSlabs | None:
        """The memories that hand a tensor to cores in a phase, each pieces of its own; None where they don't do so."""
        names = [tensor for at, tensor, side in self.ports[number] if at == phase and side is Side.OUT]
        if len(names) > 1:
            return None
        part = self.parts[self.calls.calls[phase].name]
        return self.handed.of(
            (part.name, names[0]), lambda: _slabs_of(pieces_read(part.program, self.device, names[0]))
        )

    def counts(self) -> Sequence[int]:
        return 8, 4, 2, 1

    def pieces(self, value: PlannedValue, count: int) -> list[int]:
        """One piece for each slab, what phases step by, or a part of that for each slab: a band of every channel."""
        pattern = self.device.dma(HOME_LEVEL).pattern
        accesses = [each for phase, name, _ in self.ports[value.number] for each in self._accesses(phase, name)]
        granule = lcm(1 if pattern is None else pattern.granule_bytes, *(each.element_bytes for each in accesses))
        steps = {step for access in accesses for step in _steps(access)}
        several = sorted((s for s in steps if s % granule == 0 and s * count < value.bytes), reverse=True)
        bands = [step // count for step in sorted(steps)[-1:] if step % (granule * count) == 0]
        turned = (*several[:_MOST_PIECES], *bands) if count > 1 else ()
        return [*dict.fromkeys((slab_bytes(value.bytes, count, self.device), *turned))]

    def _accesses(self, phase: int, tensor: str) -> list[FlatAccess]:
        """How a phase moves a tensor."""
        program = self.parts[self.calls.calls[phase].name].program
        moves = [t.access for engine in users_of(program, tensor) for t in transfers(engine.body)]
        return [access for access in moves if access.buffer == tensor]

    def moves(self, value: PlannedValue, slabs: HomeSlabs) -> tuple[tuple[int, bool], ...]:
        """What is written, brought or read in place needs none for that."""
        number = value.number
        if slabs.brought is None:
            ways = dict.fromkeys((phase, side is Side.IN) for phase, _, side in self.ports[number])
            return tuple(way for way in ways if not (slabs.in_place and way[1]))
        read = ((phase, False) for phase in slabs.readers if not self._reads_in_place(phase, number, slabs))
        return tuple(read) if slabs.in_place else ((slabs.brought, True), *read)

    def _reads_in_place(self, phase: int, number: int, slabs: HomeSlabs) -> bool:
        alike = HomeSlabs(slabs.columns, slabs.piece_bytes, True)
        return slabs.brought is not None and self._handed(phase, number) == alike

    def change_seconds(self, chains: Mapping[int, Sequence[HomeChain]]) -> float:
        places = {place for phase in chains for place in (phase, phase + 1)} - {0, len(self.calls.calls)}
        crowded = sum(self._waiting(place, chains) - self._waiting(place, {}) for place in places)
        return crowded + sum(self.sent_seconds(phase, own) for phase, own in chains.items())

    def sent_seconds(self, phase: int, chains: Sequence[HomeChain]) -> float:
        """As packets: those of the column that has the most, and what begins the stream of each tile.

        The control processor prepares as many streams as it has time for in the phase before.
        """
        control, counts = self.device.control, Counter[int]()
        for chain in chains:
            counts[chain.column] += chain.descriptors
        if not counts or not phase:
            return 0.0
        largest = Writes(max(counts.values())).bytes / control.packet_bytes_per_second
        if not control.packet_seconds:
            return largest
        prepared = min(len(counts), floor(self._seconds(phase - 1) / control.packet_seconds))
        return largest + prepared * control.start_seconds + (len(counts) - prepared) * control.packet_seconds

    def _seconds(self, phase: int) -> float:
        """How long a phase takes with nothing at home."""
        name = self.calls.calls[phase].name
        return (self.run_of(name).cycles - self.parts[name].launch_cycles) / self.device.clock_hz

    def _waiting(self, phase: int, chains: Mapping[int, Sequence[HomeChain]]) -> float:
        before, own = (
            self._descriptors(self.parts[self.calls.calls[each].name], chains.get(each, ()))
            for each in (phase - 1, phase)
        )
        return crowded_seconds(before, own, self.device)

    def ways(self, phase: int, homes: Mapping[int, HomeSlabs]) -> Ways:
        """Those come first whose channels are all of few groups of descriptors: the others take what these leave."""
        name = self.calls.calls[phase].name
        found = (
            self._way(phase, number, slabs, tensor, side)
            for number, slabs in homes.items()
            if phase in self.phases_of(number, slabs)
            for own, tensor, side in self.ports[number]
            if own == phase
        )
        return tuple(sorted(found, key=lambda way: self._groups_left(name, way)))

    def _groups_left(self, name: str, way: TensorWay) -> int:
        """Of how many groups the channels are, at least, that a way can take beside a slab."""
        groups = self.device.dma(HOME_LEVEL).descriptor_groups
        return min(len({n % groups for n in self._free_channels(name, way.side, column)}) for column in way.columns)

    def _way(self, phase: int, number: int, slabs: HomeSlabs, tensor: str, side: Side) -> TensorWay:
        brings = True if slabs.brought == phase else False if self._reads_in_place(phase, number, slabs) else None
        return TensorWay(tensor, side, slabs.columns, slabs.piece_bytes, slabs.in_place, brings)

    def made(self, name: str, ways: Ways) -> AtHome:
        part = self.parts[name]
        if not ways:
            return AtHome(part.program)
        before, way = self.program_of(name, ways[:-1]), ways[-1]
        used = self.used.get((name, ways[:-1]), frozenset())
        if way.has_channels:
            slabs = self._slabs(part, before, way, used)
            used |= {(way.side, slab.column, number) for slab in slabs for number in slab.channels}
            more = at_home(before.program, self.device, [HomePort(way.tensor, slabs, way.piece_bytes)])
        elif way.brings is None:
            pieces = TilePieces(way.columns, way.piece_bytes)
            more = in_place(before.program, self.device, way.tensor, pieces)
        else:
            move = brought_in_place if way.brings else read_in_place
            more = move(before.program, self.device, way.tensor)
        moved = AtHome(more.program, _together(before.chains, more.chains))
        self._check_descriptors(part, moved.chains)
        self.used[name, ways] = used
        return moved

    def _slabs(
        self, part: CompiledFunction, before: AtHome, way: TensorWay, used: frozenset[tuple[Side, int, int]]
    ) -> tuple[SlabPort, ...]:
        """The columns of a tensor's slabs, and channels for each, of the group with the fewest descriptors taken."""
        groups, taken = self.device.dma(HOME_LEVEL).descriptor_groups, self._descriptors(part, before.chains)
        found: list[SlabPort] = []
        for column in way.columns:
            others = {number for slab in found if slab.column == column for number in slab.channels}
            channels = self._free_channels(part.name, way.side, column)
            free = [n for n in channels if (way.side, column, n) not in used and n not in others]
            if len(free) < way.channels:
                raise NotAtHomeError(f"memory tile {column} has no channel left")
            numbers: list[int] = []
            for _ in range(way.channels):
                numbers.append(min(free, key=lambda number: (taken[column, number % groups], number)))
                free.remove(numbers[-1])
                taken[column, numbers[-1] % groups] += 1
            found.append(SlabPort(column, tuple(numbers)))
        return tuple(found)

    def widened(self, phase: int, moved: AtHome, homes: Mapping[int, HomeSlabs]) -> AtHome:
        """Tries more channels for one tensor after the other that several channels of shims would move."""
        name, ways = self.calls.calls[phase].name, self.ways(phase, homes)
        wider = self.wider.of((name, ways), lambda: self._wider(name, ways, moved))
        return moved if wider == ways else self.program_of(name, wider)

    def _wider(self, name: str, ways: Ways, moved: AtHome) -> Ways:
        least, program = self.seconds_of(name, moved), self.parts[name].program
        shared = [n for n, way in enumerate(ways) if way.has_channels and len(users_of(program, way.tensor)) > 1]
        for place in shared:
            for count in _MORE_CHANNELS:
                wider = (*ways[:place], replace(ways[place], channels=count), *ways[place + 1 :])
                try:
                    seconds = self.seconds_of(name, self.program_of(name, wider))
                except NotAtHomeError:
                    continue
                if seconds < least:
                    ways, least = wider, seconds
                    break
        return ways

    @property
    def _most_descriptors(self) -> int:
        return most_descriptors(self.device)

    def _check_descriptors(self, part: CompiledFunction, chains: Sequence[HomeChain]) -> None:
        for (column, _), count in self._descriptors(part, chains).items():
            if count > self._most_descriptors:
                need = f"needs {count} descriptors in one of its groups, which has {self._most_descriptors}"
                raise NotAtHomeError(f"memory tile {column} {need}")

    def _descriptors(self, part: CompiledFunction, chains: Sequence[HomeChain]) -> Counter[tuple[int, int]]:
        """The descriptors that a part takes beside memory tiles, by column and group, with chains."""
        if part.name not in self.taken_by:
            self.taken_by[part.name] = channel_descriptors(part.schedule, self.device, HOME_LEVEL)
        return descriptors_with(chains, self.taken_by[part.name], self.device)


def most_descriptors(device: Device) -> int:
    """Of one group of channels beside a memory tile."""
    return device.dma(HOME_LEVEL).descriptors // device.dma(HOME_LEVEL).descriptor_groups


def crowded_seconds(before: Counter[tuple[int, int]], own: Counter[tuple[int, int]], device: Device) -> float:
    """How long a phase waits for descriptors there is no room for beside those of the one before."""
    late, most = Counter[int](), most_descriptors(device)
    for (column, _), count in (before + own).items():
        late[column] += max(0, count - most)
    changes = (TileChange(behind=Writes(count), columns=frozenset({c})) for c, count in late.items() if count)
    return PhaseChange(tuple(changes)).set_up(device.control).seconds


def descriptors_with(
    chains: Sequence[HomeChain], taken: Mapping[ChannelPlace, int], device: Device
) -> Counter[tuple[int, int]]:
    """The descriptors beside memory tiles, by column and group, of channels that take so many, and of chains."""
    others = {(HOME_LEVEL, one.column, *one.instead) for one in chains if one.instead is not None}
    groups, found = device.dma(HOME_LEVEL).descriptor_groups, Counter[tuple[int, int]]()
    for place, count in taken.items():
        _, column, _, number = place
        found[column, number % groups] += 0 if place in others else count
    for chain in chains:
        found[chain.column, chain.group] += chain.descriptors
    return found


def _slabs_of(pieces: TilePieces | None) -> HomeSlabs | None:
    """The slabs of tiles that share a tensor, in place."""
    return None if pieces is None else HomeSlabs(pieces.columns, pieces.piece_bytes, True)


def _together(chains: Sequence[HomeChain], more: Sequence[HomeChain]) -> tuple[HomeChain, ...]:
    """Chains and more of them, which take the place of those that are all of the same channels."""
    whole = {(one.column, one.instead) for one in more if one.instead is not None}
    return *(one for one in chains if (one.column, one.instead) not in whole), *more


def _steps(access: FlatAccess) -> set[int]:
    """The bytes from one index to the next of the dimensions that an access goes along."""
    dims = zip(access.sizes, access.strides)
    return {stride * access.element_bytes for size, stride in dims if size > 1 and stride > 1}
