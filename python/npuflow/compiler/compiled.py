"""The whole way from Python: `npuflow.compile(source, device="npu2").run()`.

compiled = npuflow.compile(Path("matmul.mlir"), "npuflow-stream-k{grid=2,2}", device="npu2")
report = compiled.run()                         # times it, verifies it, says what limits it
print(report.functions[0].time_us)
outputs = compiled["matmul"].execute(a, b)      # numpy arrays through the simulated array

A schedule, by hand or from npuflow-opt, is taken as it is; for a function to be compiled, its schedule is made first.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
from npuflow.errors import Diagnostic, InputError, UsageError, unknown_name, with_hint
from npuflow.execute.arrays import Array, Signature, functions_of, signature_of
from npuflow.frontend.contraction import STRATEGY, static_matmuls
from npuflow.report.bounds import MatmulSizes
from npuflow.report.losses import executed_macs
from npuflow.report.measure import report_function
from npuflow.report.model import DeviceSummary, FunctionReport, Report, StrategyFields
from npuflow.report.timeline import Timeline, timeline_of
from npuflow.simulate.checks import Checks, OnStep, Subject, reference_text
from npuflow.simulate.compiled import (
    CompiledFunction,
    compile_schedule,
    execute_function,
    schedule_function,
    simulate_function,
)
from npuflow.simulate.given import (
    check_given,
    check_made,
    device_of,
    move,
    schedule_name,
    schedules_in,
    take_apart,
)
from npuflow.simulate.results import Results
from npuflow.simulate.verify_function import Verified
from npuflow.strategy.assign_strategy import AssignStrategy, problem_of
from npuflow.strategy.strategy import strategy_fields
from npuflow.target import DEFAULT_DEVICE, Device, load_device

DEFAULT_PIPELINE = "npuflow-stream-k"


@dataclass(frozen=True)
class Function:
    """One compiled function, to be timed or executed; `is_given` says that it came as a schedule."""

    compiled: CompiledFunction
    sizes: tuple[MatmulSizes, ...]
    strategy: StrategyFields
    is_given: bool = False

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
    """A module compiled for a device: `given` is the text of its functions as they came, `module` has all schedules.

    `pipeline` is empty where there was nothing to compile.
    """

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

    def run(
        self,
        *,
        verify: bool | None = None,
        seed: int = 0,
        reference: Path | None = None,
        on_step: OnStep = lambda _: None,
    ) -> Report:
        """Times every function, finds what limits it, and compares its functional run with IREE's on random data.

        `verify` left out: only what is small is executed. `reference` is a file with functions that say what those
        that came as schedules must compute; without it they are executed and looked at for races and the like.
        `on_step` is told what begins.
        """
        with ThreadPoolExecutor(1) as pool:
            subjects = self._subjects(reference)
            checks = Checks(subjects, verify, seed, pool, on_step)
            reports = [self._timed(function, on_step) for function in self.functions]
            checked = [replace(r, verified=checks.of(subject)) for r, subject in zip(reports, subjects)]
        device = self.device
        summary = DeviceSummary(device.name, device.description, device.rows, device.columns, device.clock_hz)
        return Report(summary, self.pipeline, tuple(checked))

    def _subjects(self, reference: Path | None) -> list[Subject]:
        given = [function.compiled.signature for function in self.functions if function.is_given]
        if reference is not None and not given:
            what = "a reference is for schedules, and there is none in the input"
            raise UsageError(with_hint(what, "leave it out: what is compiled is compared with what it was"))
        text = reference_text(reference, given) if reference is not None else None
        return [
            Subject(f.compiled, f.macs or executed_macs(f.compiled), text if f.is_given else self.given)
            for f in self.functions
        ]

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
        report = report_function(function.compiled, results, unknown, function.sizes, function.strategy)
        return replace(report, is_given=function.is_given)


def compile(  # noqa: A001  (the package's name qualifies it)
    source: str | bytes | Path | ir.Module,
    pipeline: str = DEFAULT_PIPELINE,
    *,
    device: str | None = None,
    columns: int | None = None,
    kernel_macs_per_cycle: float | None = None,
    sink: DiagnosticSink | None = None,
) -> Compiled:
    """Compiles MLIR text, bytecode, a file (a Path) or a module, which stays as it is; schedules are only checked.

    `device` is a name or a TOML file, `columns` how many of its columns to use. `kernel_macs_per_cycle` replaces the
    times of the matmul kernels by a rate that was measured, calls included. `sink` receives remarks and warnings.
    """
    rate = kernel_macs_per_cycle
    if rate is not None and not 0 < rate < float("inf"):
        raise UsageError(with_hint(f"a kernel of {rate} MAC/cycle", "give a positive number"))
    sink = sink or DiagnosticSink()
    module = _parsed(source, sink)
    try:
        return _compiled(module, pipeline, device, columns, rate, sink)
    except InputError as error:
        raise InputError([sink.named(diagnostic) for diagnostic in error.diagnostics]) from error


def _compiled(
    module: ir.Module, pipeline: str, device: str | None, columns: int | None, rate: float | None, sink: DiagnosticSink
) -> Compiled:
    root = module.operation
    found = take_apart(module)
    if not found.names:
        raise fail(root, "there is no public function with a body", "add one, or make one public")
    schedules = schedules_in(found.schedules.operation) if found.schedules is not None else []
    asked = device or recorded_device(root) if columns is not None else device
    chosen = device_of(schedules, _with_columns(asked, columns)) or recorded_device(root)
    functions: list[Function] = []
    if found.schedules is not None:
        check_given(found.schedules, chosen, sink)
        target = load_device(chosen or DEFAULT_DEVICE)
        made = [compile_schedule(module, op, target, kernel_macs_per_cycle=rate) for op in schedules]
        functions += [Function(one, (), {}, is_given=True) for one in made]
    text, given = "", root.get_asm(enable_debug_info=True)
    if found.functions is not None:
        text, compiled = _compile_functions(module, pipeline, chosen, rate, sink)
        functions += compiled
        if found.schedules is not None:
            move(schedules, module)
    functions.sort(key=lambda function: found.names.index(function.name))
    return Compiled(functions[0].compiled.device, text, tuple(functions), given, module)


def _compile_functions(
    module: ir.Module, pipeline: str, device: str | None, kernel_macs_per_cycle: float | None, sink: DiagnosticSink
) -> tuple[str, list[Function]]:
    """What a pipeline makes of a module's functions, and the text of that pipeline."""
    signatures = {s.name: s for s in map(signature_of, functions_of(module.operation))}
    nest = expand(parse_pipeline(pipeline), Expansion(device=device))
    watch = _Watch()
    Runner(nest, instrumentations=(watch,), sink=sink).run(module)
    chosen = recorded_device(module.operation) or device
    scheduled = _schedule_all(module, signatures, load_device(chosen or DEFAULT_DEVICE), kernel_macs_per_cycle)
    check_made(module, chosen, sink)
    functions = [Function(c, watch.sizes.get(c.name, ()), watch.strategies.get(c.name, {})) for c in scheduled]
    return _text(pipeline, nest), functions


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
            found = static_matmuls(function)
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
