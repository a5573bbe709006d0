"""Tensors between a function's parts that stay on the chip: what could, what that saves, and phases' programs.

Those stay that win most time, phases' and what DRAM takes for what needn't be moved, while all phases together take
no longer than with everything in DRAM.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.home_phases import HomePhases, HomeSlabs
from npuflow.compiler.port_phases import PortPhases
from npuflow.compiler.tile_phases import TilePhases
from npuflow.core.answers import NOTHING_ASKED, AsksAhead
from npuflow.network.calls import Call, CallList
from npuflow.network.plan import PlannedValue, ValueRole, plan_of
from npuflow.network.residency import Home, HomeCandidate, Residency, choose_homes, home_beside
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.home_tasks import NotAtHomeError

# What another home of one tensor has to gain.
_LEAST_SECONDS = 1e-8
_WRITTEN_IN_PARTS = "several phases write it, a part each"


@dataclass(frozen=True)
class Resident:
    """The calls that say what stays where, the programs of phases that move it, and why other tensors don't stay."""

    calls: CallList
    programs: Mapping[int, AtHome] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)
    bound_bytes: int = 0
    saved_bytes: int = 0


def resident(
    calls: CallList, parts: Mapping[str, CompiledFunction], *, spreads: bool = True, ahead: AsksAhead = NOTHING_ASKED
) -> Resident:
    """The phases with those tensors between them at home that win most time.

    Clusters may keep some where they make them if it `spreads`. What homes cost is asked `ahead`.
    """
    device = next(iter(parts.values())).device
    level = device.home_level
    if level is None:
        return Resident(calls)
    if level == device.dma(device.dram_level).reaches:
        return _Residents(PortPhases(calls, parts, device, level, spreads=spreads), ahead).found()
    return _Residents(TilePhases(calls, parts, device, level), ahead).found()


@dataclass
class _Residents:
    """`ways` are what a tensor that may stay can be, divided in this way or another, the one that is tried first."""

    phases: HomePhases
    ahead: AsksAhead
    reasons: dict[int, str] = field(default_factory=dict)
    ways: dict[int, list[HomeCandidate]] = field(default_factory=dict)
    more: dict[int, Iterator[list[HomeCandidate]]] = field(default_factory=dict)

    @property
    def calls(self) -> CallList:
        return self.phases.calls

    def found(self) -> Resident:
        self._ask_what_may_stay()
        for value in plan_of(self.calls).values:
            if value.role is ValueRole.BETWEEN:
                self._look_at(value)
            if len(self.phases.reads(value.number)) > 1:
                self._look_at_shared(value)
        chosen = choose_homes([ways for ways in self.ways.values() if ways], self.phases.room)
        late = sum(one.late_seconds for one in chosen.ways.values())
        for number, ways in self.ways.items():
            if number in chosen.ways:
                self.ways[number] = [chosen.ways[number], *(one for one in ways if one != chosen.ways[number])]
            elif ways:
                longer = f"its phases would take {ways[0].late_seconds * 1e6:.2f} us longer"
                others = "others that save more take the room, or the channels, of memory tiles"
                self.reasons[number] = longer if late + ways[0].late_seconds > 0 else others
        return self._placed(chosen)

    # What may stay

    def _ask_what_may_stay(self) -> None:
        """Asks ahead what homes cost, of one of the tensors that phases move alike."""
        between = [value for value in plan_of(self.calls).values if value.role is ValueRole.BETWEEN]
        unlike = {self.phases.likeness(value): value for value in between}
        self.ahead.ask([partial(self._look_at, value) for value in unlike.values()], self.phases.answers)

    def _look_at(self, value: PlannedValue) -> None:
        """Notes in which ways a tensor may stay, or why it can't."""
        if value.number in self.calls.first_versions:
            self.reasons[value.number] = _WRITTEN_IN_PARTS
            return
        columns = self.phases.columns(value)
        ways = self._in_place(value)
        if not columns and not ways:
            self.reasons[value.number] = "no memory tile has channels free for it in all of its phases"
            return
        divided = self._divided(value, columns)
        while (found := next(divided, None)) is not None:
            ways = sorted([*ways, *found], key=lambda one: one.late_seconds)
            if any(one.late_seconds <= 0 for one in ways):
                break
        self.ways[value.number], self.more[value.number] = ways, divided

    def _look_at_shared(self, value: PlannedValue) -> None:
        """Notes in which ways a tensor may be brought from DRAM for several phases, or why it can't."""
        number, versions = value.number, self.calls.first_versions
        if number in versions or number in versions.values():
            self.reasons[number] = _WRITTEN_IN_PARTS
            return
        found = (self._brought(value, slabs) for slabs in self.phases.brought(value))
        ways = [way for way in found if way is not None and way.late_seconds <= 0]
        if not ways:
            self.reasons.setdefault(
                number, "no phase has it on the chip in pieces that later ones gain by finding there"
            )
            return
        first = self.ways.get(number, [])
        self.ways[number] = [*first, *sorted(ways, key=lambda one: (-one.saved_bytes, one.late_seconds))]
        self.more.setdefault(number, iter(()))

    def _brought(self, value: PlannedValue, slabs: HomeSlabs) -> HomeCandidate | None:
        """A tensor that a phase brings, for those that are no slower with it there."""
        readers = frozenset(phase for phase in slabs.readers if self._gains(phase, value.number, slabs))
        if not readers:
            return None
        own = replace(slabs, readers=readers)
        first, *_, last = self.phases.phases_of(value.number, own)
        free = (self.phases.free_bytes(first, last, column) for column in own.columns)
        if min(free) < own.slab_bytes(value.bytes):
            self.reasons[value.number] = f"it has {value.bytes} bytes, more than phases leave where it would stay"
            return None
        return self._candidate(value, own, (own.columns,))

    def _gains(self, phase: int, number: int, slabs: HomeSlabs) -> bool:
        try:
            return self.phases.late_in(phase, self.phases.moved(phase, {number: slabs})) <= 0
        except NotAtHomeError as error:
            self.reasons[number] = str(error)
            return False

    def _in_place(self, value: PlannedValue) -> list[HomeCandidate]:
        """A tensor in the tiles that collect it, if it can stay there."""
        slabs = self.phases.in_place(value)
        if slabs is None:
            return []
        if any(self._free_bytes(value, column) < slabs.slab_bytes(value.bytes) for column in slabs.columns):
            return []
        found = self._candidate(value, slabs, (slabs.columns,))
        return [] if found is None else [found]

    def _divided(self, value: PlannedValue, columns: Sequence[int]) -> Iterator[list[HomeCandidate]]:
        """A tensor in so many slabs as each count says; says why it can't be in any."""
        for count in (count for count in self.phases.counts() if count <= len(columns)):
            found = []
            for piece in self.phases.pieces(value, count):
                slabs = HomeSlabs(tuple(columns[:count]), piece)
                roomy = [c for c in columns if self._free_bytes(value, c) >= slabs.slab_bytes(value.bytes)]
                if len(roomy) < count:
                    most = max(self._free_bytes(value, column) for column in columns)
                    place = self.phases.device.dma(self.phases.level).place
                    why = f"it has {value.bytes} bytes, and no {place} more than {most} free"
                    self.reasons.setdefault(value.number, why)
                    continue
                places = tuple(tuple((roomy * 2)[first : first + count]) for first in range(len(roomy)))
                found.append(self._candidate(value, HomeSlabs(places[0], piece), places))
            yield [one for one in found if one is not None]

    def _free_bytes(self, value: PlannedValue, column: int) -> int:
        return self.phases.free_bytes(value.first, value.last, column)

    def _candidate(
        self, value: PlannedValue, slabs: HomeSlabs, places: tuple[tuple[int, ...], ...]
    ) -> HomeCandidate | None:
        """A tensor in slabs, in the first of some places; where that can't be, says why."""
        try:
            late = self.phases.late_seconds(value, slabs)
        except NotAtHomeError as error:
            self.reasons[value.number] = str(error)
            return None
        first, *reads = self.phases.phases_of(value.number, slabs)
        return HomeCandidate(
            value.number,
            slabs.slab_bytes(value.bytes),
            slabs.piece_bytes,
            first,
            tuple(reads),
            self.phases.saved_bytes(value.number, slabs),
            late,
            places,
            self.phases.moves(value, slabs),
            slabs.in_place,
            slabs.brought is not None,
            slabs.spread,
        )

    # The parts with what stays

    def _placed(self, chosen: Residency) -> Resident:
        """Programs of phases; where one doesn't run, a tensor is divided otherwise, or stays in DRAM after all."""
        homes, programs = self._refined(chosen.homes), dict[int, AtHome]()
        waiting = [*range(len(self.calls.calls))]
        while waiting:
            phase = waiting.pop(0)
            programs.pop(phase, None)
            own = self._own(phase, homes)
            try:
                if own:
                    moved = self.phases.moved(phase, own)
                    self.phases.seconds_at_home(phase, moved)
                    programs[phase] = moved
            except NotAtHomeError as error:
                changed = self._changed(own, homes)
                if changed is None:
                    changed = min(own, key=lambda number: (self._gained(self._chosen(number)), -number))
                    self.reasons[changed] = f"together with others: {error}"
                    del homes[changed]
                waiting = sorted({*waiting, *(each for each, _, _ in self.phases.ports[changed])})
        self._ask_widened(programs, homes)
        programs = {
            phase: self.phases.widened(phase, moved, self._own(phase, homes)) for phase, moved in programs.items()
        }
        calls = tuple(self._housed(phase, homes) for phase in range(len(self.calls.calls)))
        saved = sum(self._chosen(number).saved_bytes for number in homes)
        reasons = {number: why for number, why in self.reasons.items() if number not in homes}
        return Resident(replace(self.calls, calls=calls), programs, reasons, chosen.bound_bytes, saved)

    def _ask_widened(self, programs: Mapping[int, AtHome], homes: Mapping[int, Home]) -> None:
        """Asks ahead by how many channels phases are fastest, of one of those that are alike."""
        unlike = {}
        for phase, moved in programs.items() if self.phases.widens else ():
            own = self._own(phase, homes)
            alike = self.calls.calls[phase].name, self.phases.ways(phase, own)
            unlike[alike] = partial(self.phases.widened, phase, moved, own)
        self.ahead.ask([*unlike.values()], self.phases.answers)

    def _own(self, phase: int, homes: Mapping[int, Home]) -> dict[int, HomeSlabs]:
        """The tensors at home that a phase has to do with."""
        housed = ((number, self._slabs(number, home)) for number, home in homes.items())
        return {number: slabs for number, slabs in housed if phase in self.phases.phases_of(number, slabs)}

    def _refined(self, homes: Mapping[int, Home]) -> dict[int, Home]:
        """Other homes for tensors, as long as phases are faster with them.

        Ways were chosen by what each wins alone: a phase wins more where clusters have all that it reads and makes, and
        less where tensors get in each other's way.
        """
        found, waiting = dict(homes), list(homes)
        while waiting:
            number = waiting.pop(0)
            now = self._chosen(number)
            others = [way for way in self.ways[number] if way != now and not (way.brought or now.brought)]
            beside = {self._chosen(each): home for each, home in found.items() if each != number}
            tried = ((way, home_beside(way, beside, self.phases.room)) for way in others)
            ways = {way: home for way, home in tried if home is not None}
            if not ways:
                continue
            times = {way: self._seconds_of(number, {**found, number: home}) for way, home in ways.items()}
            best = min(times, key=lambda way: times[way])
            if times[best] < self._seconds_of(number, found) - _LEAST_SECONDS:
                self.ways[number] = [best, *(way for way in self.ways[number] if way != best)]
                found[number] = ways[best]
                phases = {phase for phase, _, _ in self.phases.ports[number]}
                near = {each for each in found if any(p in phases for p, _, _ in self.phases.ports[each])}
                waiting += sorted(near - {number, *waiting})
        return found

    def _seconds_of(self, number: int, homes: Mapping[int, Home]) -> float:
        """How long the phases of a tensor take with these homes, and what moves it to be set up."""
        try:
            phases = dict.fromkeys(phase for phase, _, _ in self.phases.ports[number])
            moved = [(phase, self.phases.moved(phase, self._own(phase, homes))) for phase in phases]
            taken = sum(self.phases.seconds_at_home(phase, one) for phase, one in moved)
            return taken + sum(self.phases.sent_seconds(one.chains) for _, one in moved)
        except NotAtHomeError:
            return inf

    def _chosen(self, number: int) -> HomeCandidate:
        return self.ways[number][0]

    def _slabs(self, number: int, home: Home) -> HomeSlabs:
        """A tensor's slabs where it stays in the way that is chosen."""
        columns, one = tuple(slab.column for slab in home.slabs), self._chosen(number)
        if not one.brought:
            return HomeSlabs(columns, home.piece_bytes, home.in_place, spread=home.spread)
        return HomeSlabs(columns, home.piece_bytes, home.in_place, one.first, frozenset(one.reads))

    def _housed(self, phase: int, homes: Mapping[int, Home]) -> Call:
        """A phase's call, with what stays of what it makes, brings and finds."""
        call = self.calls.calls[phase]
        kept = {number: self._chosen(number) for number in homes if self._chosen(number).brought}
        return replace(
            call,
            homes=tuple(None if number in kept else homes.get(number) for number in call.outputs),
            brought={number: homes[number] for number, one in kept.items() if one.first == phase},
            near=frozenset(number for number, one in kept.items() if phase in one.reads),
        )

    def _changed(self, numbers: Collection[int], homes: dict[int, Home]) -> int | None:
        """Gives a tensor another home that costs least while all together take no longer.

        None where more would be lost by that than if the tensor that wins least had none.
        """
        late = sum(self._chosen(number).late_seconds for number in homes)
        least = min(self._gained(self._chosen(number)) for number in numbers)
        for one in self._others(numbers):
            now = self._chosen(one.number)
            if self._gained(now) - self._gained(one) >= least:
                continue
            beside = {self._chosen(number): home for number, home in homes.items() if number != one.number}
            home = home_beside(one, beside, self.phases.room)
            if home is not None and late + one.late_seconds - now.late_seconds <= 0:
                self.ways[one.number] = [one, *(way for way in self.ways[one.number] if way not in (one, now))]
                homes[one.number] = home
                return one.number
        return None

    def _others(self, numbers: Collection[int]) -> list[HomeCandidate]:
        """Other ways for tensors to stay, those that lose least first."""
        for number in numbers:
            self.ways[number] += next(self.more[number], [])
        found = [way for number in numbers for way in self.ways[number][1:]]
        return sorted(found, key=lambda one: self._gained(self._chosen(one.number)) - self._gained(one))

    def _gained(self, one: HomeCandidate) -> float:
        return self.phases.room.gained(one)
