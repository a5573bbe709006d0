"""Whole functions or sequences of parts: what fits is compiled as it is, what doesn't comes apart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import takewhile

from npuflow.bindings import ir
from npuflow.compiler.compiled import Function
from npuflow.compiler.compiled import Sequence as PartSequence
from npuflow.compiler.core_loads import load_seconds_of
from npuflow.compiler.cut import CutFunction, Normalised, PreparedFunction, cut, foreseen, growth_of, is_long, prepare
from npuflow.compiler.divide import divided
from npuflow.compiler.functions import How, assigns_strategies, of_function
from npuflow.compiler.given import move
from npuflow.compiler.known_residents import KnownResidents
from npuflow.compiler.moved_parts import MovedPart, faster_parts, moved_parts
from npuflow.compiler.regroupings import Regrouping, regroupings
from npuflow.compiler.sources import FunctionSource, copy_of, empty_like, first_alike, sources_of
from npuflow.compiler.units import Unit, UnitCompiler, UnitOutcome
from npuflow.compiler.without_refused import regrouped, without_refused
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.pipeline_text import PassNest, PassNode
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import functions_of, signature_of
from npuflow.execute.asked_beside import AskedBeside
from npuflow.execute.limits import UNLIMITED, limited
from npuflow.execute.sandbox import begun_in_child
from npuflow.network.between import forget_handed_over
from npuflow.network.core_loads import note_load_seconds
from npuflow.network.decisions import Decision
from npuflow.network.outline import free_names
from npuflow.ops.estimated import estimated_of
from npuflow.strategy.work import work_of

_ASKED_FOR = "asked for"
# What fits as a whole comes apart where that takes so much less behind the launch: parts are more to read.
_CLEARLY = 0.95
# So often it is tried whether fewer cores are faster yet that are loaded one by one, and whether other groups are.
_MOST_TRIES, _MOST_REGROUPED = 3, 2
# Functions of so many parts are compiled without fusion as well: where that is soon done, estimates don't decide.
_FEW_PARTS = 12


# What may be told parts, by their names, and what of that made functions faster, by theirs.
_Moved = Mapping[str, MovedPart]
_Winners = Mapping[str, Sequence[_Moved]]


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


def compile_or_split(module: ir.Module, how: How, split: Split, sink: DiagnosticSink, jobs: int = 1) -> Batch:
    """Compiles a module's functions, those that don't fit as a whole part by part, in up to `jobs` processes.

    The module stays as it is. Of functions that are alike, and of parts that are, one is compiled. What estimates made
    one may be refused once there is a schedule: then these groups stay apart, and all else is as it was.
    """
    sources = sources_of(module)
    names = [signature_of(source.function).name for source in sources]  # refuses types that are no arrays
    for element in how.pipeline.elements:
        if isinstance(element, PassNode):
            element.instance.require_functions(module.operation, names)
    places: dict[tuple[int, PassNest], int] = {}
    outlines = enumerate(zip(first_alike([source.alone() for source in sources]), names))
    alike = [places.setdefault((first, of_function(how.pipeline, name)), n) for n, (first, name) in outlines]
    own = replace(sink, diagnostics=[], on_add=None)
    work = _Compilation(how, split, before_strategies(how.pipeline), own, UnitCompiler(how, own, jobs), set(names))
    try:
        work.compile([source for number, source in enumerate(sources) if alike[number] == number])
    finally:
        sink.add_new(own.diagnostics)
    unlike = [source for number, source in enumerate(sources) if alike[number] == number]
    work.come_apart(unlike)
    firsts = {name: names[first] for name, first in zip(names, alike)}
    batch = work.improved(work.batch(firsts), firsts)
    return work.batch(firsts) if work.unfuse(batch, unlike) else batch


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
class _Compilation:
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

    def come_apart(self, sources: Sequence[FunctionSource]) -> None:
        """Takes those of several groups, which fit as a whole, in parts where that is faster.

        All groups of a whole have one array: to set up its columns may take longer than what a small group does.
        """
        if self.prefix is None or self.split is not Split.IF_FASTER or Decision.PHASES not in self.how.decided:
            return
        for source in sources:
            if source.name not in self.functions or not self._has_several_groups(source.name):
                continue
            other = self._apart(self.taken)
            with suppress(InputError):  # of what can't be compiled in parts, or never ends, others will say so
                if other.fits_in_parts(source):
                    self._takes_apart(source.name, other, other.sequence(source.name))

    def _has_several_groups(self, name: str) -> bool:
        return len(work_of(self.functions[name].compiled.op)) > 1

    def _takes_apart(self, name: str, other: _Compilation, apart: PartSequence) -> bool:
        """Takes another one's parts of a function that fits as a whole, where these are clearly faster."""
        whole = self.functions[name]
        seconds, launch = whole.simulate().seconds, whole.compiled.launch_us * 1e-6
        is_faster = apart.seconds - launch < _CLEARLY * (seconds - launch)
        if is_faster:
            del self.functions[name]
            self._take(name, other, f"as a whole it takes {seconds * 1e6:.4g} us")
        return is_faster

    def improved(self, batch: Batch, firsts: Mapping[str, str]) -> Batch:
        """The same with what is faster by what parts take once all is planned.

        While other groups are tried here, a fork maps parts for DRAM as if none were faster.
        """
        asked = [(one, found) for one in self._regrouped(batch) if (found := self._regroupings(one))]
        with self._mapped_ahead(batch, beside=bool(asked)) as mapped:
            before = batch
            batch = self.batch(firsts) if self.regroup(asked) else batch
            ahead = mapped() if batch is before else None
        batch = self.batch(firsts) if self.map_for_dram(batch, ahead) else batch
        return self.batch(firsts) if self.set_up_less(batch) else batch

    @contextmanager
    def _mapped_ahead(self, batch: Batch, *, beside: bool) -> Iterator[Callable[[], _Winners | None]]:
        """What is faster mapped for DRAM, once it is asked for; None where that isn't found `beside` other tries."""
        jobs = self.compiler.jobs
        if jobs == 1 or not beside or not any(map(self._moved_parts, self._mapped(batch))):
            yield lambda: None
            return

        def found() -> _Winners:
            self.compiler.jobs = 1
            return {before.name: self._map_for_dram(before) for before in self._mapped(batch)}

        with begun_in_child(found, "mapping for DRAM") as told:

            def winners() -> _Winners | None:
                with limited(UNLIMITED), suppress(Exception):
                    return told()
                return None

            self.compiler.jobs = jobs - 1
            try:
                yield winners
            finally:
                self.compiler.jobs = jobs

    def set_up_less(self, batch: Batch) -> bool:
        """Whether functions take less time with parts that less is set up for, where plans wait long for that."""
        found = [self._set_up_less(before) for before in batch.sequences if not before.like]
        return any(found)

    def _set_up_less(self, before: PartSequence) -> bool:
        """Whether a function does; where each core is loaded by itself it is tried as long as that gains much."""
        name, start, is_one_by_one = before.name, before, self._loads_one_by_one(before.name)
        is_decided = (Decision.CORES if is_one_by_one else Decision.TRIES) in self.how.decided
        for _ in range(_MOST_TRIES if is_one_by_one else 1):
            loads = load_seconds_of(before) if is_decided else {}
            if not loads:
                break
            other = self._told(name, loads, self.moved)
            if other is None or (found := other.sequence(name)).seconds >= before.seconds:
                break
            self._replace(name, other)
            gains_much, before = found.seconds <= _CLEARLY * before.seconds, found
            if not gains_much:
                break
        return before is not start

    def map_for_dram(self, batch: Batch, ahead: _Winners | None = None) -> bool:
        """Whether functions take less time with parts mapped for DRAM whose tensors don't stay on the chip.

        What is known `ahead` to be faster is taken without trying what isn't.
        """
        if ahead is not None:
            found = [self._take_told(name, told) for name, winners in ahead.items() for told in winners]
        else:
            found = [bool(self._map_for_dram(before)) for before in self._mapped(batch)]
        return any(found)

    def _mapped(self, batch: Batch) -> list[PartSequence]:
        """Those of which parts may be mapped for DRAM."""
        is_decided = {Decision.PHASES, Decision.TRIES} <= self.how.decided
        return [one for one in batch.sequences if is_decided and not one.like]

    def _moved_parts(self, sequence: PartSequence) -> _Moved:
        return moved_parts(sequence, self.cuts[sequence.name].calls)

    def _map_for_dram(self, start: PartSequence) -> list[_Moved]:
        """What made a function faster, the best last; what got slower is mapped as before in another try."""
        name, best, calls = start.name, start, self.cuts[start.name].calls
        told, winners = self._moved_parts(start), list[_Moved]()
        for number in range(_MOST_TRIES):
            other = self._told(name, {}, told) if told else None
            if other is None:
                break
            found = other.sequence(name)
            faster = faster_parts(told, start, found, calls)
            is_better = found.seconds < best.seconds
            if is_better:
                self._replace(name, other)
                best = found
                winners.append(told)
            if len(faster) == len(told) or not (is_better or number == 0):
                break
            told = faster
        return winners

    def _take_told(self, name: str, told: _Moved) -> bool:
        """Maps parts for DRAM that are known to be faster so."""
        other = self._told(name, {}, told)
        if other is not None:
            self._replace(name, other)
        return other is not None

    def unfuse(self, batch: Batch, sources: Sequence[FunctionSource]) -> bool:
        """Whether small functions take less time with no groups as one."""
        if self.how.unfused is None or not self._tries_groups:
            return False
        sequences = {one.name: one for one in batch.sequences}
        found = [self._unfuse(source, sequences.get(source.name)) for source in sources]
        return any(found)

    def _unfuse(self, source: FunctionSource, before: PartSequence | None) -> bool:
        """Whether one does: by its parts, if it has few, or as a whole of several groups."""
        name = source.name
        if before is None and (self.split is not Split.IF_FASTER or not self._has_several_groups(name)):
            return False
        if before is not None and len(before.parts) > _FEW_PARTS:
            return False
        other = self._without_fusion(name)
        try:
            if not other.fits_in_parts(source):
                return False
            (found,) = other.improved(other.batch({name: name}), {name: name}).sequences
        except InputError:  # of what never ends, say
            return False
        if before is not None and found.seconds < before.seconds:
            reason = f"{self.reasons[name]}; with groups as one it takes {before.seconds * 1e6:.4g} us"
            self._replace(name, other, reason)
            return True
        return before is None and self._takes_apart(name, other, found)

    def _without_fusion(self, name: str) -> _Compilation:
        """What compiles a function in parts that are a group each, of which nobody may hear."""
        assert self.how.unfused is not None, "it may be tried"
        how = replace(self.how, pipeline=self.how.unfused, unfused=None, decided=self.how.decided - {Decision.FUSION})
        other = self._apart(self.taken - (self.cuts[name].kinds.keys() if name in self.cuts else set()))
        compiler = UnitCompiler(how, other.sink, self.compiler.jobs)
        return replace(other, how=how, prefix=before_strategies(how.pipeline), compiler=compiler)

    def _told(self, name: str, loads: Mapping[str, float], moved: Mapping[str, MovedPart]) -> _Compilation | None:
        """Another compilation of a function whose parts know this; None where they take as long as they did."""
        attempt, other = self.attempts[name], self._apart(self.taken - self.cuts[name].kinds.keys())
        other.loads, other.moved = loads, {**moved}
        fits = other.fits_in_parts(other.begun(attempt.source, attempt))
        return other if fits and other.times(name) != self.times(name) else None

    def regroup(self, asked: Sequence[tuple[PartSequence, list[Regrouping]]]) -> bool:
        """Whether functions take less time with other groups as one, where what parts take speaks for these."""
        found = [self._regroup(before, own) for before, own in asked]
        return any(found)

    def _regrouped(self, batch: Batch) -> list[PartSequence]:
        """Those of which other groups may be one."""
        return [one for one in batch.sequences if self._tries_groups and not one.like]

    @property
    def _tries_groups(self) -> bool:
        return {Decision.FUSION, Decision.PHASES, Decision.TRIES} <= self.how.decided

    def _regroup(self, start: PartSequence, asked: list[Regrouping]) -> bool:
        name, source = start.name, self.attempts[start.name].source
        best, tried = start, list[list[Regrouping]]()
        while asked and asked not in tried and len(tried) < _MOST_REGROUPED:
            tried.append(asked)
            other = self._apart(self.taken - self.cuts[name].kinds.keys())
            found = other.sequence(name) if other.fits_in_parts(regrouped(source, asked)) else None
            if found is not None and found.seconds < best.seconds:
                self._replace(name, other)
                best = found
            good = asked[: len(asked) // 2] if found is None else [one for one in asked if one.is_better(found, start)]
            known = {one for some in tried for one in some}
            more = [one for one in self._regroupings(best) if one not in known] if good == asked else []
            asked = [*good, *more]
        return best is not start

    def _regroupings(self, sequence: PartSequence) -> list[Regrouping]:
        ready = self.attempts[sequence.name].prepared
        return [] if ready is None else [*regroupings(sequence, estimated_of(ready.function))]

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

    def _loads_one_by_one(self, name: str) -> bool:
        parts = (self.functions[part].compiled for part in self.cuts[name].kinds)
        return any(part.device.control.loads_one_by_one for part in parts)

    def _apart(self, taken: set[str]) -> _Compilation:
        """What compiles functions in parts, of which nobody may hear."""
        nobody = self._nobody()
        other = _Compilation(self.how, Split.ALWAYS, self.prefix, nobody, self.compiler, {*taken})
        return replace(other, known=self.known, normalised=self.normalised)

    def _replace(self, name: str, other: _Compilation, reason: str = "") -> None:
        """Takes another one's parts of a function in place of its own, for a reason of its own if there is one."""
        self._forget(name)
        self._take(name, other, reason or self.reasons[name])

    def _forget(self, name: str) -> None:
        """Has no parts of a function."""
        for part in self.cuts[name].kinds:
            del self.functions[part]
            self.moved.pop(part, None)
        self.taken.difference_update(self.cuts[name].kinds)

    def _take(self, name: str, other: _Compilation, reason: str) -> None:
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


def before_strategies(pipeline: PassNest) -> PassNest | None:
    """The passes up to where strategies are assigned; None where that is not part of the pipeline."""
    kept = [*takewhile(lambda node: not assigns_strategies(node), pipeline.elements)]
    return None if len(kept) == len(pipeline.elements) else replace(pipeline, elements=tuple(kept))
