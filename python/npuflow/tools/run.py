"""`npuflow run`: compiles, times and verifies a file's functions on a simulated device, and says what limits them."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from npuflow.errors import Diagnostic, ExitCode, InputError, Severity, UsageError, unknown_name, with_hint
from npuflow.tools.flags import Flag, build, flag, flags_of, parse_flags
from npuflow.tools.messages import print_messages
from npuflow.tools.progress import Progress

if TYPE_CHECKING:
    from npuflow.bindings import ir
    from npuflow.compiler import Compiled
    from npuflow.core.diagnostics import DiagnosticSink
    from npuflow.report.model import Report
    from npuflow.simulate.verify_function import Verified

STDIN = "<stdin>"
_SPLITTER = "npuflow-split-functions"
_PIPELINE = "npuflow-stream-k"
_COLUMN = 34
_WIDTH = 120


@dataclass(frozen=True)
class RunFlags:
    """Every flag with its default."""

    device: str | None = flag(
        None, "the device, or its file (default: the module's, else npu1)", group="", metavar="name|file"
    )
    columns: int | None = flag(None, "use only so many of the device's columns", group="", metavar="n")
    pipeline: str | None = flag(None, "how to compile (default: npuflow-stream-k)", group="", metavar="text")
    grid: str | None = flag(None, "rows,columns of cores", group="", metavar="r,c")
    tile_l2: str | None = flag(None, "sizes of a block in L2", group="", metavar="m,n,k")
    tile_l1: str | None = flag(None, "sizes of a core's tile in L1", group="", metavar="m,n,k")
    pack: str | None = flag(None, "sizes of the matmul instruction", group="", metavar="m,n,k")
    depth_l2: str | None = flag(None, "slots of each operand's buffer in L2", group="", metavar="n")
    depth_l1: str | None = flag(None, "slots of each operand's buffer in L1", group="", metavar="n")
    depth_lhs: str | None = flag(None, "slots of the left operand's buffers", group="", metavar="l2,l1")
    depth_rhs: str | None = flag(None, "slots of the right operand's buffers", group="", metavar="l2,l1")
    depth_result: str | None = flag(None, "slots of the result's buffers", group="", metavar="n")
    depth_tail: str | None = flag(None, "slots of what the tail reads beside the sum", group="", metavar="n")
    kernel_macs_per_cycle: str | None = flag(
        None, "time matmul kernels by this rate instead of the model, calls included", group="", metavar="x"
    )
    specialize: tuple[str, ...] = flag(
        (), "first give arguments of dynamic shape a static one, as %arg0=128x256", group="", metavar="shape,..."
    )
    split: bool = flag(False, "run every function of several groups of ops as a sequence of parts", group="")
    no_split: bool = flag(False, "refuse what doesn't fit as a whole (default: split that, and only that)", group="")
    details: bool = flag(False, "print the parts of sequences each on a screen of its own as well", group="")
    verify: bool = flag(False, "compare with IREE on random data, however large the problem is", group="")
    no_verify: bool = flag(False, "compare nothing (default: compare up to 2^28 multiply-accumulates)", group="")
    reference: str | None = flag(
        None, "for a schedule: the program that it must agree with, by its function's name", group="", metavar="file"
    )
    seed: int = flag(0, "which random data (default: 0)", group="", metavar="n")
    json: str | None = flag(None, "write the report as JSON", group="", metavar="file")
    trace: str | None = flag(None, "write a timeline that ui.perfetto.dev loads", group="", metavar="file")
    html: str | None = flag(
        None, "write the report as a page with timeline, array and memories", group="", metavar="file"
    )
    load: tuple[str, ...] = flag((), "run a Python file that registers passes", group="", metavar="plugin.py")
    help: bool = flag(False, "print this text", group="")


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if everything that was compared is right."""
    flags_known = flags_of(RunFlags)
    parsed = parse_flags(arguments, flags_known)
    if parsed.others:
        names = [f"--{known.name}" for known in flags_known]
        raise UsageError(unknown_name("flag of npuflow run", f"--{parsed.others[0].name}", names))
    flags = build(RunFlags, parsed)
    if flags.help:
        print(help_text(flags_known))
        return ExitCode.OK
    if len(parsed.positional) != 1:
        what = f"expected one input file, got {len(parsed.positional)}"
        raise UsageError(with_hint(what, "npuflow run matmul.mlir --device=npu2"))
    for name in ("verify", "split"):
        if getattr(flags, name) and getattr(flags, f"no_{name}"):
            raise UsageError(with_hint(f"--{name} and --no-{name} exclude each other", "give one of them"))
    return _run(parsed.positional[0], flags)


def help_text(flags: Sequence[Flag]) -> str:
    lines = [
        "npuflow run: how long a program or schedule takes on a device, whether it is right, and what limits it",
        "",
    ]
    lines += ["usage: npuflow run <file.mlir, or - for stdin> [--device=<name>] [flags]", ""]
    for known in flags:
        left = f"{f'  {known.spelling}':<{_COLUMN}}"
        lines += textwrap.wrap(known.help, _WIDTH, initial_indent=left, subsequent_indent=" " * _COLUMN)
    lines += ["", "Exit codes: 0 done, 1 refused or wrong results, 2 usage, 3 a bug of npuflow."]
    return "\n".join(lines)


def _run(path: str, flags: RunFlags) -> ExitCode:
    from npuflow.report.text import text_of

    with Progress() as progress:
        progress.step("compiling")
        compiled = _compile(path, flags)
        verify = _either(flags.verify, flags.no_verify)
        reference = Path(flags.reference) if flags.reference is not None else None
        report = compiled.run(verify=verify, seed=flags.seed, reference=reference, on_step=progress.step)
        progress.done()
        print(text_of(report, details=flags.details), flush=True)
        problems = _problems(report)
        if not problems:
            _write_files(compiled, report, flags, progress)
            return ExitCode.OK
    print_messages(problems)
    return ExitCode.INPUT


def _either(yes: bool, no: bool) -> bool | None:
    return True if yes else False if no else None


def _compile(path: str, flags: RunFlags) -> Compiled:
    from npuflow.compiler import compile as compile_source
    from npuflow.core.diagnostics import DiagnosticSink
    from npuflow.core.registry import load_entry_points, load_plugin

    load_entry_points()
    for plugin in flags.load:
        load_plugin(plugin)
    is_stdin = path == "-"
    if not is_stdin and Path(path).is_dir():
        raise InputError(with_hint(f"'{path}' is a directory", "give the path of an .mlir file, or - for stdin"))
    source = sys.stdin.buffer.read() if is_stdin else Path(path)
    sink = DiagnosticSink(source_name=STDIN) if is_stdin else DiagnosticSink()
    compiled = compile_source(
        _specialized(source, flags.specialize, sink) if flags.specialize else source,
        pipeline_text(flags),
        device=flags.device,
        columns=flags.columns,
        kernel_macs_per_cycle=_rate(flags.kernel_macs_per_cycle),
        split=_either(flags.split, flags.no_split),
        sink=sink,
    )
    unused = [f"--{name.replace('_', '-')}" for name in _OF_PIPELINES if getattr(flags, name) is not None]
    if unused and not compiled.pipeline:
        what = f"{', '.join(unused)} would change nothing: '{path}' holds schedules, which are run as they are"
        raise UsageError(with_hint(what, "leave them out, or give the program that the schedule was made of"))
    return compiled


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


_DEPTHS = (field.name for field in fields(RunFlags) if field.name.startswith("depth_"))
_OPTIONS = ("grid", "tile_l2", "tile_l1", "pack", *_DEPTHS)
_OF_PIPELINES = ("pipeline", *_OPTIONS)


def pipeline_text(flags: RunFlags) -> str:
    """The pipeline with the options that have flags of their own."""
    given = {name.replace("_", "-"): getattr(flags, name) for name in _OPTIONS}
    options = " ".join(f"{key}={value}" for key, value in given.items() if value is not None)
    pipeline = flags.pipeline if flags.pipeline is not None else _PIPELINE
    if not options:
        return pipeline
    name, brace, rest = pipeline.partition("{")
    if not brace:
        return f"{name}{{{options}}}"
    return f"{name}{{{rest.removesuffix('}')} {options}}}"


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        what = f"flag '--kernel-macs-per-cycle' cannot be '{text}'"
        raise UsageError(with_hint(what, "give a number, as 180.5")) from None


def _problems(report: Report) -> list[Diagnostic]:
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


def _write_files(compiled: Compiled, report: Report, flags: RunFlags, progress: Progress) -> None:
    """Makes every file before the first is written, so that a fault leaves none behind."""
    from npuflow.core.output import write_atomically
    from npuflow.report.json_report import json_of

    made: list[tuple[str, str]] = []
    if flags.json is not None:
        made.append((flags.json, json_of(report)))
    if flags.trace is not None:
        from npuflow.report.trace import MOST_EVENTS, trace_json

        progress.step("tracing")
        made.append((flags.trace, trace_json(compiled.timelines(MOST_EVENTS))))
    if flags.html is not None:
        from npuflow.report.html import MOST_EVENTS as MOST_DRAWN
        from npuflow.report.html import html_of

        progress.step("drawing")
        made.append((flags.html, html_of(report, compiled.timed_timelines(MOST_DRAWN))))
    for path, text in made:
        write_atomically(path, text.encode())
