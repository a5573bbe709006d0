"""Phases with tensors at home in memory tiles, moved by channels that they leave alone, as chains of descriptors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.home_phases import HomePhases, HomeSlabs
from npuflow.network.phases import TileChange, Writes
from npuflow.network.plan import PlannedValue
from npuflow.network.set_up import PhaseChange
from npuflow.schedule.assign.setup import channel_descriptors
from npuflow.simulate.at_home import AtHome, at_home, users_of
from npuflow.simulate.channel_tasks import transfers
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain, HomePort, slab_bytes
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.in_place import in_place, pieces_in_place
from npuflow.simulate.platform import Platform, Side

# Sizes of pieces that are dealt out, the largest first, beside one piece for each slab.
_MOST_PIECES = 2


@dataclass
class TilePhases(HomePhases):
    """`left` are descriptors that parts leave, `unused` channels, `collected` what tiles collect, each found once."""

    left: dict[str, dict[tuple[int, int], int]] = field(default_factory=dict)
    collected: dict[tuple[str, str], HomeSlabs | None] = field(default_factory=dict)
    unused: dict[tuple[str, Side, int], tuple[int, ...]] = field(default_factory=dict)

    def columns(self, value: PlannedValue) -> list[int]:
        free = {column: self._channels(value, column) for column in range(self.memories)}
        return sorted((c for c, (least, _) in free.items() if least), key=lambda column: free[column], reverse=True)

    def _channels(self, value: PlannedValue, column: int) -> tuple[int, int]:
        """The fewest channels free beside a column's tile in any of a tensor's phases, and all of them."""
        free = [self.channels_left(phase, side, column) for phase, _, side in self.ports[value.number]]
        return min(free), sum(free)

    def channels_left(self, phase: int, side: Side, column: int) -> int:
        return len(self._free_channels(phase, side, column))

    def _free_channels(self, phase: int, side: Side, column: int) -> tuple[int, ...]:
        key = self.calls.calls[phase].name, side, column
        if key not in self.unused:
            program = self.parts[key[0]].program
            self.unused[key] = Platform(self.device).free_channels(program, HOME_LEVEL, side, column)
        return self.unused[key]

    def in_place(self, value: PlannedValue) -> HomeSlabs | None:
        phase, tensor, _ = self.ports[value.number][0]
        name = self.calls.calls[phase].name
        if value.bytes > self.room.bytes * self.memories:
            return None
        if (name, tensor) not in self.collected:
            found = pieces_in_place(self.parts[name].program, self.device, tensor)
            self.collected[name, tensor] = None if found is None else HomeSlabs(found.columns, found.piece_bytes, True)
        return self.collected[name, tensor]

    def counts(self) -> Sequence[int]:
        return 8, 4, 2, 1

    def pieces(self, value: PlannedValue, count: int) -> list[int]:
        """One piece for each slab, or what phases step by."""
        pattern = self.device.dma(HOME_LEVEL).pattern
        granule = 1 if pattern is None else pattern.granule_bytes
        steps = {step for phase, name, _ in self.ports[value.number] for step in self._steps(phase, name)}
        several = sorted((s for s in steps if s % granule == 0 and s * count < value.bytes), reverse=True)
        return [slab_bytes(value.bytes, count, self.device), *(several[:_MOST_PIECES] if count > 1 else ())]

    def _steps(self, phase: int, tensor: str) -> set[int]:
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

    def moves(self, value: PlannedValue, slabs: HomeSlabs) -> tuple[tuple[int, bool], ...]:
        """What is written in place needs none for that."""
        first, *reads = (phase for phase, _, _ in self.ports[value.number])
        read = tuple((phase, False) for phase in dict.fromkeys(reads))
        return read if slabs.in_place else ((first, True), *read)

    def change_seconds(self, moved: Mapping[int, AtHome]) -> float:
        chains = {phase: one.chains for phase, one in moved.items()}
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

    def moved(self, phase: int, homes: Mapping[int, HomeSlabs]) -> AtHome:
        part = self.parts[self.calls.calls[phase].name]
        free = {(side, c): list(self._free_channels(phase, side, c)) for side in Side for c in range(self.memories)}
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
            places = ((column, group) for column in range(self.memories) for group in groups)
            self.left[part.name] = {place: each - taken.get(place, 0) for place in places}
        return self.left[part.name]


def _take(chains: Sequence[HomeChain], left: dict[tuple[int, int], int]) -> None:
    """Takes the descriptors of chains from those that are left, by column and group."""
    for chain in chains:
        have = left[chain.column, chain.group]
        if chain.descriptors > have:
            others = f"has {have} descriptors left in one of its groups"
            raise NotAtHomeError(f"memory tile {chain.column} {others}, a chain takes {chain.descriptors}")
        left[chain.column, chain.group] = have - chain.descriptors
