"""Whole functions or sequences of parts: what fits is compiled as it is, what doesn't comes apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from npuflow.bindings import func, ir
from npuflow.compiler.attempts import compile_fitting
from npuflow.compiler.compiled import Function, Sequence
from npuflow.compiler.functions import How, compile_functions
from npuflow.compiler.given import move, schedules_in
from npuflow.compiler.sequence import CompiledSequence
from npuflow.compiler.tables import module_of_tables
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.passes import fail, ops_of
from npuflow.core.pipeline_text import Node, PassNest, PassNode, parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.device import planned_device
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import functions_of, signature_of
from npuflow.network.calls import read_calls
from npuflow.network.groups import kinds_of, least_locks
from npuflow.strategy.split_functions import SplitFunctions, groups_on

_ASKED_FOR = "asked for"
# Functions of so few linalg ops compile fast enough to be tried as a whole.
_SHORT = 8
_NO_WORK = ("linalg.fill", "linalg.yield", "linalg.index")


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


def compile_or_split(module: ir.Module, text: str, how: How, split: Split, sink: DiagnosticSink) -> Batch:
    """Compiles a module's functions, those that don't fit as a whole part by part; `text` is that of the module."""
    prefix = _before_strategies(how.pipeline)
    if split is Split.NEVER or prefix is None:
        return _fitting(module, how, sink)
    functions = list(functions_of(module.operation))
    names = [signature_of(op).name for op in functions]  # types that are no arrays are refused here
    refusal = None
    if split is Split.IF_NEEDED and not any(map(_is_long, functions)):
        try:
            return _whole(module, how, sink)
        except InputError as error:
            refusal = error
    if refusal is not None and len(names) == 1:
        return _split(_FunctionSource(text, names[0], module.context, ()), how, prefix, refusal, sink)
    sources = [_FunctionSource(text, name, module.context, tuple(names)) for name in names]
    return _one_by_one(sources, how, prefix, split, sink)


@dataclass(frozen=True)
class _FunctionSource:
    """A function of a module that is given as text; `taken` are the names that its parts must not have."""

    text: str
    name: str
    context: ir.Context
    taken: tuple[str, ...]

    def module(self) -> ir.Module:
        """The module with one of its public functions, and what that one calls."""
        alone = parse(self.text, self.context)
        with self.context:
            for op in list(functions_of(alone.operation)):
                if str(op.opview.name.value) != self.name:
                    op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        Runner(parse_pipeline("symbol-dce")).run(alone)
        return alone

    def module_to_split(self) -> ir.Module:
        """The same with declarations that keep names from being given to parts."""
        alone = self.module()
        with ir.InsertionPoint(alone.body), alone.operation.location:
            for name in self.taken:
                if name.startswith(f"{self.name}_"):
                    func.FuncOp(name, ir.FunctionType.get([], []), visibility="private")
        return alone


def _whole(module: ir.Module, how: How, sink: DiagnosticSink) -> Batch:
    """What a failed attempt says is kept to itself: it may be none of the user's business."""
    own = replace(sink, diagnostics=[], on_add=None)
    functions = compile_functions(module, how, own)
    for diagnostic in own.diagnostics:
        sink.add(diagnostic)
    return Batch(tuple(functions), (), module)


def _one_by_one(
    sources: list[_FunctionSource], how: How, prefix: PassNest, split: Split, sink: DiagnosticSink
) -> Batch:
    """Every function in a module of its own, so that those that fit are not split for those that don't."""
    batches: list[Batch] = []
    problems: list[Diagnostic] = []
    made: list[str] = []
    for source in sources:
        try:
            kept = replace(source, taken=(*source.taken, *made))
            batches.append(_one(kept, how, prefix, split, sink))
            made += [function.name for function in batches[-1].functions if function.part_of]
        except InputError as error:
            problems += error.diagnostics
    if problems:
        raise InputError(problems)
    first, *others = batches
    for batch in others:
        move(schedules_in(batch.module.operation), first.module)
    functions = tuple(function for batch in batches for function in batch.functions)
    return Batch(functions, tuple(sequence for batch in batches for sequence in batch.sequences), first.module)


def _one(source: _FunctionSource, how: How, prefix: PassNest, split: Split, sink: DiagnosticSink) -> Batch:
    refusal = None
    if split is Split.IF_NEEDED:
        refusal = _foreseen(source, how, prefix, sink)
        try:
            if refusal is None:
                return _whole(source.module(), how, sink)
        except InputError as error:
            refusal = error
    return _split(source, how, prefix, refusal, sink)


def _is_long(function: ir.Operation) -> bool:
    return sum(op.name.startswith("linalg.") and op.name not in _NO_WORK for op in ops_of(function)) > _SHORT


def _foreseen(source: _FunctionSource, how: How, prefix: PassNest, sink: DiagnosticSink) -> InputError | None:
    """What keeps a long function from fitting, where its groups alone tell: compiling it would take time in vain."""
    module = source.module()
    function = next(functions_of(module.operation))
    if not _is_long(function):
        return None
    Runner(prefix, sink=replace(sink, diagnostics=[], on_add=None)).run(module)
    device = planned_device(module.operation, how.device or "")
    groups = groups_on(function, device)
    need, have = least_locks(groups), device.dma(device.kernel_level).locks
    if need <= have:
        return None
    what = f"{len(groups)} groups of ops need at least {need} locks of a core, which has {have}"
    return fail(function, what, "leave out --no-split, so that it runs in parts")


def _fitting(module: ir.Module, how: How, sink: DiagnosticSink, refusal: InputError | None = None) -> Batch:
    found = compile_fitting(module, how, sink, refusal)
    return Batch(found.functions, (), found.module)


def _split(
    source: _FunctionSource, how: How, prefix: PassNest, refusal: InputError | None, sink: DiagnosticSink
) -> Batch:
    """A function by its parts; one that has but one, by other choices than those of the `refusal`, if any fit."""
    module, splitter = source.module_to_split(), SplitFunctions(how.device or "")
    Runner(replace(prefix, elements=(*prefix.elements, PassNode(splitter, str(splitter)))), sink=sink).run(module)
    function = next(functions_of(module.operation))
    calls, signature = read_calls(function), signature_of(function)
    if calls is None:
        return _fitting(source.module(), how, sink, refusal)
    tables = module_of_tables(function)
    function.erase()
    kinds = {str(op.opview.name.value): kinds_of(op) for op in _make_public(module)}
    found = compile_fitting(module, how, sink)
    parts = {part.name: replace(part, part_of=source.name, kinds=kinds[part.name]) for part in found.functions}
    called = tuple(parts[call.name] for call in calls.calls)
    compiled = CompiledSequence(signature, calls, {part.name: part.compiled for part in called}, tables)
    sequence = Sequence(compiled, called, _reason(refusal))
    return Batch(tuple({part.name: part for part in called}.values()), (sequence,), found.module)


def _reason(refusal: InputError | None) -> str:
    return refusal.diagnostics[0].message.partition("; hint: ")[0] if refusal is not None else _ASKED_FOR


def _make_public(module: ir.Module) -> Iterator[ir.Operation]:
    """Makes the parts what is compiled, and the names that were kept free for others free."""
    for child in list(module.body.operations):
        op = child.operation
        if op.name == "func.func" and op.opview.is_external:
            op.erase()
        elif op.name == "func.func":
            op.attributes["sym_visibility"] = ir.StringAttr.get("public", op.context)
            yield op


def _before_strategies(pipeline: PassNest) -> PassNest | None:
    """The passes up to where strategies are assigned; None where that is not part of the pipeline."""
    kept: list[Node] = []
    for element in pipeline.elements:
        if isinstance(element, PassNode) and element.instance.assigns_strategies:
            return replace(pipeline, elements=tuple(kept))
        kept.append(element)
    return None
