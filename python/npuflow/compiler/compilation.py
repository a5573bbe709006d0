"""Functions on their way, as wholes or in parts: what is tried of them, and what came of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from npuflow.bindings import ir
from npuflow.compiler.compiled import Function
from npuflow.compiler.compiled import Sequence as PartSequence
from npuflow.compiler.cut import CutFunction, Normalised, PreparedFunction, cut, foreseen, growth_of, is_long, prepare
from npuflow.compiler.divide import divided
from npuflow.compiler.functions import How
from npuflow.compiler.given import move
from npuflow.compiler.known_residents import KnownResidents
from npuflow.compiler.moved_parts import MovedPart
from npuflow.compiler.sources import FunctionSource, copy_of, empty_like, sources_of
from npuflow.compiler.units import Unit, UnitCompiler, UnitOutcome
from npuflow.compiler.without_refused import without_refused
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.pipeline_text import PassNest
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import functions_of
from npuflow.execute.asked_beside import AskedBeside
from npuflow.network.between import forget_handed_over
from npuflow.network.core_loads import note_load_seconds
from npuflow.network.outline import free_names
from npuflow.strategy.work import work_of

_ASKED_FOR = "asked for"


class Split(Enum):
    """When a function becomes a sequence of parts: where it doesn't fit as a whole, or `if faster`, too."""

    IF_NEEDED = "if needed"
    IF_FASTER = "if faster"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True)
class Batch:
    """Functions compiled, the parts of `sequences` among them; `module` has all of their schedules."""

    functions: tuple[Function, ...]
    sequences: tuple[PartSequence, ...]
    module: ir.Module


@dataclass(frozen=True)
class _Attempt:
    """A function that isn't compiled as a whole by its first choices, and the units that are compiled of it, by name.

    `refusal` is what kept it from fitting as a whole, `problem` what keeps it from coming apart. `prepared` is what
    came apart.
    """

    source: FunctionSource
    refusal: InputError | None
    said: Sequence[Diagnostic]
    units: Mapping[str, Unit] = field(default_factory=dict)
    problem: InputError | None = None
    prepared: PreparedFunction | None = None


@dataclass
class Compilation:
    """Functions on their way, by name: first as a whole where that may fit, then by parts; `taken` are names in use.

    They come apart behind `prefix`, the passes in front of strategies. Those of which `divided` has another version are
    tried by that, after what `undivided` has was refused of them. Parts weigh what it takes to load a core.
    """

    how: How
    split: Split
    prefix: PassNest | None
    sink: DiagnosticSink
    compiler: UnitCompiler
    taken: set[str]
    attempts: dict[str, _Attempt] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    cuts: dict[str, CutFunction] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    divided: dict[str, PreparedFunction] = field(default_factory=dict)
    undivided: dict[str, list[InputError]] = field(default_factory=dict)
    loads: Mapping[str, float] = field(default_factory=dict)
    moved: dict[str, MovedPart] = field(default_factory=dict)
    known: KnownResidents = field(default_factory=KnownResidents)
    normalised: dict[str, Normalised] = field(default_factory=dict)

    def compile(self, sources: Sequence[FunctionSource]) -> None:
        """Compiles functions, no two of them alike; raises with everything that no choice fits for.

        Those of which a bundle is refused that estimates made are tried again without it, those of which anything else
        is that a core has no room for with its ops one after the other.
        """
        outcomes: dict[str, UnitOutcome] = {}
        while sources:
            tried = self._attempts(sources)
            self.attempts |= tried
            units = {name: unit for attempt in self.attempts.values() for name, unit in attempt.units.items()}
            outcomes = dict(zip(units, self.compiler.compile([*units.values()])))
            again = [self._tried_again(attempt, outcomes) for attempt in tried.values()]
            sources = [source for source in again if source is not None]
        self._finish(outcomes)

    def _attempts(self, sources: Sequence[FunctionSource]) -> dict[str, _Attempt]:
        """What is tried of functions but those that fit as a whole; what came apart before does so again."""
        prepared: dict[str, PreparedFunction] = {}
        refusals = {name: self.attempts[name].refusal for name in (*self.cuts, *self.divided)}
        if self.prefix is not None and self.split in (Split.IF_NEEDED, Split.IF_FASTER):
            whole = [source for source in sources if source.name not in refusals]
            refusals |= self._try_whole(whole, self.prefix, prepared)
        return {
            source.name: self._attempt(source, refusals.get(source.name), prepared.get(source.name))
            for source in sources
            if source.name not in self.functions
        }

    def _try_whole(
        self, sources: Sequence[FunctionSource], prefix: PassNest, prepared: dict[str, PreparedFunction]
    ) -> dict[str, InputError | None]:
        """Why functions don't fit as a whole; those that do are compiled. Fills in those that are `prepared`."""
        refusals: dict[str, InputError | None] = {}
        for source in filter(is_long, sources):
            try:
                prepared[source.name] = prepare(source, prefix, self._nobody(), self.ahead, self.normalised)
                refusal = foreseen(prepared[source.name], self.how)
            except InputError as error:
                refusal = error
            if refusal is not None:
                refusals[source.name] = refusal
        units = {source.name: Unit(source.alone(), once=True) for source in sources if source.name not in refusals}
        for name, outcome in zip(units, self.compiler.compile_anew([*units.values()])):
            if isinstance(outcome.found, InputError):
                refusals[name] = outcome.found
                continue
            self.functions[name] = outcome.found
            self.attempts.pop(name, None)
            self._say(outcome.said)
        return refusals

    def _attempt(
        self, source: FunctionSource, refusal: InputError | None, prepared: PreparedFunction | None
    ) -> _Attempt:
        own = self._nobody()
        if self.prefix is None or self.split is Split.NEVER:
            return _Attempt(source, refusal, own.diagnostics, {source.name: Unit(source.alone())})
        try:
            ready = self.divided.pop(source.name, prepared)
            ready = ready or prepare(source, self.prefix, own, self.ahead, self.normalised)
            kept = replace(ready, module=copy_of(ready.module))
            units = self._units(source, refusal, ready, own)
        except InputError as error:
            return _Attempt(source, refusal, own.diagnostics, problem=error)
        return _Attempt(source, refusal, own.diagnostics, units, prepared=kept)

    def _units(
        self, source: FunctionSource, refusal: InputError | None, ready: PreparedFunction, sink: DiagnosticSink
    ) -> Mapping[str, Unit]:
        """What is compiled of a function: its parts, or where it has but one, itself, by other choices than refused."""
        for diagnostic in ready.said:
            sink.add(diagnostic)
        if source.name in self.cuts:
            self.taken.difference_update(self.cuts.pop(source.name).kinds)
        found = cut(ready, self.how, self.taken, sink)
        if found is None:
            return {source.name: Unit(source.alone(), refusal=refusal)}
        for part in functions_of(found.module.operation):
            if each := self.loads.get(str(part.opview.name.value)):
                note_load_seconds(part, each)
            if away := self.moved.get(str(part.opview.name.value)):
                forget_handed_over(part, away.arguments, away.results)
        self._keep(source.name, found, _reason(refusal))
        return {part.name: Unit(part.alone(), is_part=True) for part in sources_of(found.module)}

    def _keep(self, name: str, found: CutFunction, reason: str) -> None:
        self.cuts[name], self.reasons[name] = found, reason
        self.taken.update(found.kinds)

    def _say(self, said: Sequence[Diagnostic]) -> None:
        for diagnostic in said:
            self.sink.add(diagnostic)

    @property
    def ahead(self) -> AskedBeside:
        """Who asks in other processes."""
        return AskedBeside(self.compiler.jobs)

    def _nobody(self) -> DiagnosticSink:
        """Who hears what may be of no interest."""
        return replace(self.sink, diagnostics=[], on_add=None)

    def _tried_again(self, attempt: _Attempt, outcomes: Mapping[str, UnitOutcome]) -> FunctionSource | None:
        """A function of which something was refused, without what of that can stay apart; None where nothing can."""
        name, refusals = attempt.source.name, _refusals(attempt, outcomes)
        if self.prefix is None or not refusals:
            return None
        again = without_refused(attempt.source, self.prefix, self.cuts.get(name), refusals)
        return again or (attempt.source if self._divide(attempt, refusals) else None)

    def _divide(self, attempt: _Attempt, refusals: Mapping[str, InputError]) -> bool:
        """Whether a function has another version, of which what was refused for want of room is divided."""
        name, ready = attempt.source.name, attempt.prepared
        lacking = {unit for unit, error in refusals.items() if all(said.shortage for said in error.diagnostics)}
        if ready is None or lacking != set(refusals):
            return False
        called = self.cuts[name].parts if name in self.cuts else (name,)
        numbers = [number for number, part in enumerate(called) if part in lacking]
        found = divided(ready, numbers, growth_of(ready, self.how))
        if found is None:
            return False
        self.divided[name] = found
        self.undivided.setdefault(name, [*refusals.values()])
        return True

    def _finish(self, outcomes: Mapping[str, UnitOutcome]) -> None:
        """Takes what was found; a function that is like one before it says which one that is."""
        problems = [attempt.problem for attempt in self.attempts.values() if attempt.problem is not None]
        for attempt in self.attempts.values():
            self._say(attempt.said)
            if attempt.source.name in self.undivided and _refusals(attempt, outcomes):
                problems += self.undivided[attempt.source.name]
        for outcome in dict.fromkeys(outcomes.values()):
            self._say(outcome.said)
        divided_units = {
            unit for one in self.attempts.values() if one.source.name in self.undivided for unit in one.units
        }
        first: dict[UnitOutcome, Function] = {}
        for name, outcome in outcomes.items():
            found = outcome.found
            if isinstance(found, InputError):
                problems += [] if name in divided_units else [found]
            elif outcome in first:
                self.functions[name] = first[outcome].named(name)
            else:
                own = found if found.name == name else replace(found.named(name), like="")
                self.functions[name] = first[outcome] = own
        if problems:
            raise InputError(
                [*dict.fromkeys(said for error in sorted(problems, key=_place) for said in error.diagnostics)]
            )

    def has_several_groups(self, name: str) -> bool:
        return len(work_of(self.functions[name].compiled.op)) > 1

    def fits_in_parts(self, source: FunctionSource) -> bool:
        """Whether a function comes apart, and all parts fit; they are compiled."""
        try:
            self.compile([source])
        except InputError:
            return False
        return source.name in self.cuts

    def times(self, name: str) -> list[Hashable]:
        """What times of a function's parts depend on, each by itself."""
        return [self.functions[part].timing for part in self.cuts[name].parts]

    def apart(self, taken: set[str]) -> Compilation:
        """What compiles functions in parts, of which nobody may hear."""
        nobody = self._nobody()
        other = Compilation(self.how, Split.ALWAYS, self.prefix, nobody, self.compiler, {*taken})
        return replace(other, known=self.known, normalised=self.normalised)

    def replace_parts(self, name: str, other: Compilation, reason: str = "") -> None:
        """Takes another one's parts of a function in place of its own, for a reason of its own if there is one."""
        self._forget(name)
        self.take_parts(name, other, reason or self.reasons[name])

    def _forget(self, name: str) -> None:
        """Has no parts of a function."""
        for part in self.cuts[name].kinds:
            del self.functions[part]
            self.moved.pop(part, None)
        self.taken.difference_update(self.cuts[name].kinds)

    def take_parts(self, name: str, other: Compilation, reason: str) -> None:
        """Takes another one's parts of a function, and what was said of them."""
        self.functions |= other.functions
        self.moved |= other.moved
        self.attempts[name] = other.attempts[name]
        self._keep(name, other.cuts[name], reason)
        self._say(other.sink.diagnostics)

    def begun(self, source: FunctionSource, attempt: _Attempt | None) -> FunctionSource:
        """A function as another compilation had it in the end."""
        if attempt is None or attempt.prepared is None:
            return source
        self.attempts[source.name] = attempt
        self.divided[source.name] = replace(attempt.prepared, module=copy_of(attempt.prepared.module))
        return attempt.source

    def sequence(self, name: str) -> PartSequence:
        """A function in parts that are compiled, planned."""
        return self.cuts[name].sequence(self.functions, "", self.how.decided, self.ahead, self.known)

    def _repeat(self, first: str, name: str) -> None:
        """Makes a function of one that is like it but for its name."""
        if first == name:
            return
        if name in self.cuts:
            self._forget(name)
        if first in self.functions:
            self.functions[name] = self.functions[first].named(name)
            return
        parts = free_names(name, len(self.cuts[first].kinds), self.taken)
        for old, new in zip(self.cuts[first].kinds, parts):
            self.functions[new] = self.functions[old].named(new)
        self._keep(name, self.cuts[first].named(name, parts), self.reasons[first])

    def batch(self, firsts: Mapping[str, str]) -> Batch:
        """Everything, in the order of the functions, which are like the first of their kind but for their names."""
        for name, first in firsts.items():
            self._repeat(first, name)
        together = empty_like(next(iter(self.functions.values())).compiled.module)
        for name, function in self.functions.items():
            op = function.compiled.op
            move([op], together)
            self.functions[name] = function.with_ir(op, together)
        sequences = {
            name: one.sequence(self.functions, self.reasons[name], self.how.decided, self.ahead, self.known)
            for name, one in self.cuts.items()
        }
        functions: list[Function] = []
        for name in firsts:
            if name in sequences:
                functions += {part.name: part for part in sequences[name].parts}.values()
            else:
                functions.append(self.functions[name])
        return Batch(tuple(functions), tuple(sequences[name] for name in firsts if name in sequences), together)


def _refusals(attempt: _Attempt, outcomes: Mapping[str, UnitOutcome]) -> dict[str, InputError]:
    """What was refused of a function, by unit."""
    found = {unit: outcomes[unit].found for unit in attempt.units}
    return {unit: each for unit, each in found.items() if isinstance(each, InputError)}


def _place(error: InputError) -> tuple[int, int]:
    """Where in the file its first place is; what is nowhere comes first."""
    places = [said.location for said in error.diagnostics if said.location is not None]
    return min(((place.line, place.column) for place in places), default=(0, 0))


def _reason(refusal: InputError | None) -> str:
    return refusal.diagnostics[0].what if refusal is not None else _ASKED_FOR
