"""Whole functions or sequences of parts: what fits is compiled as it is, what doesn't comes apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from npuflow.bindings import ir
from npuflow.compiler.compiled import Function, Sequence
from npuflow.compiler.cut import CutFunction, PreparedFunction, cut, foreseen, is_long, prepare
from npuflow.compiler.functions import How
from npuflow.compiler.given import move
from npuflow.compiler.sources import FunctionSource, empty_like, first_alike, sources_of
from npuflow.compiler.units import Unit, compile_units
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import Pass, ops_of
from npuflow.core.pipeline_text import Node, PassNest, PassNode
from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.execute.arrays import signature_of
from npuflow.network.outline import free_names
from npuflow.ops.contraction import BUNDLE
from npuflow.ops.insertions import is_written_in_place
from npuflow.strategy.fuse_matmuls import FuseMatmuls
from npuflow.strategy.fuse_windows import FuseWindows
from npuflow.strategy.skip_masked import SkipMasked

_ASKED_FOR = "asked for"


class Split(Enum):
    """When a function becomes a sequence of parts."""

    IF_NEEDED = "if needed"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True)
class Batch:
    """Functions compiled, the parts of `sequences` among them; `module` has all of their schedules."""

    functions: tuple[Function, ...]
    sequences: tuple[Sequence, ...]
    module: ir.Module


def compile_or_split(module: ir.Module, how: How, split: Split, sink: DiagnosticSink, jobs: int = 1) -> Batch:
    """Compiles a module's functions, those that don't fit as a whole part by part, in up to `jobs` processes.

    The module stays as it is. Of functions that are alike, and of parts that are, one is compiled. What only a schedule
    tells may refuse what was cut into parts to leave out what is masked, and matmuls and windows that were fused: then
    it is computed after all, and then these stay apart.
    """
    own = replace(sink, diagnostics=[], on_add=None)
    try:
        batch = _compile(module, how, split, own, jobs)
    except InputError as error:
        refusal = error
        for pipeline, what in _simpler(module, how.pipeline, sink):
            simpler = replace(sink, diagnostics=[], on_add=None)
            try:
                batch = _compile(module, replace(how, pipeline=pipeline), split, simpler, jobs)
            except InputError as another:
                refusal = another
                continue
            first = refusal.diagnostics[0]
            said = f"{what}, {first.message.partition('; hint: ')[0]}"
            simpler.add(Diagnostic(Severity.REMARK, said, first.location))
            sink.add_new(simpler.diagnostics)
            return batch
        sink.add_new(own.diagnostics)
        raise
    sink.add_new(own.diagnostics)
    return batch


def _simpler(module: ir.Module, pipeline: PassNest, sink: DiagnosticSink) -> Iterator[tuple[PassNest, str]]:
    """Pipelines that leave alone what an optimisation has changed in a module, and what to say of that."""
    prefix = before_strategies(pipeline)
    prepared = [] if prefix is None else [_prepared(source, prefix, sink) for source in sources_of(module)]
    ops = [op for one in prepared if one is not None for op in ops_of(one.function)]
    whole = _without(pipeline, SkipMasked)
    if any(is_written_in_place(op) for op in ops):
        yield whole, "what is masked is computed: in parts without it"
    if any(BUNDLE in op.attributes for op in ops):
        apart = _without(whole, FuseMatmuls)
        yield apart, "matmuls in a row stay apart: as one"
        passes = (each.instance for each in apart.elements if isinstance(each, PassNode))
        if not any(isinstance(each, FuseWindows) and (each.groups or each.tiles) for each in passes):
            yield _without(apart, FuseWindows), "what reads each other through windows stays apart: as one"


def _compile(module: ir.Module, how: How, split: Split, sink: DiagnosticSink, jobs: int) -> Batch:
    sources = sources_of(module)
    names = [signature_of(source.function).name for source in sources]  # refuses types that are no arrays
    alike = first_alike([source.alone() for source in sources])
    prefix = None if split is Split.NEVER else before_strategies(how.pipeline)
    work = _Compilation(how, sink, jobs, set(names))
    distinct = [source for number, source in enumerate(sources) if alike[number] == number]
    if prefix is None:
        work.compile_whole(distinct)
    else:
        work.compile(distinct, prefix, tries_whole=split is Split.IF_NEEDED)
    for name, first in zip(names, alike):
        work.repeat(names[first], name)
    return work.batch(names)


def _prepared(source: FunctionSource, prefix: PassNest, sink: DiagnosticSink) -> PreparedFunction | None:
    """A function behind the passes in front of strategies; None where these refuse it."""
    try:
        return prepare(source, prefix, replace(sink, diagnostics=[], on_add=None))
    except InputError:
        return None


def _without(pipeline: PassNest, kind: type[Pass]) -> PassNest:
    """The pipeline without the passes of a kind."""
    kept = (each for each in pipeline.elements if not (isinstance(each, PassNode) and isinstance(each.instance, kind)))
    return replace(pipeline, elements=tuple(kept))


@dataclass
class _Compilation:
    """Functions on their way, by name: first as a whole where that may fit, then by parts; `taken` are names in use."""

    how: How
    sink: DiagnosticSink
    jobs: int
    taken: set[str]
    functions: dict[str, Function] = field(default_factory=dict)
    cuts: dict[str, CutFunction] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def compile_whole(self, sources: list[FunctionSource]) -> None:
        """Compiles functions, none of which comes apart."""
        self._finish({source.name: Unit(source.alone()) for source in sources}, [])

    def compile(self, sources: list[FunctionSource], prefix: PassNest, *, tries_whole: bool) -> None:
        """Compiles functions, no two of them alike; raises with everything that no choice fits for."""
        problems: list[InputError] = []
        prepared: dict[str, PreparedFunction] = {}
        refusals: dict[str, InputError | None] = dict.fromkeys(source.name for source in sources)
        if tries_whole:
            refusals = self._try_whole(sources, prefix, prepared)
        units: dict[str, Unit] = {}
        for source in (source for source in sources if source.name in refusals):
            try:
                ready = prepared.get(source.name) or prepare(source, prefix, self.sink)
                units |= self._cut(source, ready, refusals[source.name])
            except InputError as error:
                problems.append(error)
        self._finish(units, problems)

    def _try_whole(
        self, sources: list[FunctionSource], prefix: PassNest, prepared: dict[str, PreparedFunction]
    ) -> dict[str, InputError | None]:
        """Why functions don't fit as a whole; those that do are compiled. Fills in those that are `prepared`."""
        refusals: dict[str, InputError | None] = {}
        nobody = replace(self.sink, diagnostics=[], on_add=None)
        for source in filter(is_long, sources):
            try:
                prepared[source.name] = prepare(source, prefix, nobody)
                refusal = foreseen(prepared[source.name], self.how.device)
            except InputError as error:
                refusal = error
            if refusal is not None:
                refusals[source.name] = refusal
        units = {source.name: Unit(source.alone(), once=True) for source in sources if source.name not in refusals}
        for name, found in zip(units, compile_units([*units.values()], self.how, self.sink, self.jobs)):
            if isinstance(found, InputError):
                refusals[name] = found
            else:
                (self.functions[name],) = found.functions
        return refusals

    def _cut(
        self, source: FunctionSource, prepared: PreparedFunction, refusal: InputError | None
    ) -> Mapping[str, Unit]:
        """What is compiled of a function that comes apart; by other choices than the refused ones where it doesn't."""
        for diagnostic in prepared.said:
            self.sink.add(diagnostic)
        found = cut(prepared, self.how, self.taken, self.sink)
        if found is None:
            return {source.name: Unit(source.alone(), refusal=refusal)}
        self._keep(source.name, found, _reason(refusal))
        return {part.name: Unit(part.alone()) for part in sources_of(found.module)}

    def _keep(self, name: str, found: CutFunction, reason: str) -> None:
        self.cuts[name], self.reasons[name] = found, reason
        self.taken.update(found.kinds)

    def _finish(self, units: Mapping[str, Unit], problems: list[InputError]) -> None:
        for name, found in zip(units, compile_units([*units.values()], self.how, self.sink, self.jobs)):
            if isinstance(found, InputError):
                problems.append(found)
            else:
                (self.functions[name],) = found.functions
        if problems:
            raise InputError(
                [*dict.fromkeys(said for error in sorted(problems, key=_place) for said in error.diagnostics)]
            )

    def repeat(self, first: str, name: str) -> None:
        """Makes a function of one that is like it but for its name."""
        if first == name:
            return
        if first in self.functions:
            self.functions[name] = self.functions[first].named(name)
            return
        parts = free_names(name, len(self.cuts[first].kinds), self.taken)
        for old, new in zip(self.cuts[first].kinds, parts):
            self.functions[new] = self.functions[old].named(new)
        self._keep(name, self.cuts[first].named(name, parts), self.reasons[first])

    def batch(self, names: list[str]) -> Batch:
        """Everything, in the order of the functions."""
        together = empty_like(next(iter(self.functions.values())).compiled.module)
        for name, function in self.functions.items():
            op = function.compiled.op
            move([op], together)
            self.functions[name] = function.with_ir(op, together)
        sequences = {
            name: one.sequence(self.functions, self.reasons[name], self.how.decided) for name, one in self.cuts.items()
        }
        functions: list[Function] = []
        for name in names:
            if name in sequences:
                functions += {part.name: part for part in sequences[name].parts}.values()
            else:
                functions.append(self.functions[name])
        return Batch(tuple(functions), tuple(sequences[name] for name in names if name in sequences), together)


def _place(error: InputError) -> tuple[int, int]:
    """Where in the file its first place is; what is nowhere comes first."""
    places = [said.location for said in error.diagnostics if said.location is not None]
    return min(((place.line, place.column) for place in places), default=(0, 0))


def _reason(refusal: InputError | None) -> str:
    return refusal.diagnostics[0].message.partition("; hint: ")[0] if refusal is not None else _ASKED_FOR


def before_strategies(pipeline: PassNest) -> PassNest | None:
    """The passes up to where strategies are assigned; None where that is not part of the pipeline."""
    kept: list[Node] = []
    for element in pipeline.elements:
        if isinstance(element, PassNode) and element.instance.assigns_strategies:
            return replace(pipeline, elements=tuple(kept))
        kept.append(element)
    return None
