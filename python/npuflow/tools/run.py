"""`npuflow run`: compiles, times and verifies a file's functions on a simulated device, and says what limits them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npuflow.errors import Diagnostic, ExitCode, Severity, UsageError, with_hint
from npuflow.report.window import WHOLE, window_from
from npuflow.tools.colours import report_for
from npuflow.tools.command_line import the_only
from npuflow.tools.compile_flags import processes
from npuflow.tools.compute_type_flags import calibration_of
from npuflow.tools.crash import kept
from npuflow.tools.limit_flags import limits_of
from npuflow.tools.messages import print_messages
from npuflow.tools.outputs import check_files, screen_of, write_output
from npuflow.tools.progress import Progress
from npuflow.tools.run_flags import COMMAND_LINE, OF_MATMULS, OF_PIPELINES, RunFlags, pipeline_text, rate_of

if TYPE_CHECKING:
    from npuflow.api.compiled import Compiled
    from npuflow.api.shown import RunReport
    from npuflow.bindings import ir
    from npuflow.compiler.references import References
    from npuflow.compiler.verify_function import Verified
    from npuflow.core.diagnostics import DiagnosticSink

STDIN = "<stdin>"
_SPLITTER = "npuflow-split-functions"


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if everything that was compared is right."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    path = the_only(inputs, "input file", "npuflow run matmul.mlir --device=npu2")
    for name in ("verify", "split"):
        if getattr(flags, name) and getattr(flags, f"no_{name}"):
            raise UsageError(with_hint(f"--{name} and --no-{name} exclude each other", "give one of them"))
    if flags.window is not None:
        window_from(flags.window)
        if flags.html is None:
            raise UsageError(with_hint("--window is for the page, and there is none", "add --html=FILE"))
    check_files(flags, inputs)
    source = sys.stdin.buffer.read() if path == "-" else Path(path)
    with kept(["npuflow", "run", *arguments], path, source):
        return _run(path, source, flags)


def _run(path: str, source: bytes | Path, flags: RunFlags) -> ExitCode:
    limits = limits_of(flags.time_limit, flags.memory_limit)
    from npuflow.api.compiled import references_by
    from npuflow.execute.limits import limited

    jobs, verify = processes(flags.jobs), _either(flags.verify, flags.no_verify)
    with Progress() as progress, limited(limits), references_by(flags.oracle, flags.seed, jobs) as references:
        progress.step("compiling")
        compiled = _compile(path, source, flags, None if verify is False else references)
        report = compiled.run_beside(
            references, verify=verify, reference=flags.reference, jobs=jobs, on_step=progress.step
        )
        progress.done()
        screen = screen_of(flags)
        print(report_for(screen, report.text(details=flags.details)), file=screen, flush=True)
        problems = _problems(report)
        if not problems:
            _write_files(compiled, report, flags, progress)
            return ExitCode.OK
    print_messages(problems)
    return ExitCode.INPUT


def _either(yes: bool, no: bool) -> bool | None:
    return True if yes else False if no else None


def _compile(path: str, source: bytes | Path, flags: RunFlags, references: References | None) -> Compiled:
    """What is compiled; `references` are begun with meanwhile."""
    from npuflow.api.entry import compile as compile_source
    from npuflow.core.diagnostics import DiagnosticSink
    from npuflow.core.registry import load_entry_points, load_plugin

    load_entry_points()
    for plugin in flags.load:
        load_plugin(plugin)
    sink = DiagnosticSink() if isinstance(source, Path) else DiagnosticSink(source_name=STDIN)
    compiled = compile_source(
        _specialized(source, flags.specialize, sink) if flags.specialize else source,
        pipeline_text(flags),
        device=flags.device,
        columns=flags.columns,
        kernel_macs_per_cycle=rate_of(flags.kernel_macs_per_cycle),
        split=_either(flags.split, flags.no_split),
        disable=flags.disable,
        compute_type=flags.compute_type,
        calibration=calibration_of(flags.calibration, flags.compute_type),
        jobs=processes(flags.jobs),
        sink=sink,
        on_given=references.begin_ahead if references is not None else lambda _: None,
    )
    _refuse_unused(path, flags, compiled)
    return compiled


def _refuse_unused(path: str, flags: RunFlags, compiled: Compiled) -> None:
    """Refuses options that what was compiled has no use for."""
    from npuflow.bounds.sizes import MatmulSizes

    given = [name for name in OF_PIPELINES if getattr(flags, name) is not None]
    why = "holds schedules, which are run as they are"
    hint = "leave them out, or give the program that the schedule was made of"
    if compiled.pipeline:
        has_matmul = any(isinstance(sizes, MatmulSizes) for one in compiled.functions for sizes in one.sizes)
        given = [name for name in given if name in OF_MATMULS and not has_matmul]
        why, hint = "has no matmul that is compiled as one", "leave them out, or say it by npu.strategy on an op"
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(with_hint(f"{names} would change nothing: '{path}' {why}", hint))


def _specialized(source: bytes | Path, shapes: tuple[str, ...], sink: DiagnosticSink) -> ir.Module:
    """The program with static shapes; it is this one that is compiled, and compared with IREE."""
    from npuflow.core.parsing import parse, parse_file
    from npuflow.core.pipeline_text import parse_pipeline
    from npuflow.core.runner import Runner
    from npuflow.dialect.context import new_context
    from npuflow.frontend.specialize_shapes import SpecializeShapes

    context = new_context()
    if isinstance(source, Path):
        module = parse_file(str(source), context, sink)
    else:
        module = parse(source, context, source_name=STDIN, sink=sink)
    Runner(parse_pipeline(str(SpecializeShapes(shapes))), sink=sink).run(module)
    return module


def _problems(report: RunReport) -> list[Diagnostic]:
    """What is wrong with the results, function by function."""
    problems: list[Diagnostic] = []
    for function in report.functions:
        hint = "npuflow verify --each names the pass, if one of the pipeline's makes it wrong"
        if function.is_given:
            hint = "look at kernels, offsets, sizes and slots, and with --trace at the order of steps"
        problems += _problems_of(f"@{function.name}'s schedule", f"@{function.name}", function.verified, hint)
    for sequence in report.sequences:
        hint = f"npuflow-opt --{_SPLITTER} prints the parts: run them one by one"
        problems += _problems_of(f"the sequence of @{sequence.name}", f"@{sequence.name}", sequence.verified, hint)
    return problems


def _problems_of(what: str, name: str, verified: Verified, hint: str) -> list[Diagnostic]:
    if verified.status.value != "wrong":
        return []
    problems = [Diagnostic(Severity.ERROR, f"{name}: {hazard}") for hazard in verified.hazards]
    if not verified.is_close:
        text = f"{what} computes something else: {verified.message}"
        problems.append(Diagnostic(Severity.ERROR, with_hint(text, hint)))
    return problems


def _write_files(compiled: Compiled, report: RunReport, flags: RunFlags, progress: Progress) -> None:
    """Makes every file before the first is written, so that a fault leaves none behind."""
    made: list[tuple[str, str]] = []
    if flags.json is not None:
        made.append((flags.json, report.json()))
    if flags.trace is not None:
        from npuflow.report.trace import MOST_EVENTS, trace_json

        progress.step("tracing")
        made.append((flags.trace, trace_json(compiled.timelines(MOST_EVENTS))))
    if flags.html is not None:
        progress.step("drawing")
        made.append((flags.html, report.html(window=flags.window or WHOLE)))
    for path, text in made:
        write_output(path, text.encode())
