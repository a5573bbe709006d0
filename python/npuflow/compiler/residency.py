"""Tensors between a function's parts that stay on the chip: what could, what that saves, and phases' programs.

Those stay that win most time, phases' and what DRAM takes for what needn't be moved, while all phases together take
no longer than with everything in DRAM.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.home_phases import HomePhases, HomeSlabs
from npuflow.compiler.housing import HomeSearch, Housing, TensorHome
from npuflow.compiler.port_phases import PortPhases
from npuflow.compiler.tile_phases import TilePhases
from npuflow.core.answers import NOTHING_ASKED, AsksAhead
from npuflow.network.calls import Call, CallList
from npuflow.network.plan import PlannedValue, ValueRole, plan_of
from npuflow.network.residency import HomeCandidate, Residency, choose_homes
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.home_tasks import NotAtHomeError

_WRITTEN_IN_PARTS = "several phases write it, a part each"


@dataclass(frozen=True)
class Resident:
    """The calls that say what stays where, the programs of phases that move it, and why other tensors don't stay."""

    calls: CallList
    programs: Mapping[int, AtHome] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)
    bound_bytes: int = 0
    saved_bytes: int = 0


def home_phases(
    calls: CallList, parts: Mapping[str, CompiledFunction], before: HomePhases | None = None, *, spreads: bool = True
) -> HomePhases | None:
    """The phases that calls run, if tensors between them can be at home, with what is known of parts `before` these.

    Those before are called alike where they have one program, and were asked for alike. Clusters may keep tensors
    where they make them if it `spreads`.
    """
    device = next(iter(parts.values())).device
    level = device.home_level
    if level is None:
        return None
    if before is not None:
        return replace(before, calls=calls, parts={**before.parts, **parts})
    if level == device.dma(device.dram_level).reaches:
        return PortPhases(calls, parts, device, level, spreads=spreads)
    return TilePhases(calls, parts, device, level)


def resident(calls: CallList, phases: HomePhases | None, *, ahead: AsksAhead = NOTHING_ASKED) -> Resident:
    """The phases with those tensors between them at home that win most time. What homes cost is asked `ahead`."""
    return Resident(calls) if phases is None else _Residents(phases, ahead).found()


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

    @property
    def _place(self) -> str:
        """What messages call a memory in which tensors stay."""
        return self.phases.device.dma(self.phases.level).place

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
            if ways and number not in chosen.ways:
                longer = f"its phases would take {ways[0].late_seconds * 1e6:.2f} us longer"
                others = f"others that save more take the room, or the channels, of {self._place}s"
                self.reasons[number] = longer if late + ways[0].late_seconds > 0 else others
        return self._placed(chosen)

    # What may stay

    def _ask_what_may_stay(self) -> None:
        """Asks ahead what homes cost, of one of the tensors that phases move alike; what else is found is forgotten."""
        other, asks = _Residents(self.phases, self.ahead), dict[tuple[Hashable, bool], Callable[[], None]]()
        for value in plan_of(self.calls).values:
            if value.role is ValueRole.BETWEEN:
                asks[self.phases.likeness(value), False] = partial(other._look_at, value)
            if len(self.phases.reads(value.number)) > 1:
                asks[self.phases.likeness(value), True] = partial(other._look_at_shared, value)
        self.ahead.ask([*asks.values()], self.phases.answers)

    def _ask_more(self, numbers: Collection[int]) -> None:
        """Asks ahead what all ways of some tensors cost, of one of those that are alike."""
        other = _Residents(self.phases, self.ahead)
        values = [value for value in plan_of(self.calls).values if value.role is ValueRole.BETWEEN]
        unlike = {self.phases.likeness(value): value for value in values if value.number in numbers}
        self.ahead.ask([partial(other._look_at_all, value) for value in unlike.values()], self.phases.answers)

    def _look_at_all(self, value: PlannedValue) -> None:
        """Notes all ways in which a tensor may stay."""
        self._look_at(value)
        self.ways[value.number] += [way for found in self.more[value.number] for way in found]

    def _look_at(self, value: PlannedValue) -> None:
        """Notes in which ways a tensor may stay, or why it can't."""
        columns = self.phases.columns(value)
        ways = self._in_place(value)
        if not columns and not ways:
            self.reasons[value.number] = f"no {self._place} has channels free for it in all of its phases"
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
            self.reasons.setdefault(number, _WRITTEN_IN_PARTS)
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
        late = self.phases.late_with(phase, {number: slabs})
        if isinstance(late, str):
            self.reasons[number] = late
            return False
        return late.seconds <= 0

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
                    why = f"it has {value.bytes} bytes, and no {self._place} more than {most} free"
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
        """Programs of phases, with what stays."""
        search = HomeSearch(self.phases, self.ways, self.more, self.ahead)
        first = {number: TensorHome(chosen.ways[number], home) for number, home in chosen.homes.items()}
        fitting = search.feasible(first)
        self._ask_more(search.looked_for(fitting))
        housed = search.improved(fitting)
        self.reasons.update(search.reasons)
        own = {phase: search.own(phase, housed) for phase in range(len(self.calls.calls))}
        own = {phase: homes for phase, homes in own.items() if homes}
        if self.phases.widens:
            unlike = {self.phases.question(phase, homes): phase for phase, homes in own.items()}
            self.ahead.ask([partial(self._program, n, own[n]) for n in unlike.values()], self.phases.answers)
        programs = {phase: self._program(phase, homes) for phase, homes in own.items()}
        calls = tuple(self._housed(phase, housed) for phase in range(len(self.calls.calls)))
        saved = sum(one.way.saved_bytes for one in housed.values())
        reasons = {number: why for number, why in self.reasons.items() if number not in housed}
        return Resident(replace(self.calls, calls=calls), programs, reasons, chosen.bound_bytes, saved)

    def _program(self, phase: int, homes: Mapping[int, HomeSlabs]) -> AtHome:
        """A phase's program with all that stays, by as many channels as are fastest."""
        return self.phases.widened(phase, self.phases.moved(phase, homes), homes)

    def _housed(self, phase: int, housed: Housing) -> Call:
        """A phase's call, with what stays of what it makes, brings and finds."""
        call = self.calls.calls[phase]
        kept = {number: one for number, one in housed.items() if one.way.brought}
        versions = self.calls.first_versions
        made = [housed.get(versions.get(number, number)) for number in call.outputs]
        return replace(
            call,
            homes=tuple(None if one is None or one.way.brought else one.home for one in made),
            brought={number: one.home for number, one in kept.items() if one.way.first == phase},
            near=frozenset(number for number, one in kept.items() if phase in one.way.reads),
        )
