"""Tensors between a function's parts that stay in memory tiles: what could, what that saves, and the parts' programs.

Those stay that save most traffic while all phases together take no longer than with everything in DRAM.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.network.calls import CallList
from npuflow.network.plan import PlannedValue, plan_of
from npuflow.network.residency import HomeCandidate, Residency, TileRoom, choose_homes
from npuflow.schedule.assign.setup import channel_descriptors
from npuflow.simulate.at_home import AtHome, at_home
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain, HomePort, slab_bytes
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import Program
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import DeadlockError, simulate
from npuflow.target import Device, SharedBy

# In how many slabs a tensor may lie, the likeliest to be fast first.
_COUNTS = (8, 4, 2, 1)


@dataclass(frozen=True)
class Resident:
    """Parts with what stays at home, the calls that say where, and why other tensors don't stay, by number."""

    calls: CallList
    parts: Mapping[str, CompiledFunction]
    reasons: Mapping[int, str]
    bound_bytes: int = 0
    saved_bytes: int = 0


def has_homes(device: Device) -> bool:
    """Whether a device has memory tiles between its cores and DRAM."""
    return device.has_level(HOME_LEVEL) and device.level(HOME_LEVEL).shared_by is SharedBy.COLUMN


def resident(calls: CallList, parts: Mapping[str, CompiledFunction]) -> Resident:
    """The parts with the tensors between them at home that save most DRAM traffic."""
    device = next(iter(parts.values())).device
    return _Residents(calls, parts, device).found() if has_homes(device) else Resident(calls, parts, {})


@dataclass
class _Residents:
    calls: CallList
    parts: Mapping[str, CompiledFunction]
    device: Device
    reasons: dict[int, str] = field(default_factory=dict)
    runs: dict[str, RunResults] = field(default_factory=dict)
    left: dict[str, dict[tuple[int, int], int]] = field(default_factory=dict)
    channels: dict[tuple[str, Side, int], tuple[int, ...]] = field(default_factory=dict)

    def found(self) -> Resident:
        candidates = [one for value in plan_of(self.calls).between if (one := self._candidate(value)) is not None]
        chosen = choose_homes(candidates, self._room)
        for one in candidates:
            if one.number not in chosen.homes:
                late = f"its phases would take {one.late_seconds * 1e6:.2f} us longer"
                others = "others that save more take the room, or the channels, of memory tiles"
                self.reasons[one.number] = late if one.late_seconds > 0 else others
        return self._placed(chosen)

    # What may stay

    def _candidate(self, value: PlannedValue) -> HomeCandidate | None:
        """A tensor that may stay, or None after saying why not."""
        if value.number in self.calls.first_versions:
            self.reasons[value.number] = "several phases write it, a part each"
            return None
        called = Counter(call.name for call in self.calls.calls)
        phases = [phase for phase, _, _ in self.ports[value.number]]
        often = next((name for phase in phases if called[name := self.calls.calls[phase].name] > 1), None)
        if often is not None:
            self.reasons[value.number] = f"{often} is called {called[often]} times, on several tensors"
            return None
        columns = [column for column in range(self.device.columns) if self._channels(value, column)[0] > 0]
        columns.sort(key=lambda column: self._channels(value, column), reverse=True)
        if not columns:
            self.reasons[value.number] = "no memory tile has channels free for it in all of its phases"
            return None
        found = self._divided(value, columns)
        if found is None:
            return None
        late, slab, places = found
        saved = self._saved_bytes(value.number)
        return HomeCandidate(value.number, slab, phases[0], tuple(dict.fromkeys(phases[1:])), saved, late, places)

    def _divided(
        self, value: PlannedValue, columns: Sequence[int]
    ) -> tuple[float, int, tuple[tuple[int, ...], ...]] | None:
        """In how many slabs a tensor's phases take least, and where; None after saying why in none."""
        best: tuple[float, int, tuple[tuple[int, ...], ...]] | None = None
        why = ""
        for count in (count for count in _COUNTS if count <= len(columns)):
            slab = slab_bytes(value.bytes, count, self.device)
            roomy = [c for c in columns if self._free(value, c) >= slab]
            if len(roomy) < count:
                most = max(self._free(value, column) for column in columns)
                why = why or f"it has {value.bytes} bytes, and no memory tile more than {most} free"
                continue
            turned = [tuple((roomy * 2)[first : first + count]) for first in range(len(roomy))]
            try:
                late = self._late_seconds(value, turned[0])
            except NotAtHomeError as error:
                why = str(error)
                continue
            if best is None or late < best[0]:
                best = late, slab, tuple(turned)
            if late <= 0:
                break
        if best is None:
            self.reasons[value.number] = why
        return best

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

    def _channels(self, value: PlannedValue, column: int) -> tuple[int, int]:
        """The fewest channels free beside a column's tile in any of a tensor's phases, and all of them."""
        free = [len(self._free_channels(phase, side, column)) for phase, _, side in self.ports[value.number]]
        return min(free), sum(free)

    def _free_channels(self, phase: int, side: Side, column: int) -> tuple[int, ...]:
        key = self.calls.calls[phase].name, side, column
        if key not in self.channels:
            program = self.parts[key[0]].program
            self.channels[key] = Platform(self.device).free_channels(program, HOME_LEVEL, side, column)
        return self.channels[key]

    def _free(self, value: PlannedValue, column: int) -> int:
        return min(self._room.free(phase, column) for phase in range(value.first, value.last + 1))

    @cached_property
    def _room(self) -> TileRoom:
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

    def _late_seconds(self, value: PlannedValue, columns: tuple[int, ...]) -> float:
        """How much longer a tensor's phases take with it at home."""
        late = 0.0
        for phase in dict.fromkeys(phase for phase, _, _ in self.ports[value.number]):
            before = self._run(self.calls.calls[phase].name).seconds
            late += _run(self._moved(phase, {value.number: columns}).program).seconds - before
        return late

    def _run(self, name: str) -> RunResults:
        if name not in self.runs:
            self.runs[name] = simulate(self.parts[name].program)
        return self.runs[name]

    def _saved_bytes(self, number: int) -> int:
        """What a tensor's phases move from and to DRAM if it stays there."""
        moved = (self._run(self.calls.calls[p].name).traffic[tensor] for p, tensor, _ in self.ports[number])
        return sum(traffic.read_bytes + traffic.written_bytes for traffic in moved)

    def _moved(self, phase: int, columns: Mapping[int, tuple[int, ...]]) -> AtHome:
        """A phase's program with tensors at home in columns."""
        part = self.parts[self.calls.calls[phase].name]
        free = {
            (side, c): list(self._free_channels(phase, side, c)) for side in Side for c in range(self.device.columns)
        }
        left = dict(self._descriptors(part))
        moved = AtHome(part.program)
        for number, place in columns.items():
            for own, tensor, side in self.ports[number]:
                if own == phase:
                    port = HomePort(tensor, tuple((c, self._channel(free[side, c], c, left)) for c in place))
                    more = at_home(moved.program, self.device, [port])
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

    # The parts with what stays

    def _placed(self, chosen: Residency) -> Resident:
        """Programs of all parts; a tensor with which one doesn't run stays in DRAM after all."""
        homes = dict(chosen.homes)
        parts = dict(self.parts)
        waiting = [*range(len(self.calls.calls))]
        while waiting:
            phase = waiting.pop(0)
            name = self.calls.calls[phase].name
            columns = {
                number: tuple(slab.column for slab in home.slabs)
                for number, home in homes.items()
                if any(own == phase for own, _, _ in self.ports[number])
            }
            parts[name] = self.parts[name]
            try:
                if columns:
                    moved = self._moved(phase, columns)
                    _run(moved.program)
                    parts[name] = self.parts[name].at_home(moved)
            except NotAtHomeError as error:
                left = min(columns, key=lambda number: (self._saved_bytes(number), -number))
                self.reasons[left] = f"together with others: {error}"
                del homes[left]
                waiting = sorted({*waiting, *(own for own, _, _ in self.ports[left])})
        calls = tuple(replace(c, homes=tuple(homes.get(v) for v in c.outputs)) for c in self.calls.calls)
        saved = sum(map(self._saved_bytes, homes))
        return Resident(replace(self.calls, calls=calls), parts, self.reasons, chosen.bound_bytes, saved)


def _run(program: Program) -> RunResults:
    try:
        return simulate(program)
    except DeadlockError as error:
        raise NotAtHomeError("channels of its home would wait for each other") from error


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
