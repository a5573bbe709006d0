"""A function that comes apart: which parts it has, and how they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from npuflow.bindings import func, ir
from npuflow.compiler.compiled import Function, Sequence
from npuflow.compiler.functions import How, of_function
from npuflow.compiler.known_residents import KnownResidents
from npuflow.compiler.sequence import CompiledSequence
from npuflow.compiler.sources import FunctionSource, copy_of
from npuflow.compiler.tables import module_of_tables
from npuflow.core.answers import NOTHING_ASKED, AsksAhead
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import Pass, fail, ops_of
from npuflow.core.pipeline_text import PassNest, PassNode
from npuflow.core.runner import Runner
from npuflow.dialect.device import planned_device
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import Signature, functions_of, signature_of
from npuflow.network.calls import CallList, callee, calls_of, read_calls
from npuflow.network.decisions import Decision, Decisions
from npuflow.network.groups import groups_of, kinds_of, least_locks
from npuflow.network.plan_phases import PhaseOrder, PlanPhases
from npuflow.ops.estimated import say_alike
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.split_functions import SplitFunctions
from npuflow.strategy.spread_phases import SpreadPhases

# Functions of so few linalg ops compile fast enough to be tried as a whole.
_SHORT = 8
_FUSION = "fusion"
_NO_WORK = ("linalg.fill", "linalg.yield", "linalg.index")


@dataclass(frozen=True)
class CutFunction:
    """The parts of the function with this signature, each a function of `module`.

    `calls` says how they are called, on which `tables` as well; `kinds` says what each of them does, by name. `parts`
    are their names in the order of the groups that the function came apart into. `like` is a function that is the same
    but for its name.
    """

    signature: Signature
    calls: CallList
    tables: ir.Module
    kinds: Mapping[str, str]
    module: ir.Module
    parts: tuple[str, ...] = ()
    like: str = ""

    def sequence(
        self,
        parts: Mapping[str, Function],
        reason: str,
        decided: Decisions,
        ahead: AsksAhead = NOTHING_ASKED,
        known: KnownResidents | None = None,
    ) -> Sequence:
        """What is executed, of parts that have been compiled; what is `known` to stay on the chip isn't looked for."""
        owned = {n: replace(parts[n], part_of=self.signature.name, kinds=kind) for n, kind in self.kinds.items()}
        called = tuple(owned[call.name] for call in self.calls.calls)
        compiled = {part.name: part.compiled for part in called}
        whole = CompiledSequence(self.signature, self.calls, compiled, self.tables)
        return Sequence(whole, called, reason, self.like, decided).planned(ahead, known)

    def named(self, name: str, parts: list[str]) -> CutFunction:
        """The same of a function that is like this one but for its name, with other names for the parts."""
        to = dict(zip(self.kinds, parts, strict=True))
        calls = replace(self.calls, name=name, calls=tuple(replace(c, name=to[c.name]) for c in self.calls.calls))
        kinds = {to[part]: kind for part, kind in self.kinds.items()}
        signature = replace(self.signature, name=name)
        own = tuple(to[part] for part in self.parts)
        return replace(self, signature=signature, calls=calls, kinds=kinds, parts=own, like=self.signature.name)


def is_long(source: FunctionSource) -> bool:
    """Whether a function has so many ops that it is worth while to foresee whether it fits."""
    ops = ops_of(source.function)
    return sum(op.name.startswith("linalg.") and op.name not in _NO_WORK for op in ops) > _SHORT


@dataclass(frozen=True)
class PreparedFunction:
    """A function with the passes behind it that come before strategies, and what these said."""

    module: ir.Module
    said: tuple[Diagnostic, ...] = ()

    @property
    def function(self) -> ir.Operation:
        return next(functions_of(self.module.operation))


@dataclass(frozen=True)
class Normalised:
    """A function as it is in front of fusion, and the passes that it went through."""

    passes: PassNest
    function: PreparedFunction

    def begins(self, passes: PassNest) -> bool:
        """Whether other passes begin with these."""
        return passes.elements[: len(self.passes.elements)] == self.passes.elements


def prepare(
    source: FunctionSource,
    prefix: PassNest,
    sink: DiagnosticSink,
    ahead: AsksAhead = NOTHING_ASKED,
    normalised: dict[str, Normalised] | None = None,
) -> PreparedFunction:
    """Runs `prefix` on a function alone; `sink` gets what is said where it fails.

    What comes in front of fusion is done once: functions as they are then are kept by name in `normalised`, for all
    pipelines that begin so. A function that is prepared again says at most something else of its groups.
    """
    own, passes = replace(sink, diagnostics=[], on_add=None), of_function(prefix, source.name)
    kept = {} if normalised is None else normalised
    try:
        begun = kept.get(source.name)
        if begun is None or not begun.begins(passes):
            first = _in_front_of_fusion(passes)
            begun = Normalised(first, _behind(first, PreparedFunction(source.alone()), own, ahead))
            kept[source.name] = begun
        ready = replace(begun.function, module=copy_of(begun.function.module))
        say_alike(ready.function, source.function)
        rest = replace(passes, elements=passes.elements[len(begun.passes.elements) :])
        return _behind(rest, ready, own, ahead)
    except InputError:
        sink.add_new(own.diagnostics)
        raise


def _in_front_of_fusion(prefix: PassNest) -> PassNest:
    """The passes in front of the first that makes groups one."""
    fuses = (isinstance(node, PassNode) and node.instance.group == _FUSION for node in prefix.elements)
    count = next((number for number, one in enumerate(fuses) if one), len(prefix.elements))
    return replace(prefix, elements=prefix.elements[:count])


def _behind(passes: PassNest, before: PreparedFunction, sink: DiagnosticSink, ahead: AsksAhead) -> PreparedFunction:
    said = len(sink.diagnostics)
    Runner(passes, sink=sink, ahead=ahead).run(before.module)
    return PreparedFunction(before.module, (*before.said, *sink.diagnostics[said:]))


def foreseen(prepared: PreparedFunction, how: How) -> InputError | None:
    """What keeps a function from fitting, where its groups alone tell: compiling it would take time in vain."""
    device = planned_device(prepared.module.operation, how.device or "")
    groups = groups_of(prepared.function, GrowthOn(device, Decision.FUSION in how.decided))
    need, have = least_locks(groups), device.dma(device.kernel_level).locks
    if need <= have:
        return None
    what = f"{len(groups)} groups of ops need at least {need} locks of a core, which has {have}"
    return fail(prepared.function, what, "leave out --no-split, so that it runs in parts")


def growth_of(prepared: PreparedFunction, how: How) -> GrowthOn:
    """What may share a tile where a function comes apart."""
    device = planned_device(prepared.module.operation, how.device or "")
    return GrowthOn(device, Decision.FUSION in how.decided, _depth_between(how))


def _depth_between(how: How) -> int | None:
    return None if Decision.ENGINES in how.decided else 1


def cut(prepared: PreparedFunction, how: How, taken: set[str], sink: DiagnosticSink) -> CutFunction | None:
    """The parts of a function, by names that aren't taken, in order; None of one that has but one. Uses it up."""
    module, function = prepared.module, prepared.function
    signature = signature_of(function)
    with ir.InsertionPoint(module.body), module.operation.location:
        for name in taken:
            if name.startswith(f"{signature.name}_"):
                func.FuncOp(name, ir.FunctionType.get([], []), visibility="private")
    order = PhaseOrder.LEAST if Decision.ORDER in how.decided else PhaseOrder.GIVEN
    depth_between = _depth_between(how)
    _run(SplitFunctions(how.device or "", Decision.FUSION in how.decided, depth_between), module, sink)
    parts = tuple(callee(call) for call in calls_of(function))
    passes: tuple[Pass, ...] = (PlanPhases(order, between={Decision.RESIDENCY, Decision.PHASES} <= how.decided),)
    if {Decision.RESIDENCY, Decision.PHASES, Decision.SPREAD} <= how.decided:
        passes = (*passes, SpreadPhases(how.device or "", Decision.FUSION in how.decided, depth_between))
    for one in passes:
        _run(one, module, sink)
    calls = read_calls(function)
    if calls is None:
        return None
    tables = module_of_tables(function)
    function.erase()
    kinds = {str(op.opview.name.value): kinds_of(op) for op in _make_public(module)}
    return CutFunction(signature, calls, tables, kinds, module, parts)


def _run(one: Pass, module: ir.Module, sink: DiagnosticSink) -> None:
    Runner(PassNest("builtin.module", (PassNode(one, str(one)),)), sink=sink).run(module)


def _make_public(module: ir.Module) -> Iterator[ir.Operation]:
    """Makes the parts what is compiled, and the names that were kept free for others free."""
    for child in list(module.body.operations):
        op = child.operation
        if op.name == "func.func" and op.opview.is_external:
            op.erase()
        elif op.name == "func.func":
            op.attributes["sym_visibility"] = ir.StringAttr.get("public", op.context)
            yield op
