"""Functions through a pipeline, to schedules that can be timed and executed."""

from __future__ import annotations

from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.compiler.compiled import Function, StrategyFields
from npuflow.compiler.compiled_function import CompiledFunction, compile_schedule, schedule_function
from npuflow.compiler.given import check_made, schedule_name, schedules_in
from npuflow.compiler.sizes import BundleSizes, MatmulSizes, OpSizes
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.pipeline_text import Nest
from npuflow.core.runner import Instrumentation, PassRun, Runner
from npuflow.dialect.device import recorded_device
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import Signature, functions_of, signature_of
from npuflow.ops.bundle import marked_bundles
from npuflow.ops.contraction import STRATEGY, static_matmuls
from npuflow.strategy.assign_bundles import AssignBundles
from npuflow.strategy.assign_strategy import AssignStrategy
from npuflow.strategy.bundle_strategy import said_of
from npuflow.strategy.describe_bundle import macs_of, needed_bytes
from npuflow.strategy.describe_matmul import problem_of
from npuflow.strategy.strategy import strategy_fields
from npuflow.target import DEFAULT_DEVICE, Device, load_device


@dataclass(frozen=True)
class How:
    """How functions are compiled: the expanded pipeline, what for, and the rate of matmul kernels if it is known."""

    pipeline: Nest
    device: str | None
    kernel_macs_per_cycle: float | None


def compile_functions(module: ir.Module, how: How, sink: DiagnosticSink) -> list[Function]:
    """What a pipeline makes of a module's functions, whose schedules replace them there."""
    signatures = {s.name: s for s in (signature_of(op) for op in functions_of(module.operation))}
    watch = _Watch()
    Runner(how.pipeline, instrumentations=(watch,), sink=sink).run(module)
    chosen = recorded_device(module.operation) or how.device
    scheduled = _schedule_all(module, signatures, load_device(chosen or DEFAULT_DEVICE), how.kernel_macs_per_cycle)
    check_made(module, chosen, sink)
    return [Function(c, watch.sizes.get(c.name, ()), watch.strategies.get(c.name, {})) for c in scheduled]


@dataclass
class _Watch(Instrumentation):
    """Notes what every function computes, and how, as soon as strategies are assigned."""

    sizes: dict[str, tuple[OpSizes, ...]] = field(default_factory=dict)
    strategies: dict[str, StrategyFields] = field(default_factory=dict)

    def after_pass(self, run: PassRun) -> None:
        """Looks at the IR between passes, where ops are whole and have their strategies."""
        if run.name == AssignStrategy.name:
            for function in functions_of(run.op):
                self._note_matmuls(function, str(function.opview.name.value))
        if run.name == AssignBundles.name:
            for function in functions_of(run.op):
                self._note_bundles(function, str(function.opview.name.value))

    def _note_matmuls(self, function: ir.Operation, name: str) -> None:
        found = static_matmuls(function)
        problems = map(problem_of, found)
        self.sizes[name] = tuple(
            MatmulSizes(p.m, p.n, p.k, p.batch, p.lhs_bytes, p.rhs_bytes, p.acc_bytes, p.result_bytes) for p in problems
        )
        if found:
            self.strategies[name] = strategy_fields(found[0].op.attributes[STRATEGY])

    def _note_bundles(self, function: ir.Operation, name: str) -> None:
        bundles = marked_bundles(function)
        sizes = (BundleSizes(macs_of(bundle), needed_bytes(bundle)) for bundle in bundles)
        self.sizes[name] = (*self.sizes.get(name, ()), *sizes)
        if len(bundles) == 1 and name not in self.strategies:
            self.strategies[name] = said_of(bundles[0].root)


def _schedule_all(
    module: ir.Module, signatures: dict[str, Signature], device: Device, kernel_macs_per_cycle: float | None
) -> list[CompiledFunction]:
    """Every public function's program; raises all functions' errors at once."""
    rate = kernel_macs_per_cycle
    there = schedules_in(module.operation)  # of a pipeline that went all the way
    compiled = [compile_schedule(module, op, device, signatures.get(schedule_name(op)), rate) for op in there]
    problems: list[Diagnostic] = []
    for function in list(functions_of(module.operation)):
        signature = signatures[str(function.opview.name.value)]
        try:
            compiled.append(schedule_function(module, function, signature, device, rate))
        except InputError as error:
            problems += error.diagnostics
    if problems:
        raise InputError(problems)
    return compiled
