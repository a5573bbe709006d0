"""Tensors between a function's parts that stay in memory tiles: what could, what that saves, and the parts' programs.

Those stay that save most traffic while all phases together take no longer than with everything in DRAM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.network.calls import CallList
from npuflow.network.plan import PlannedValue, plan_of
from npuflow.network.residency import HomeCandidate, Residency, TileRoom, choose_homes
from npuflow.schedule.assign.setup import channel_descriptors
from npuflow.simulate.at_home import HOME_LEVEL, HomePort, NotAtHomeError, at_home, free_channels
from npuflow.simulate.platform import Side
from npuflow.simulate.program import Program
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import DeadlockError, simulate
from npuflow.target import Device, SharedBy


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
    taken: dict[str, dict[tuple[int, int], int]] = field(default_factory=dict)

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
        phases = [phase for phase, _, _ in self._ports(value.number)]
        often = next((name for phase in phases if called[name := self.calls.calls[phase].name] > 1), None)
        if often is not None:
            self.reasons[value.number] = f"{often} is called {called[often]} times, on several tensors"
            return None
        columns = sorted(range(self.device.columns), key=lambda column: self._preference(value, column))
        columns = [column for column in columns if self._preference(value, column)[0] < 0]
        if not columns:
            self.reasons[value.number] = "no memory tile has channels free for it in all of its phases"
            return None
        fits = [column for column in columns if min(self._room.free(p, column) for p in phases) >= value.bytes]
        if not fits:
            have = max(min(self._room.free(phase, column) for phase in phases) for column in columns)
            self.reasons[value.number] = f"it has {value.bytes} bytes, and no memory tile more than {have} free"
            return None
        try:
            late = self._late_seconds(value, fits[0])
        except NotAtHomeError as error:
            self.reasons[value.number] = str(error)
            return None
        saved = sum(self._moved_bytes(phase, tensor) for phase, tensor, _ in self._ports(value.number))
        reads = tuple(dict.fromkeys(phases[1:]))
        return HomeCandidate(value.number, value.bytes, phases[0], reads, saved, late, tuple(fits))

    def _ports(self, number: int) -> list[tuple[int, str, Side]]:
        """The phases that move a tensor, what it is called there, and which way: who makes it first."""
        found = []
        for phase, call in enumerate(self.calls.calls):
            part = self.parts[call.name]
            found += [(phase, part.results[i], Side.IN) for i, value in enumerate(call.outputs) if value == number]
            found += [(phase, part.arguments[i], Side.OUT) for i, value in enumerate(call.inputs) if value == number]
        return found

    def _preference(self, value: PlannedValue, column: int) -> tuple[int, int]:
        """The fewest channels free in any phase, negated, then all of them: the least is the best."""
        free = [len(self._channels(phase, side, column)) for phase, _, side in self._ports(value.number)]
        return -min(free), -sum(free)

    def _channels(self, phase: int, side: Side, column: int) -> tuple[tuple[int, int], ...]:
        """The channels that a phase leaves alone, with a share of the descriptors that it leaves."""
        part = self.parts[self.calls.calls[phase].name]
        dma = self.device.dma(HOME_LEVEL)
        free = free_channels(part.program, self.device, side, column)
        groups = Counter(number % dma.descriptor_groups for number in free)
        if part.name not in self.taken:
            self.taken[part.name] = channel_descriptors(part.schedule, self.device, HOME_LEVEL)
        taken = self.taken[part.name]
        each = dma.descriptors // dma.descriptor_groups
        # Half of what is free is for the other way.
        left = {group: (each - taken.get((column, group), 0)) // (2 * count) for group, count in groups.items()}
        shared = ((number, left[number % dma.descriptor_groups]) for number in free)
        # A task of each column may wait at once, or as many as at a channel of a shim.
        most = max(dma.queue_depth, -(-self.device.columns // max(1, len(free))))
        return tuple((number, min(descriptors, most)) for number, descriptors in shared if descriptors > 0)

    @cached_property
    def _room(self) -> TileRoom:
        level = self.device.level(HOME_LEVEL)
        needed = {
            (phase, column): size
            for phase, call in enumerate(self.calls.calls)
            for column, size in needed_bytes(self.parts[call.name].program, self.device).items()
        }
        return TileRoom(level.usable_bytes, level.alignment_bytes, needed)

    # What it costs and saves

    def _late_seconds(self, value: PlannedValue, column: int) -> float:
        """How much longer a tensor's phases take with it at home."""
        late = 0.0
        for phase in dict.fromkeys(phase for phase, _, _ in self._ports(value.number)):
            call = self.calls.calls[phase]
            before = self._run(call.name).seconds
            late += _run(self._program(phase, {value.number: column})).seconds - before
        return late

    def _run(self, name: str) -> RunResults:
        if name not in self.runs:
            self.runs[name] = simulate(self.parts[name].program)
        return self.runs[name]

    def _moved_bytes(self, phase: int, tensor: str) -> int:
        traffic = self._run(self.calls.calls[phase].name).traffic[tensor]
        return traffic.read_bytes + traffic.written_bytes

    def _program(self, phase: int, columns: Mapping[int, int]) -> Program:
        """A phase's program with tensors at home in columns."""
        part = self.parts[self.calls.calls[phase].name]
        return at_home(part.program, self.device, self._home_ports(phase, columns))

    def _home_ports(self, phase: int, columns: Mapping[int, int]) -> list[HomePort]:
        found = []
        for number, column in columns.items():
            for own, tensor, side in self._ports(number):
                if own == phase:
                    found.append(HomePort(tensor, column, self._channels(phase, side, column)))
        return found

    # The parts with what stays

    def _placed(self, chosen: Residency) -> Resident:
        """Programs of all parts; a tensor with which one doesn't run stays in DRAM after all."""
        homes = dict(chosen.homes)
        parts = dict(self.parts)
        phase = 0
        while phase < len(self.calls.calls):
            name = self.calls.calls[phase].name
            columns = {n: home.column for n, home in homes.items() if any(p == phase for p, _, _ in self._ports(n))}
            try:
                if columns:
                    program = self._program(phase, columns)
                    _run(program)
                    parts[name] = self.parts[name].at_home(program, self._home_ports(phase, columns))
            except NotAtHomeError as error:
                left = max(columns)
                self.reasons[left] = f"together with others: {error}"
                del homes[left]
                parts, phase = dict(self.parts), 0
                continue
            phase += 1
        calls = tuple(replace(c, homes=tuple(homes.get(v) for v in c.outputs)) for c in self.calls.calls)
        saved = sum(self._moved_bytes(p, tensor) for n in homes for p, tensor, _ in self._ports(n))
        return Resident(replace(self.calls, calls=calls), parts, self.reasons, chosen.bound_bytes, saved)


def _run(program: Program) -> RunResults:
    try:
        return simulate(program)
    except DeadlockError as error:
        raise NotAtHomeError("channels of its home would wait for each other") from error


def needed_bytes(program: Program, device: Device) -> dict[int, int]:
    """What a part's own buffers need of each column's memory tile."""
    names = {f"{device.level(HOME_LEVEL).name} {column}": column for column in range(device.columns)}
    return {names[one.name]: one.bytes for one in program.memories if one.name in names}
