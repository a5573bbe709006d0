"""One run of `npuflow-opt`: reads the input, runs the pipeline over each chunk, writes the output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from npuflow.core.expansion import Expansion, TransformSchedule, expand
from npuflow.core.parsing import INPUT_HINT, check_has_end
from npuflow.core.pipeline_text import PassNest, parse_pipeline
from npuflow.core.reproducer import Reproducer, read_reproducer
from npuflow.core.sources import SPLIT_MARKER, Source
from npuflow.errors import ExitCode, InputError, UsageError, with_hint
from npuflow.tools.crash import kept
from npuflow.tools.flags import OtherFlag
from npuflow.tools.opt_chunk import ChunkRun
from npuflow.tools.opt_flags import OptFlags
from npuflow.tools.opt_pipeline import check_pass_names, pass_count, pipeline_text, requested_pipeline
from npuflow.tools.opt_plan import Plan
from npuflow.tools.outputs import write_output

STDIN = "<stdin>"


def run_session(flags: OptFlags, others: Sequence[OtherFlag], path: str, command: Sequence[str]) -> ExitCode:
    """Processes the input; the output is written when every chunk of it went well."""
    _check(flags)
    requested = requested_pipeline(flags, others)
    source = _read(path)
    with kept(command, path, source.data):
        return _process(flags, requested, source)


def _process(flags: OptFlags, requested: PassNest, source: Source) -> ExitCode:
    reproducer, nest = _pipeline(flags, requested, source)
    pipeline = expand(nest, _expansion(flags))
    if flags.dump_pass_pipeline:
        print(f"Pass Manager with {pass_count(pipeline)} passes:\n{pipeline_text(pipeline)}\n", file=sys.stderr)
    plan = Plan(flags, pipeline, reproducer, source)
    results = [ChunkRun(plan, chunk).process() for chunk in source.chunks(flags.split_input_file)]
    worst = max(code for code, _ in results)
    if worst is ExitCode.OK:
        with plan.timer.phase("Output"):
            _write(flags, [output for _, output in results if output is not None])
    sys.stderr.write(plan.reports())
    return worst


def _read(path: str) -> Source:
    if path == "-":
        return Source(STDIN, sys.stdin.buffer.read())
    check_has_end(path)
    try:
        return Source(path, Path(path).read_bytes(), is_file=True)
    except OSError as error:
        what = f"cannot open input file '{path}': {error.strerror}"
        raise InputError(with_hint(what, INPUT_HINT)) from error


def _check(flags: OptFlags) -> None:
    """Refuses combinations that make no sense, and names of passes that don't exist."""
    check_pass_names([*flags.mlir_print_ir_before, *flags.mlir_print_ir_after, *(flags.remarks or ())])
    if flags.resume_after is not None and flags.transform_schedule is None:
        raise UsageError(with_hint("--resume-after is given without --transform-schedule", "give both"))
    if flags.emit_bytecode and flags.split_input_file is not None:
        what = "--emit-bytecode and --split-input-file are both given, but bytecode cannot be joined"
        raise UsageError(with_hint(what, "leave one of them out"))
    if flags.mlir_generate_reproducer is not None and flags.split_input_file is not None:
        what = "--mlir-generate-reproducer and --split-input-file are both given, but a reproducer holds one input"
        raise UsageError(with_hint(what, "leave one of them out"))


def _pipeline(flags: OptFlags, requested: PassNest, source: Source) -> tuple[Reproducer, PassNest]:
    """What to run and how: as the flags say, or as the reproducer that is the input says."""
    if not flags.run_reproducer:
        return Reproducer(str(requested), flags.verify_each, flags.mlir_disable_threading), requested
    if requested.elements:
        what = "--run-reproducer is given with passes, but the reproducer names its own"
        raise UsageError(with_hint(what, "leave the passes out"))
    reproducer = read_reproducer(source.text, source.name)
    return reproducer, parse_pipeline(reproducer.pipeline)


def _expansion(flags: OptFlags) -> Expansion:
    schedule = None
    if flags.transform_schedule is not None:
        schedule = TransformSchedule(flags.transform_schedule, flags.resume_after)
    return Expansion(flags.stop_after, schedule, flags.device)


def _write(flags: OptFlags, outputs: Sequence[bytes]) -> None:
    marker = flags.split_input_file or SPLIT_MARKER
    data = f"{marker}\n".encode().join(outputs)
    write_output(flags.output, data)
