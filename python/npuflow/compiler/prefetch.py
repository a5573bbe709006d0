"""What DRAM holds before a launch, brought on the chip in phases before that reads it, where that is faster.

A phase finds as many slots of its buffers full as there is room for, and as phases before it, the nearest ones first,
have time of DRAM for that they don't need themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.known_residents import KnownResidents
from npuflow.compiler.prefetch_fills import Fills, OwnArrival, PhaseFills
from npuflow.compiler.prefetch_room import PrefetchRoom
from npuflow.compiler.spare_time import ReadyPhase, SpareTime, ready_phase
from npuflow.compiler.tile_phases import crowded_seconds, descriptors_with, most_descriptors
from npuflow.network.calls import CallList
from npuflow.network.set_up import NO_WAITING, PhaseChange, Waiting
from npuflow.schedule.assign.more_slots import with_slots
from npuflow.schedule.assign.setup import ChannelPlace, channel_descriptors
from npuflow.simulate.bringing import WithBrought, bringing, relocated
from npuflow.simulate.prefetch import NOTHING_AHEAD, Ahead, Arrival, Brought, Prefetch
from npuflow.simulate.program import Program
from npuflow.target import Device

# How many phases before the one that reads it a prefetch may come.
_FARTHEST = 10

# Of what a phase gains by what another brings, the most by which that one may take longer.
_MOST_LATE = 0.5

# Of a phase's time, what is to be gained by a prefetch.
_LEAST_GAIN = 0.005

# How much smaller than the largest tensor others are that aren't worth a task: they come while that is read.
_FAR_SMALLER = 16

# Slots that buffers may be given for what a phase reads most of, the most first.
_SLOTS = (16, 8, 4)


@dataclass(frozen=True)
class PrefetchedPhase:
    """A phase's program, and what of it is ahead; those of a part that are made in equal `ways` take the same."""

    program: Program
    ahead: Ahead = NOTHING_AHEAD
    ways: tuple[Hashable, ...] = ()

    def of(self, part: CompiledFunction) -> CompiledFunction:
        """The part with this program."""
        return part.with_ahead(self.program, self.ahead)


def prefetched(
    calls: CallList, parts: Sequence[CompiledFunction], changes: Sequence[PhaseChange], known: KnownResidents
) -> list[PrefetchedPhase]:
    """The phases of calls; `parts` has one for each, `changes` what is in front of all but the first.

    None takes what another one makes.
    """
    found = _Prefetching(calls, parts, (PhaseChange(), *changes), PrefetchRoom.of(calls, parts), known)
    for phase in range(1, len(parts)):
        found = found.with_fills(phase)
    return found.phases


@dataclass(frozen=True)
class _Changed:
    """A phase that brings something, by how much it and the next one take longer then, and what of all it brings."""

    phase: PrefetchedPhase
    late: int
    brings: Sequence[OwnArrival]


@dataclass
class _Prefetching:
    """Phases as far as they are decided; `saved` are the cycles by which they are shorter."""

    calls: CallList
    parts: Sequence[CompiledFunction]
    changes: Sequence[PhaseChange]
    room: PrefetchRoom
    known: KnownResidents
    phases: list[PrefetchedPhase] = field(default_factory=list)
    times: dict[int, SpareTime] = field(default_factory=dict)
    taken: dict[Hashable, Counter[tuple[int, int]]] = field(default_factory=dict)
    channels: dict[Hashable, Mapping[ChannelPlace, int]] = field(default_factory=dict)
    saved: int = 0

    def __post_init__(self) -> None:
        self.phases = self.phases or [PrefetchedPhase(part.program) for part in self.parts]

    @property
    def device(self) -> Device:
        return self.parts[0].device

    def with_fills(self, phase: int) -> _Prefetching:
        """The same with what a phase begins with that lets it and those before take least time in all."""
        best, least, tensors = self, self._time(phase).cycles * _LEAST_GAIN, self._there_before(phase)
        if not self._is_worth_a_task(phase, tensors):
            return self
        begins = PhaseFills(self.phases[phase].program, tensors, self.room.names[phase])
        for fills in self._fills(begins):
            time = self._time_with(phase, self._begun(phase, fills))
            gain = 0 if time is None else self._time(phase).cycles - time.cycles
            if gain < least:
                break
            tried = self._brought(phase, begins, fills, gain) if gain > best.saved - self.saved else None
            best = best if tried is None or tried.saved - self.saved < least or tried.saved <= best.saved else tried
        return best

    def _fills(self, begins: PhaseFills) -> Iterator[Fills]:
        """What a phase may begin with, the most first."""
        known = list[int]()
        for slots in _SLOTS if begins.whole.firsts else ():
            fills = begins.deeper(slots)
            if fills is not None and fills.moved_bytes not in known:
                known.append(fills.moved_bytes)
                yield fills
        if begins.whole.firsts:
            yield begins.whole
            first = [own for own in begins.whole.arrivals if own[1].turn == 0]
            if len(first) < len(begins.whole.arrivals):
                yield begins.of(first, begins.whole)

    def _there_before(self, phase: int) -> list[tuple[int, str]]:
        """The tensors that a phase reads in DRAM and no phase makes, the largest first; none that are far smaller."""
        made = {value for call in self.calls.calls for value in (*call.outputs, *call.updates.values())}
        call, part = self.calls.calls[phase], self.parts[phase]
        made |= {*call.brought, *call.near}
        sizes = {memory.name: memory.bytes for memory in part.program.memories}
        own = [(n, name) for n, name in zip(call.inputs, part.arguments) if n not in made and call.inputs.count(n) == 1]
        large = max((sizes[name] for _, name in own), default=0) / _FAR_SMALLER
        return sorted((one for one in own if sizes[one[1]] >= large), key=lambda one: -sizes[one[1]])

    def _is_worth_a_task(self, phase: int, tensors: Sequence[tuple[int, str]]) -> bool:
        """Whether tensors are read for longer than a task is set up, and long enough for the phase to gain by that."""
        names, dram = {name for _, name in tensors}, self.device.dram
        size = sum(memory.bytes for memory in self.parts[phase].program.memories if memory.name in names)
        reads, begins = size / dram.read_bytes_per_second, self.device.control.descriptor_seconds
        least = self._time(phase).cycles * _LEAST_GAIN / self.device.clock_hz
        return reads >= begins and reads + begins + dram.latency_seconds >= least

    def _brought(self, phase: int, begins: PhaseFills, fills: Fills, gain: int) -> _Prefetching | None:
        """The same with a phase that begins with what others can bring of that; None where it can't be.

        It would gain so many cycles by all of it.
        """
        programs = [one.program for one in self.phases]
        placed = self.room.place(phase, fills.firsts.values(), programs, phase - _FARTHEST)
        if placed is None:
            return None
        first, addresses = placed
        moved = {number: one.moved(addresses) for number, one in fills.firsts.items()}
        found = replace(self, phases=[*self.phases], times={**self.times}, room=self.room.copied())
        come = found.bring(range(phase - 1, first - 1, -1), phase, replace(fills, firsts=moved), gain)
        own = begins.of(come, fills)
        one = self._begun(phase, own)
        time = found._time_with(phase, one) if come else None
        if time is None:
            return None
        found.saved += self._time(phase).cycles - time.cycles
        finds = (first.moved(addresses) for first in own.firsts.values())
        ahead = replace(one.ahead, finds=(*one.ahead.finds, *finds))
        found.put(phase, PrefetchedPhase(relocated(own.program, addresses), ahead, one.ways))
        return found

    def _begun(self, phase: int, fills: Fills) -> PrefetchedPhase:
        """A phase that begins with full slots, wherever these are."""
        own, firsts = self.phases[phase], fills.firsts.values()
        first = frozenset((one.tensor, arrival.likeness) for one in firsts for arrival in one.arrivals)
        ways = (*own.ways, (first, *fills.depths.items()))
        return PrefetchedPhase(fills.program, replace(own.ahead, depths=fills.schedule_depths), ways)

    def bring(self, phases: Sequence[int], reader: int, fills: Fills, gain: int) -> list[OwnArrival]:
        """Lets phases bring what they have time for of all that; says what."""
        rest, come = fills.arrivals, list[OwnArrival]()
        whole = _bytes_of(rest)
        for phase in phases:
            share = self._with_time(phase, rest)
            while share:
                changed = self._bringing(phase, reader, fills.firsts, share)
                if changed is None:
                    break
                if changed.late <= gain * _MOST_LATE * _bytes_of(changed.brings) / whole:
                    self.saved -= changed.late
                    self.put(phase, changed.phase)
                    self.room.take(phase, reader, (one for _, one in changed.brings))
                    come += changed.brings
                    brought = {*map(_likeness, changed.brings)}
                    rest = [own for own in rest if _likeness(own) not in brought]
                    break
                share = share[: len(changed.brings) // 3]
                if gain * _bytes_of(share) < whole * self._time(reader).cycles * _LEAST_GAIN:
                    break
            if not rest:
                break
        return come

    def _with_time(self, phase: int, rest: Sequence[OwnArrival]) -> Sequence[OwnArrival]:
        """The first of what is left that DRAM, and channels beside it, have time for in a phase."""
        known = {one.number for one in self.phases[phase].ahead.brings}
        if any(number in known for number, _ in rest):
            return ()
        time, found = self._time(phase), list[OwnArrival]()
        left, tiles, later = time.spare_bytes, dict(time.by_tile), set[tuple[int, str]]()
        for number, one in rest:
            size, beside = one.read.bytes, tiles.get(one.tile, left)
            if size <= min(left, beside) and (number, one.path.sender) not in later:
                left, tiles[one.tile] = left - size, beside - size
                found.append((number, one))
            else:
                later.add((number, one.path.sender))
        return found

    def _bringing(
        self, phase: int, reader: int, firsts: Mapping[int, Prefetch], share: Sequence[OwnArrival]
    ) -> _Changed | None:
        """A phase that brings something in the way that takes least time; None where it can't."""
        own: dict[int, list[Arrival]] = defaultdict(list)
        for number, one in share:
            own[number].append(one)
        before, found, tried = self.phases[phase], list[_Changed](), set[Hashable]()
        lanes = range(self.device.dma(self.device.dram_level).channels_out)
        for lane, early in ((lanes[0], True), (lanes[-1], False)):
            more: list[WithBrought] = []
            for number, arrivals in own.items():
                program = more[-1].program if more else before.program
                own_share = Brought(number, replace(firsts[number], arrivals=tuple(arrivals)))
                made = bringing(program, self.room.arranged(phase), self.room.level, own_share, lane, early=early)
                more += [made] if made.brought.prefetch.arrivals else []
            brought = [(each.brought.number, one) for each in more for one in each.brought.prefetch.arrivals]
            likeness = tuple((firsts[number].tensor, arrival.likeness) for number, arrival in brought)
            way = self.known.name_of(self.parts[reader]), likeness, *(each.way for each in more)
            if not more or way in tried:
                continue
            tried.add(way)
            brings = (*before.ahead.brings, *(each.brought for each in more))
            chains = (*before.ahead.chains, *(chain for each in more for chain in each.chains))
            ahead = replace(before.ahead, brings=brings, chains=chains)
            changed = PrefetchedPhase(more[-1].program, ahead, (*before.ways, way))
            time = self._time_with(phase, changed)
            late = None if time is None else self._late(phase, ahead, time)
            if late is not None:
                found.append(_Changed(changed, late, brought))
                if late <= 0 and len(brought) == len(share):
                    break
        return min(found, key=lambda one: (one.late, -len(one.brings)), default=None)

    def put(self, phase: int, one: PrefetchedPhase) -> None:
        self.phases[phase] = one
        for later in (phase, phase + 1):
            self.times.pop(later, None)
        self.room.changed(phase)

    # Times

    def _late(self, phase: int, ahead: Ahead, time: SpareTime) -> int | None:
        """By how much a phase that takes so long, and the next one, are later."""
        late = time.cycles - self._time(phase).cycles
        if phase + 1 == len(self.phases):
            return late
        after = self._time_behind(phase + 1, time.waiting, ahead)
        return None if after is None else late + after.cycles - self._time(phase + 1).cycles

    def _time(self, phase: int) -> SpareTime:
        """How long a phase takes as it is."""
        if phase not in self.times:
            time = self._time_behind(phase, self._waiting(phase))
            assert time is not None, "a phase runs before anything is brought"
            self.times[phase] = time
        return self.times[phase]

    def _waiting(self, phase: int) -> Waiting:
        return self._time(phase - 1).waiting if phase else NO_WAITING

    def _time_behind(self, phase: int, waiting: Waiting, before: Ahead | None = None) -> SpareTime | None:
        """The same where the phase before leaves so much to what is set up ahead, and has that ahead."""
        own = self.phases[phase]
        return self._run(own, self._ready(phase, own, waiting), self._crowded_cycles(phase, before=before))

    def _time_with(self, phase: int, one: PrefetchedPhase) -> SpareTime | None:
        """How long a phase takes with another program, and that ahead; None where it can't."""
        ready = self._ready(phase, one, self._waiting(phase))
        if not self._has_descriptors(phase, one, ready):
            return None
        return self._run(one, ready, self._crowded_cycles(phase, own=one.ahead))

    def _ready(self, phase: int, one: PrefetchedPhase, waiting: Waiting) -> ReadyPhase:
        return ready_phase(one.program, self.parts[phase], self._change(phase, one.ahead), waiting)

    def _run(self, one: PrefetchedPhase, ready: ReadyPhase, more_cycles: int) -> SpareTime | None:
        """How long it takes with so many cycles more for its change: as long wherever buffers lie, so found once."""
        key, times = (self.known.name_of(ready.part), one.ways, ready.tasks.tasks), self.known.times
        if key not in times:
            times[key] = ready.time()
        return ready.behind_change(times[key], more_cycles)

    def _change(self, phase: int, ahead: Ahead) -> PhaseChange:
        """What a phase takes to be set up, with the descriptors of what it brings."""
        more = Counter[int]()
        for chain in ahead.chains:
            more[chain.column] += chain.descriptors
        return self.changes[phase].with_descriptors(more)

    # Descriptors

    def _has_descriptors(self, phase: int, one: PrefetchedPhase, ready: ReadyPhase) -> bool:
        """Whether the array has those that a phase needs then: beside DRAM, and beside memory tiles.

        Tasks that are set up before leave enough for the others, where there is enough.
        """
        if any(left < 0 for left in ready.tasks.left.values()):
            return False
        if not self._goes_through_tiles:
            return True
        return all(count <= most_descriptors(self.device) for count in self._descriptors(phase, one.ahead).values())

    def _crowded_cycles(self, phase: int, *, before: Ahead | None = None, own: Ahead | None = None) -> int:
        """How much longer a phase waits for descriptors beside memory tiles than without anything ahead."""
        if not phase or not self._goes_through_tiles:
            return 0
        now = self._descriptors(phase - 1, before), self._descriptors(phase, own)
        plain = self._descriptors(phase - 1, NOTHING_AHEAD), self._descriptors(phase, NOTHING_AHEAD)
        if now == plain:
            return 0
        more = crowded_seconds(*now, self.device) - crowded_seconds(*plain, self.device)
        return round(more * self.device.clock_hz)

    def _descriptors(self, phase: int, ahead: Ahead | None) -> Counter[tuple[int, int]]:
        """The descriptors beside memory tiles of a phase with that ahead, or as it is."""
        ahead, part = ahead or self.phases[phase].ahead, self.parts[phase]
        key = part.name, ahead.chains, ahead.depths
        if key not in self.taken:
            own = self._own_descriptors(part, ahead.depths)
            self.taken[key] = descriptors_with([*part.homes, *ahead.chains], own, self.device)
        return self.taken[key]

    def _own_descriptors(
        self, part: CompiledFunction, depths: tuple[tuple[str, int], ...]
    ) -> Mapping[ChannelPlace, int]:
        """Those of a part's own channels, where some of its buffers have so many slots."""
        key = part.name, depths
        if key not in self.channels:
            schedule = with_slots(part.schedule, dict(depths))
            self.channels[key] = channel_descriptors(schedule, self.device, self.room.level)
        return self.channels[key]

    @property
    def _goes_through_tiles(self) -> bool:
        return self.room.level != self.device.kernel_level


def _likeness(own: OwnArrival) -> Hashable:
    """What is equal of transfers that a phase may find done in one way or another."""
    number, one = own
    return number, one.likeness


def _bytes_of(own: Sequence[OwnArrival]) -> int:
    return sum(one.read.bytes for _, one in own)
