"""Whole functions or sequences of parts: what fits is compiled as it is, what doesn't comes apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from npuflow.bindings import func, ir
from npuflow.compiler.compiled import Function, Sequence
from npuflow.compiler.functions import How, compile_functions
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.pipeline_text import Nest, Node, PassNode
from npuflow.core.runner import Runner
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import functions_of, signature_of
from npuflow.network.calls import read_calls
from npuflow.network.groups import kinds_of
from npuflow.network.split_functions import SplitFunctions
from npuflow.simulate.given import move, schedules_in
from npuflow.simulate.sequence import CompiledSequence
from npuflow.strategy.assign_bundles import AssignBundles
from npuflow.strategy.assign_strategy import AssignStrategy

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


def compile_or_split(module: ir.Module, text: str, how: How, split: Split, sink: DiagnosticSink) -> Batch:
    """Compiles a module's functions, those that don't fit as a whole part by part; `text` is that of the module."""
    names = [str(op.opview.name.value) for op in functions_of(module.operation)]
    prefix = _before_strategies(how.pipeline)
    if split is Split.NEVER or prefix is None:
        return Batch(tuple(compile_functions(module, how, sink)), (), module)
    if split is Split.IF_NEEDED:
        try:
            return _whole(module, how, sink)
        except InputError as error:
            refusal = error
        if len(names) == 1:
            return _split(_only(module, text, names[0]), names[0], how, prefix, refusal, sink)
    return _one_by_one(module, text, names, how, prefix, split, sink)


def _whole(module: ir.Module, how: How, sink: DiagnosticSink) -> Batch:
    """What a failed attempt says is kept to itself: it may be none of the user's business."""
    own = replace(sink, diagnostics=[], on_add=None)
    functions = compile_functions(module, how, own)
    for diagnostic in own.diagnostics:
        sink.add(diagnostic)
    return Batch(tuple(functions), (), module)


def _one_by_one(
    module: ir.Module, text: str, names: list[str], how: How, prefix: Nest, split: Split, sink: DiagnosticSink
) -> Batch:
    """Every function in a module of its own, so that those that fit are not split for those that don't."""
    batches: list[Batch] = []
    problems: list[Diagnostic] = []
    for name in names:
        refusal = None
        try:
            if split is Split.IF_NEEDED:
                try:
                    batches.append(_whole(_only(module, text, name), how, sink))
                    continue
                except InputError as error:
                    refusal = error
            batches.append(_split(_only(module, text, name), name, how, prefix, refusal, sink))
        except InputError as error:
            problems += error.diagnostics
    if problems:
        raise InputError(problems)
    first, *others = batches
    for batch in others:
        move(schedules_in(batch.module.operation), first.module)
    functions = tuple(function for batch in batches for function in batch.functions)
    return Batch(functions, tuple(sequence for batch in batches for sequence in batch.sequences), first.module)


def _split(
    module: ir.Module, name: str, how: How, prefix: Nest, refusal: InputError | None, sink: DiagnosticSink
) -> Batch:
    """A function by its parts; raises `refusal` where it has but one."""
    device = SplitFunctions(how.device or "")
    Runner(replace(prefix, elements=(*prefix.elements, PassNode(device, str(device)))), sink=sink).run(module)
    function = next(functions_of(module.operation))
    calls, signature = read_calls(function), signature_of(function)
    if calls is None and refusal is not None:
        raise refusal
    if calls is None:
        return Batch(tuple(compile_functions(module, how, sink)), (), module)
    function.erase()
    kinds = {str(op.opview.name.value): kinds_of(op) for op in _make_public(module)}
    parts = {
        part.name: replace(part, part_of=name, kinds=kinds[part.name]) for part in compile_functions(module, how, sink)
    }
    ordered = tuple(parts[call.name] for call in calls.calls)
    compiled = CompiledSequence(signature, calls, {part.name: part.compiled for part in ordered})
    return Batch(ordered, (Sequence(compiled, ordered, _reason(refusal)),), module)


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


def _only(module: ir.Module, text: str, name: str) -> ir.Module:
    """The module as it came, with one of its public functions.

    Of others whose names parts might be given, a declaration is left.
    """
    alone = parse(text, module.context)
    for op in list(functions_of(alone.operation)):
        other = str(op.opview.name.value)
        if other == name:
            continue
        if other.startswith(f"{name}_"):
            _declare(op)
        op.erase()
    return alone


def _declare(function: ir.Operation) -> None:
    with ir.InsertionPoint(function), function.location:
        func.FuncOp(str(function.opview.name.value), ir.FunctionType(function.opview.type), visibility="private")


def _before_strategies(pipeline: Nest) -> Nest | None:
    """The passes up to where strategies are assigned; None where that is not part of the pipeline."""
    kept: list[Node] = []
    for element in pipeline.elements:
        if isinstance(element, PassNode) and isinstance(element.instance, (AssignStrategy, AssignBundles)):
            return replace(pipeline, elements=tuple(kept))
        kept.append(element)
    return None
