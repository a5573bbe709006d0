"""`npuflow tune`: times strategies of a file's functions in the simulator, and keeps the fastest."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.compile_flags import columns_flag, device_flag, pipeline_flag, processes
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output
from npuflow.tools.progress import Progress

if TYPE_CHECKING:
    from npuflow.api.tuned import Tuned

_BUDGET = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(s|min|h)?")
_SECONDS = {None: 1, "s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True)
class TuneFlags:
    """Every flag with its default."""

    device: str | None = device_flag()
    columns: int | None = columns_flag()
    pipeline: str = pipeline_flag(DEFAULT_PIPELINE)
    candidates: int = flag(
        200, "strategies to time of each function, or part of one (default: 200)", group="", metavar="n", least=1
    )
    budget: str | None = flag(
        None, "stop beginning others after this time, as 30s or 5min (default: none)", group="", metavar="time"
    )
    jobs: int | None = flag(
        None, "time so many at once (default: the processor's cores)", group="", metavar="n", least=1
    )
    executor: str = flag(
        "local", "where they are timed: local, or by the workers of dask:ADDRESS", group="", metavar="where"
    )
    cache: str | None = flag(
        None, "where results are kept (default: the user's cache), or none", group="", metavar="directory"
    )
    o: str | None = flag(
        None, "write the tuned program, which npuflow run takes", group="", metavar="file", file=FileUse.WRITTEN
    )
    json: str | None = flag(
        None,
        "write all that was timed as JSON, to stdout where no file is named",
        group="",
        metavar="file",
        bare="-",
        file=FileUse.WRITTEN,
    )
    html: str | None = flag(None, "write it as a page with pictures", group="", metavar="file", file=FileUse.WRITTEN)
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow tune",
    owner=TuneFlags,
    summary="which strategies the simulator finds the fastest, and why others are not",
    usage="npuflow tune <file.mlir, or - for stdin> [--device=<name>] [-o tuned.mlir] [flags]",
    notes=(
        "What is found depends on the number of candidates alone, unless the budget cuts the search short.",
        "Exit codes: 0 done, 1 the input is refused, 2 usage, 3 a bug of npuflow.",
    ),
    column=30,
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    path = the_only(inputs, "input file", "npuflow tune matmul.mlir --device=npu2 -o tuned.mlir")
    check_files(flags, inputs)
    budget = None if flags.budget is None else seconds_of(flags.budget)
    with Progress() as progress:
        tuned = _tuned(path, flags, budget, progress)
        progress.done()
    if "-" not in (flags.o, flags.json, flags.html):
        print(tuned.text(), file=screen_of(flags))
    for file, made in ((flags.json, tuned.json), (flags.html, tuned.html), (flags.o, lambda: tuned.program)):
        if file is not None:
            write_output(file, made().encode())
    return ExitCode.OK


def _tuned(path: str, flags: TuneFlags, budget: float | None, progress: Progress) -> Tuned:
    from npuflow.api.tuned import tune
    from npuflow.core.diagnostics import DiagnosticSink

    sink = DiagnosticSink(source_name="<stdin>") if path == "-" else DiagnosticSink()
    return tune(
        sys.stdin.buffer.read() if path == "-" else Path(path),
        flags.pipeline,
        device=flags.device,
        columns=flags.columns,
        candidates=flags.candidates,
        budget_seconds=budget,
        jobs=processes(flags.jobs),
        executor=flags.executor,
        cache=flags.cache,
        sink=sink,
        on_step=progress.counted_step,
    )


def seconds_of(text: str) -> float:
    """The seconds of `30s`, `5min` or `90`; raises UsageError."""
    match = _BUDGET.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(with_hint(f"flag '--budget' cannot be '{text}'", "give a time, as 30s, 5min or 1h"))
    return seconds
