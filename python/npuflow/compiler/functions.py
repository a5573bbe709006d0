"""Functions through a pipeline, to schedules that can be timed and executed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

from npuflow.bindings import ir
from npuflow.bounds.sizes import MatmulSizes
from npuflow.compiler.compiled import Function
from npuflow.compiler.compiled_function import CompiledFunction, compile_schedule
from npuflow.compiler.given import schedule_name, schedules_in
from npuflow.compiler.scheduling import make_schedules
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import fail, ops_of
from npuflow.core.pipeline_text import Node, PassNest, PassNode
from npuflow.core.runner import Runner
from npuflow.dialect.device import recorded_device
from npuflow.errors import InputError
from npuflow.execute.arrays import functions_of, may_run, signature_of
from npuflow.network.decisions import ALL_DECISIONS, Decisions
from npuflow.strategy.work import work_of
from npuflow.target import DEFAULT_DEVICE, load_device


@dataclass(frozen=True)
class How:
    """How functions are compiled: the expanded pipeline, what for, and the rate of matmul kernels if it is known.

    `decided` is what is decided of those that run in parts. The pipeline without fusion is there where that may be
    tried: `unfused`.
    """

    pipeline: PassNest
    device: str | None
    kernel_macs_per_cycle: float | None
    decided: Decisions = ALL_DECISIONS
    unfused: PassNest | None = None

    @property
    def of_parts(self) -> How:
        """The same for parts of functions, which have come as far as strategies."""
        kept = dropwhile(lambda each: not assigns_strategies(each), self.pipeline.elements)
        return replace(self, pipeline=replace(self.pipeline, elements=tuple(kept)))


def assigns_strategies(node: Node) -> bool:
    """Whether it is a pass in front of which functions come apart."""
    return isinstance(node, PassNode) and node.instance.assigns_strategies


def before_strategies(pipeline: PassNest) -> PassNest | None:
    """The passes up to where strategies are assigned; None where that is not part of the pipeline."""
    kept = [*takewhile(lambda node: not assigns_strategies(node), pipeline.elements)]
    return None if len(kept) == len(pipeline.elements) else replace(pipeline, elements=tuple(kept))


def of_function(pipeline: PassNest, name: str) -> PassNest:
    """A pipeline as it is for a function that is alone in a module."""

    def own(node: Node) -> Node:
        return replace(node, instance=node.instance.of_function(name)) if isinstance(node, PassNode) else node

    return replace(pipeline, elements=tuple(map(own, pipeline.elements)))


def compile_functions(module: ir.Module, how: How, sink: DiagnosticSink) -> list[Function]:
    """What a pipeline makes of a module's functions, whose schedules replace them there."""
    signatures = {s.name: s for s in (signature_of(op) for op in functions_of(module.operation))}
    Runner(how.pipeline, sink=sink).run(module)
    _check_results(module)
    chosen = recorded_device(module.operation) or how.device or DEFAULT_DEVICE
    make_schedules(module, chosen, sink)
    device, rate = load_device(chosen), how.kernel_macs_per_cycle
    schedules = schedules_in(module.operation)
    made = [compile_schedule(module, op, device, signatures.get(schedule_name(op)), rate) for op in schedules]
    return [_function(one) for one in made]


def _check_results(module: ir.Module) -> None:
    """A function without results can be scheduled, but nobody could tell what it does."""
    empty = [op for op in functions_of(module.operation) if not ir.FunctionType(op.opview.type).results]
    errors = (fail(op, f"@{op.opview.name.value} returns nothing", "return what it computes") for op in empty)
    problems = [diagnostic for error in errors for diagnostic in error.diagnostics]
    if problems:
        raise InputError(problems)


def _function(compiled: CompiledFunction) -> Function:
    """A function with what its schedule says of its ops, and with the strategy where one is the whole function's."""
    work = work_of(compiled.op)
    matmuls = [one for one in work if isinstance(one.sizes, MatmulSizes)]
    leading = matmuls[:1] or (work if len(work) == 1 else [])
    strategy = leading[0].strategy if leading else {}
    return Function(compiled, tuple(one.sizes for one in work), strategy)


def show_what_is_private(root: ir.Operation) -> None:
    """Makes functions public that nobody calls, where a module has none that are: exporters' modules are like that."""
    functions = [op for op in ops_of(root, "func.func") if not op.opview.is_external]
    if any(may_run(function) for function in functions):
        return
    called = {ir.FlatSymbolRefAttr(call.attributes["callee"]).value for call in ops_of(root, "func.call")}
    for function in functions:
        if function.opview.name.value not in called:
            function.attributes["sym_visibility"] = ir.StringAttr.get("public", root.context)
