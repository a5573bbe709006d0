"""What compiling gives: functions and sequences, to be timed and executed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from npuflow.bindings import ir
from npuflow.bounds.sizes import OpSizes
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.compiler.known_residents import KnownResidents
from npuflow.compiler.sequence import CompiledSequence, execute_sequence
from npuflow.compiler.tasks_ahead import BegunPhases, tasks_ahead, waiting_in
from npuflow.core.answers import NOTHING_ASKED, AsksAhead
from npuflow.execute.arrays import Array
from npuflow.network.calls import CallList
from npuflow.network.decisions import ALL_DECISIONS, Decision, Decisions
from npuflow.network.outline import free_names
from npuflow.network.plan import FunctionPlan, addressed, ordered, plan_of, tables_of_one_call
from npuflow.network.set_up import NO_TASKS, PhaseChange
from npuflow.network.timed_phases import CallTime, TimedPhase, timed_phases
from npuflow.simulate.prefetch import NOTHING_AHEAD
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import simulate
from npuflow.target import Device

StrategyFields = Mapping[str, "int | tuple[int, ...]"]


@dataclass(frozen=True, repr=False)
class Function:
    """One compiled function, to be timed or executed; `is_given` says that it came as a schedule.

    `part_of` names the function that this one is a part of, and `kinds` then says what it does. `like` names one that
    is the same but for its name, if there is one before it.
    """

    compiled: CompiledFunction
    sizes: tuple[OpSizes, ...]
    strategy: StrategyFields
    is_given: bool = False
    part_of: str = ""
    kinds: str = ""
    like: str = ""

    def __repr__(self) -> str:
        return f"<Function {self.compiled.signature}>"

    @property
    def name(self) -> str:
        return self.compiled.name

    @property
    def macs(self) -> int | None:
        """The multiply-accumulates that the function asks for; None where its matmuls are not known."""
        return sum(one.macs for one in self.sizes) if self.sizes else None

    @property
    def timing(self) -> Hashable:
        """All that times depend on: functions of which it is equal take the same, whatever they compute."""
        one = self.compiled
        named = (tuple(items.items()) for items in (one.shapes, one.labels, self.strategy))
        return one.program, one.device, one.modelled, one.grid, self.sizes, *named

    def named(self, name: str) -> Function:
        """The function under another name, with a schedule of its own in the same module."""
        compiled = self.compiled
        op = compiled.op.clone(ir.InsertionPoint(compiled.module.body)).operation
        op.attributes["sym_name"] = ir.StringAttr.get(name, op.context)
        signature, schedule = replace(compiled.signature, name=name), replace(compiled.schedule, name=name)
        own = replace(compiled, signature=signature, schedule=schedule, op=op)
        return replace(self, compiled=own, like=self.like or self.name)

    def with_ir(self, op: ir.Operation, module: ir.Module) -> Function:
        """The function with its schedule in IR, and the module that holds that."""
        return replace(self, compiled=self.compiled.with_ir(op, module))

    def simulate(self, *, trace: bool = False) -> RunResults:
        """Times the function; no data moves."""
        return simulate(self.compiled.program, trace=True) if trace else self.compiled.run

    def execute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function's results on these arrays, through the simulated array."""
        return execute_function(self.compiled, inputs).outputs


@dataclass(frozen=True)
class _Change:
    """Another program for a part in a phase; those of equal `ways` are the same."""

    ways: tuple[Hashable, ...]
    of: Callable[[CompiledFunction], CompiledFunction]


@dataclass(frozen=True, repr=False)
class Sequence:
    """A function whose parts run one after the other, each with the array to itself; `parts` has one for every call.

    `reason` says what kept the function from running as a whole; `like` names one before it that is the same. They are
    phases of one launch unless that was `decided` otherwise; `changes` are what each call but the first takes to be set
    up then. `away` says of tensors between them, by number, why they don't stay on the chip.
    """

    compiled: CompiledSequence
    parts: tuple[Function, ...]
    reason: str
    like: str = ""
    decided: Decisions = ALL_DECISIONS
    away: Mapping[int, str] = field(default_factory=dict)
    changes: tuple[PhaseChange, ...] | None = None

    def __repr__(self) -> str:
        return f"<Sequence {self.compiled.signature} in {len(self.parts)} parts>"

    @property
    def name(self) -> str:
        return self.compiled.name

    @property
    def device(self) -> Device:
        return self.parts[0].compiled.device

    def with_decided(self, decided: Decisions, known: KnownResidents | None = None) -> Sequence:
        """The same parts by other decisions, where they are in the program's order now."""
        calls = self.compiled.calls
        calls = replace(calls, calls=tuple(call.away() for call in calls.calls))
        calls = addressed(ordered(calls, keeps_order=Decision.ORDER not in decided).calls)
        parts = {part.name: replace(part, compiled=part.compiled.away()) for part in self.parts}
        return self._with(calls, parts, decided, {}).planned(known=known)

    def planned(self, ahead: AsksAhead = NOTHING_ASKED, known: KnownResidents | None = None) -> Sequence:
        """The same with what is decided of parts that are there: what stays on the chip, and is set up ahead."""
        known = known or KnownResidents()
        return self._at_home(ahead, known)._prefetched(known)._with_table_tasks()._set_ahead()

    def _at_home(self, ahead: AsksAhead, known: KnownResidents) -> Sequence:
        """The same with what stays on the chip, if that is decided."""
        if not {Decision.PHASES, Decision.RESIDENCY} <= self.decided:
            return self
        found = known.of(
            self.compiled.calls,
            {part.name: part.compiled for part in self.parts},
            spreads=Decision.SPREAD in self.decided,
            ahead=ahead,
        )
        moved = (found.programs.get(phase) for phase in range(len(self.parts)))
        changes = [None if o is None else _Change(o.ways, partial(CompiledFunction.at_home, moved=o)) for o in moved]
        return replace(self, away=found.reasons)._changed(changes, addressed(found.calls))

    def _prefetched(self, known: KnownResidents) -> Sequence:
        """The same with what phases bring for later ones, if that is decided."""
        if not {Decision.PHASES, Decision.PREFETCH} <= self.decided or self.device.home_level is None:
            return self
        from npuflow.compiler.phases import phase_changes
        from npuflow.compiler.prefetch import prefetched

        calls, compiled = self.compiled.calls, [part.compiled for part in self.parts]
        phases = prefetched(calls, compiled, phase_changes(compiled, self.decided), known)
        changes = [None if one.ahead == NOTHING_AHEAD else _Change((one.ahead,), one.of) for one in phases]
        return self._changed(changes, calls)

    def _with_table_tasks(self) -> Sequence:
        """The same with one task for what a channel reads of tables in a row, if that is decided."""
        if not {Decision.PHASES, Decision.TABLES} <= self.decided:
            return self
        tables = tables_of_one_call(self.compiled.calls)
        changes = []
        for call, part in zip(self.compiled.calls.calls, self.parts, strict=True):
            own = [name for number, name in zip(call.inputs, part.compiled.arguments) if number in tables]
            own += [one.name for one in part.compiled.ahead.brings if one.number in tables]
            joins = partial(CompiledFunction.with_table_tasks, tables=own)
            changes.append(_Change((*own,), joins) if own else None)
        return self._changed(changes, self.compiled.calls)

    def _set_ahead(self) -> Sequence:
        """The same with what goes on between phases, if it has any, and with tasks that they find set up."""
        if Decision.PHASES not in self.decided:
            return self
        from npuflow.compiler.phases import phase_changes

        calls = [part.compiled for part in self.parts]
        changes = phase_changes(calls, self.decided)
        is_ahead = {Decision.AHEAD, Decision.TASKS} <= self.decided
        tasks = tasks_ahead(calls, changes) if is_ahead else BegunPhases({}, [NO_TASKS for _ in changes])
        parts = {part.name: replace(part, compiled=tasks.parts.get(part.name, part.compiled)) for part in self.parts}
        begun = tuple(replace(one, tasks=own) for one, own in zip(changes, tasks.writes, strict=True))
        return replace(self._with(self.compiled.calls, parts, self.decided, self.away), changes=begun)

    def _changed(self, changes: Iterable[_Change | None], calls: CallList) -> Sequence:
        """The same with the part of each phase changed, which calls name as it is named then."""
        parts = self._each(changes)
        called = tuple(replace(call, name=part.name) for call, part in zip(calls.calls, parts, strict=True))
        named = {part.name: part for part in parts}
        return self._with(replace(calls, calls=called), named, self.decided, self.away)

    def _each(self, changes: Iterable[_Change | None]) -> list[Function]:
        """The part of each phase, changed; one that is changed in several ways has a name for each."""
        ops = [child.operation for child in self.parts[0].compiled.module.body.operations]
        taken = {ir.StringAttr(op.attributes["sym_name"]).value for op in ops if "sym_name" in op.attributes}
        made: dict[tuple[object, ...], Function] = {}
        found = []
        for part, change in zip(self.parts, changes, strict=True):
            key = (part.name,) if change is None else (part.name, *change.ways)
            if key not in made:
                is_other = any(name == part.name for name, *_ in made)
                own = replace(part.named(*free_names(part.name, 1, taken)), like="") if is_other else part
                made[key] = own if change is None else replace(own, compiled=change.of(own.compiled))
            found.append(made[key])
        return found

    def _with(
        self, calls: CallList, parts: Mapping[str, Function], decided: Decisions, away: Mapping[int, str]
    ) -> Sequence:
        called = tuple(parts[call.name] for call in calls.calls)
        compiled = replace(self.compiled, calls=calls, parts={part.name: part.compiled for part in called})
        return replace(self, compiled=compiled, parts=called, decided=decided, away=away, changes=None)

    @cached_property
    def plan(self) -> FunctionPlan:
        """The order of the parts, and where what they hand over lies."""
        return plan_of(self.compiled.calls)

    def simulate(self) -> tuple[RunResults, ...]:
        """Times the parts, in order."""
        return tuple(part.simulate() for part in self.parts)

    def phases(self, results: Mapping[str, RunResults]) -> tuple[TimedPhase, ...]:
        """When the calls of the parts begin and end, by the parts' runs."""
        calls = [
            CallTime(part.name, found.seconds * 1e6, part.compiled.launch_us, waiting_in(found, part.compiled))
            for part, found in ((part, results[part.name]) for part in self.parts)
        ]
        return timed_phases(calls, self.changes, self.device.control)

    @cached_property
    def timed(self) -> tuple[TimedPhase, ...]:
        """When the calls begin and end, found once."""
        parts = {part.name: part for part in self.parts}
        return self.phases({name: part.simulate() for name, part in parts.items()})

    @property
    def seconds(self) -> float:
        """How long it takes as a whole."""
        return self.timed[-1].end_us * 1e-6

    def execute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function's results on these arrays, part by part through the simulated array."""
        return execute_sequence(self.compiled, inputs).outputs
