"""The whole way from Python: `npuflow.compile(source, device="npu2").run()`.

compiled = npuflow.compile(Path("matmul.mlir"), "npuflow-stream-k{grid=2,2}", device="npu2")
report = compiled.run()                         # times it, verifies it, says what limits it
print(report.functions[0].time_us)
outputs = compiled["matmul"].execute(a, b)      # numpy arrays through the simulated array
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import npuflow.pipelines  # noqa: F401  (registers our passes and pipelines)
from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, expand
from npuflow.core.parsing import parse, parse_file
from npuflow.core.passes import fail
from npuflow.core.pipeline_text import Nest, parse_pipeline
from npuflow.core.runner import Instrumentation, PassRun, Runner
from npuflow.dialect.context import new_context
from npuflow.dialect.device import recorded_device
from npuflow.errors import Diagnostic, InputError, Severity, UsageError, unknown_name, with_hint
from npuflow.execute.arrays import Array, Signature, functions_of, signature_of
from npuflow.execute.data import random_arrays
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.verification import Judge, Reference, make_references
from npuflow.frontend.contraction import STRATEGY, contractions
from npuflow.report.bounds import MatmulSizes
from npuflow.report.measure import report_function
from npuflow.report.model import DeviceSummary, FunctionReport, Report, StrategyFields
from npuflow.report.timeline import Timeline, timeline_of
from npuflow.simulate.compiled import (
    CompiledFunction,
    execute_function,
    schedule_function,
    simulate_function,
)
from npuflow.simulate.results import Results
from npuflow.simulate.verify_function import Verified, judge
from npuflow.strategy.assign_strategy import AssignStrategy, problem_of
from npuflow.strategy.strategy import strategy_fields
from npuflow.target import DEFAULT_DEVICE, Device, load_device

DEFAULT_PIPELINE = "npuflow-stream-k"

# A functional run takes about two seconds per 2^30 multiply-accumulates.
VERIFIED_MACS = 1 << 28

OnStep = Callable[[str], None]


@dataclass(frozen=True)
class Function:
    """One compiled function, to be timed or executed."""

    compiled: CompiledFunction
    sizes: tuple[MatmulSizes, ...]
    strategy: StrategyFields

    @property
    def name(self) -> str:
        return self.compiled.name

    @property
    def macs(self) -> int | None:
        """The multiply-accumulates that the function asks for; None where its matmuls are not known."""
        return sum(one.macs for one in self.sizes) if self.sizes else None

    def simulate(self, *, trace: bool = False) -> Results:
        """Times the function; no data moves."""
        return simulate_function(self.compiled, trace=trace)

    def execute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function's results on these arrays, through the simulated array."""
        return execute_function(self.compiled, inputs).outputs


@dataclass(frozen=True)
class Compiled:
    """A module compiled for a device; `given` is its text as it came, `module` what the pipeline made of it."""

    device: Device
    pipeline: str
    functions: tuple[Function, ...]
    given: str = field(repr=False)
    module: ir.Module = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> Function:
        for function in self.functions:
            if function.name == name:
                return function
        raise UsageError(unknown_name("function", name, [function.name for function in self.functions]))

    def run(self, *, verify: bool | None = None, seed: int = 0, on_step: OnStep = lambda _: None) -> Report:
        """Times every function, finds what limits it, and compares its functional run with IREE's on random data.

        `verify` left out: only functions of at most VERIFIED_MACS are verified. `on_step` is told what begins.
        """
        with ThreadPoolExecutor(1) as pool:
            references = {
                f.name: pool.submit(_reference, self.given, f.name, seed)
                for f in self.functions
                if _is_verified(f, verify)
            }
            reports = [self._timed(function, on_step) for function in self.functions]
            pairs = zip(self.functions, reports)
            checks = _Checks(references, verify, seed, on_step)
            checked = [replace(report, verified=checks.verified(function)) for function, report in pairs]
        device = self.device
        summary = DeviceSummary(device.name, device.description, device.rows, device.columns, device.clock_hz)
        return Report(summary, self.pipeline, tuple(checked))

    def timelines(self, most_events: int) -> list[tuple[str, Timeline]]:
        """Every function's name and timeline, cut after `most_events` events each."""
        return [(function.name, timeline_of(function.compiled, most_events)) for function in self.functions]

    def timed_timelines(self, most_events: int) -> dict[str, tuple[Results, Timeline]]:
        """What a page is drawn from, by function."""
        return {f.name: (f.simulate(), timeline_of(f.compiled, most_events)) for f in self.functions}

    def _timed(self, function: Function, on_step: OnStep) -> FunctionReport:
        on_step(f"simulating @{function.name}")
        results = function.simulate()
        on_step(f"simulating @{function.name} without each of its costs")
        unknown = Verified.skipped("not run yet")
        return report_function(function.compiled, results, unknown, function.sizes, function.strategy)


def compile(  # noqa: A001  (the package's name qualifies it)
    source: str | bytes | Path | ir.Module,
    pipeline: str = DEFAULT_PIPELINE,
    *,
    device: str | None = None,
    columns: int | None = None,
    kernel_macs_per_cycle: float | None = None,
    sink: DiagnosticSink | None = None,
) -> Compiled:
    """Compiles MLIR text, bytecode, a file (a Path) or a module, which stays as it is.

    `device` is a name or a TOML file, `columns` how many of its columns to use. `kernel_macs_per_cycle` replaces the
    model of the matmul kernels by a rate that was measured, calls included. `sink` receives remarks and warnings.
    """
    if kernel_macs_per_cycle is not None and not 0 < kernel_macs_per_cycle < float("inf"):
        raise UsageError(with_hint(f"a kernel of {kernel_macs_per_cycle} MAC/cycle", "give a positive number"))
    sink = sink or DiagnosticSink()
    module = _parsed(source, sink)
    given = module.operation.get_asm(enable_debug_info=True)
    signatures = {s.name: s for s in map(signature_of, functions_of(module.operation))}
    if not signatures:
        raise fail(module.operation, "there is no public function with a body", "add one, or make one public")
    chosen = _with_columns(device or recorded_device(module.operation), columns)
    nest = expand(parse_pipeline(pipeline), Expansion(device=chosen))
    watch = _Watch()
    Runner(nest, instrumentations=(watch,), sink=sink).run(module)
    target = load_device(recorded_device(module.operation) or chosen or DEFAULT_DEVICE)
    scheduled = _schedule_all(module, signatures, target, kernel_macs_per_cycle)
    functions = (Function(c, watch.sizes.get(c.name, ()), watch.strategies.get(c.name, {})) for c in scheduled)
    return Compiled(target, _text(pipeline, nest), tuple(functions), given, module)


def _text(pipeline: str, expanded: Nest) -> str:
    return pipeline.strip() or str(expanded)


def _parsed(source: str | bytes | Path | ir.Module, sink: DiagnosticSink) -> ir.Module:
    if isinstance(source, Path):
        return parse_file(str(source), new_context(), sink)
    if isinstance(source, (str, bytes)):
        return parse(source, new_context(), sink.source_name, sink)
    return parse(source.operation.get_asm(enable_debug_info=True), new_context(), sink.source_name, sink)


def _with_columns(device: str | None, columns: int | None) -> str | None:
    if columns is None:
        return device
    name = device or DEFAULT_DEVICE
    whole = load_device(name)
    whole.check_grid(1, columns)
    if ":" not in name:
        return f"{name}:{columns}"
    return f"{name.rpartition(':')[0]}:{whole.rows}x{columns}"


@dataclass
class _Watch(Instrumentation):
    """Notes what every function multiplies, and how, as soon as a strategy is assigned."""

    sizes: dict[str, tuple[MatmulSizes, ...]] = field(default_factory=dict)
    strategies: dict[str, StrategyFields] = field(default_factory=dict)

    def after_pass(self, run: PassRun) -> None:
        """Looks at the IR between passes, where matmuls are whole and have their strategies."""
        if run.name != AssignStrategy.name:
            return
        for function in functions_of(run.op):
            found = contractions(function)
            name = str(function.opview.name.value)
            problems = map(problem_of, found)
            self.sizes[name] = tuple(
                MatmulSizes(p.m, p.n, p.k, p.batch, p.lhs_bytes, p.rhs_bytes, p.acc_bytes, p.result_bytes)
                for p in problems
            )
            if found:
                self.strategies[name] = strategy_fields(found[0].op.attributes[STRATEGY])


def _schedule_all(
    module: ir.Module, signatures: dict[str, Signature], device: Device, kernel_macs_per_cycle: float | None
) -> list[CompiledFunction]:
    """Every public function's program; raises all functions' errors at once."""
    compiled: list[CompiledFunction] = []
    problems: list[Diagnostic] = []
    for function in functions_of(module.operation):
        signature = signatures[str(function.opview.name.value)]
        try:
            compiled.append(schedule_function(module, function, signature, device, kernel_macs_per_cycle))
        except InputError as error:
            problems += error.diagnostics
    if problems:
        raise InputError(problems)
    return compiled


# Verification


def _is_verified(function: Function, verify: bool | None) -> bool:
    if verify is not None:
        return verify
    return (function.macs or 0) <= VERIFIED_MACS


def _reference(given: str, function: str, seed: int) -> Reference:
    """What IREE computes; in a context of its own, since it runs beside other work."""
    try:
        (reference,) = make_references(parse(given, new_context()).operation, function, seed, Judge.IREE)
    except ImportError as error:
        hint = "pip install iree-base-compiler iree-base-runtime"
        message = with_hint(f"@{function} cannot be compared with IREE: {error}", hint)
        raise NotExecutableError(Diagnostic(Severity.ERROR, message)) from error
    return reference


@dataclass(frozen=True)
class _Checks:
    """How functions are compared; `references` are being computed meanwhile, by function."""

    references: Mapping[str, Future[Reference]]
    verify: bool | None
    seed: int
    on_step: OnStep

    def verified(self, function: Function) -> Verified:
        """Executes the function while its reference may still be under way, and compares."""
        if function.name not in self.references:
            too_many = f"more than {VERIFIED_MACS} multiply-accumulates, and not asked for"
            return Verified.skipped("switched off" if self.verify is False else too_many)
        self.on_step(f"executing @{function.name}")
        inputs = random_arrays(function.compiled.signature.inputs, self.seed)
        execution = execute_function(function.compiled, inputs)
        self.on_step(f"computing @{function.name} with IREE")
        try:
            return judge(execution, self.references[function.name].result())
        except NotExecutableError as error:
            if self.verify:
                raise
            return Verified.skipped("; ".join(diagnostic.message for diagnostic in error.diagnostics))
