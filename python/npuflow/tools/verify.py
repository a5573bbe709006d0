"""`npuflow verify`: runs a pipeline and compares what its result computes with what the input computes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from npuflow.errors import Diagnostic, ExitCode, Severity, with_hint
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.crash import kept
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.limit_flags import limits_of, memory_limit_flag, time_limit_flag
from npuflow.tools.messages import print_messages
from npuflow.tools.outputs import check_files, screen_of, write_output

if TYPE_CHECKING:
    from npuflow.bindings import ir
    from npuflow.core.diagnostics import DiagnosticSink
    from npuflow.execute.verify_pipeline import PassCheck, Request, Verdict

STDIN = "<stdin>"
_PASS_WIDTH = 40


@dataclass(frozen=True)
class VerifyFlags:
    """Every flag with its default."""

    pipeline: str = flag("", "what to run; without it the input itself is checked", group="", metavar="text")
    each: bool = flag(False, "check after every pass that changes something, and name the first wrong one", group="")
    function: str = flag("", "the function to run; default: every public one", group="", metavar="name")
    seed: int = flag(0, "which random data (default: 0)", group="", metavar="n")
    oracle: str = flag(
        "iree",
        "what computes the expected results (default: iree); jit takes functions of memrefs as well",
        group="",
        choices=("iree", "jit"),
    )
    device: str | None = flag(
        None,
        "the 'device' option of every pass and pipeline that got none",
        group="",
        metavar="name|file",
        file=FileUse.READ,
    )
    stop_after: str | None = flag(None, "stop after this stage of a named pipeline", group="", metavar="stage")
    load: tuple[str, ...] = flag(
        (), "run a Python file that registers passes", group="", metavar="plugin.py", file=FileUse.READ
    )
    json: str | None = flag(
        None,
        "write every check to a file as well, or with '-' to stdout",
        group="",
        metavar="file",
        file=FileUse.WRITTEN,
    )
    time_limit: int = time_limit_flag()
    memory_limit: str | None = memory_limit_flag()
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow verify",
    owner=VerifyFlags,
    summary="runs a pipeline on random data and compares with what the input computes",
    usage="npuflow verify <file.mlir, or - for stdin> [--pipeline=<text>] [flags]",
    notes=("Exit codes: 0 right, 1 wrong or refused, 2 usage, 3 a bug of npuflow.",),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if the results are right."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    path = the_only(inputs, "input file", "npuflow verify matmul.mlir --pipeline=npuflow-stream-k")
    check_files(flags, inputs)
    source = sys.stdin.buffer.read() if path == "-" else Path(path)
    with kept(["npuflow", "verify", *arguments], path, source):
        return _verify(path, source, flags)


def _verify(path: str, source: bytes | Path, flags: VerifyFlags) -> ExitCode:
    from npuflow.core.diagnostics import DiagnosticSink
    from npuflow.execute.verify_pipeline import verify_pipeline

    request = _request(flags)
    sink = DiagnosticSink(source_name=STDIN)
    module = _parse(path, source, sink)
    name = STDIN if path == "-" else path
    screen = screen_of(flags)
    print(f"{name}: against {request.judge}, seed {request.seed}", file=screen, flush=True)
    verdict = verify_pipeline(module, request, lambda made: _print_check(made, screen), sink)
    if flags.json is not None:
        _write_json(flags.json, name, str(request.pipeline), flags, verdict)
    for reference in verdict.references:
        if reference.why_not_iree:
            print(f"@{reference.name}: against {reference.judge}, because {reference.why_not_iree}", file=screen)
    if not verdict.ok:
        print_messages((_failure(module, verdict, flags),))
        return ExitCode.INPUT
    print(f"right: {', '.join(str(reference.signature) for reference in verdict.references)}", file=screen)
    return ExitCode.OK


def _request(flags: VerifyFlags) -> Request:
    import npuflow.pipelines  # noqa: F401  (registers our passes and pipelines)
    from npuflow.core.expansion import Expansion, expand
    from npuflow.core.pipeline_text import parse_pipeline
    from npuflow.core.registry import load_entry_points, load_plugin
    from npuflow.execute.references import Judge
    from npuflow.execute.verify_pipeline import Request

    load_entry_points()
    for plugin in flags.load:
        load_plugin(plugin)
    pipeline = expand(parse_pipeline(flags.pipeline), Expansion(flags.stop_after, device=flags.device))
    function = flags.function.removeprefix("@")
    limits = limits_of(flags.time_limit, flags.memory_limit)
    return Request(pipeline, flags.each, function, flags.seed, Judge(flags.oracle), limits)


def _parse(path: str, source: bytes | Path, sink: DiagnosticSink) -> ir.Module:
    from npuflow.compiler.functions import show_what_is_private
    from npuflow.core.parsing import parse, parse_file
    from npuflow.dialect.context import new_context

    if isinstance(source, Path):
        module = parse_file(path, new_context(), sink)
    else:
        module = parse(source, new_context(), STDIN, sink)
    show_what_is_private(module.operation)
    return module


def _print_check(made: PassCheck, screen: TextIO) -> None:
    text = made.text if len(made.text) <= _PASS_WIDTH else made.name
    place = f"{made.position:>4}  {text:<{_PASS_WIDTH}}"
    for check in made.checks:
        function = f"  @{check.function}" if len(made.checks) > 1 else ""
        print(f"{place}{function}  {check.status.value:<8} {check}  {check.seconds:.2f} s", file=screen, flush=True)


def _failure(module: ir.Module, verdict: Verdict, flags: VerifyFlags) -> Diagnostic:
    from npuflow.core.diagnostics import location_of

    last = verdict.last
    place = location_of(module.operation)
    pass_name = f"pass '{last.name}' ({last.position} of {verdict.pass_count})"
    if last.wrong is None:
        text = f"what {pass_name} leaves cannot be executed, so it isn't verified: {last.skipped}"
        return Diagnostic(
            Severity.ERROR, with_hint(text, "--stop-after=STAGE verifies a prefix of the pipeline"), place
        )
    function = f"@{last.wrong.function}"
    ended = bool(last.wrong.comparisons)
    if last.position == 0:
        what = "computes something else here than with the oracle" if ended else "fails here"
        return Diagnostic(Severity.ERROR, f"{function} {what}, before any pass: {last.wrong}", place)
    what = "compute something else" if ended else "fail"
    if not flags.each and verdict.pass_count > 1:
        text = f"the pipeline makes {function} {what}: {last.wrong}"
        return Diagnostic(Severity.ERROR, with_hint(text, "--each names the pass that does"), place)
    text = f"{pass_name} makes {function} {what}: {last.wrong}"
    hint = f"npuflow-opt --mlir-print-ir-before={last.name} --mlir-print-ir-after={last.name} shows what it does"
    return Diagnostic(Severity.ERROR, with_hint(text, hint), place)


def _write_json(path: str, name: str, pipeline: str, flags: VerifyFlags, verdict: Verdict) -> None:
    wrong = verdict.last if verdict.last.wrong else None
    report = {
        "file": name,
        "pipeline": pipeline,
        "oracle": flags.oracle,
        "seed": flags.seed,
        "ok": verdict.ok,
        "first_wrong": {"pass": wrong.name, "position": wrong.position} if wrong else None,
        "functions": {r.name: str(r.signature) for r in verdict.references},
        "against": {r.name: str(r.judge) for r in verdict.references},
        "why_not_iree": {r.name: r.why_not_iree for r in verdict.references if r.why_not_iree},
        "checks": [entry for made in verdict.pass_checks for entry in _json_checks(made)],
    }
    write_output(path, (json.dumps(report, indent=2) + "\n").encode())


def _json_checks(made: PassCheck) -> list[dict[str, object]]:
    from npuflow.report.json_report import json_number

    return [
        {
            "position": made.position,
            "pass": made.text,
            "function": check.function,
            "status": check.status.value,
            "message": str(check),
            "max_error": json_number(check.outcome.worst.max_error) if check.outcome.worst else None,
            "allowed_error": json_number(check.outcome.worst.allowed) if check.outcome.worst else None,
            "bound": check.outcome.worst.kind.value if check.outcome.worst else None,
            "wrong_elements": sum(c.wrong for c in check.comparisons),
            "unchecked_elements": sum(c.unchecked for c in check.outcome.narrow),
            "seconds": round(check.seconds, 6),
        }
        for check in made.checks
    ]
