"""One run of `npuflow-opt`: reads, parses, runs, checks and writes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from npuflow.bindings import ir, irdl
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, Schedule, expand
from npuflow.core.output import write_atomically
from npuflow.core.parsing import parse, parse_file
from npuflow.core.pipeline_text import Nest
from npuflow.core.printing import IrDumper
from npuflow.core.runner import Instrumentation, Runner
from npuflow.core.sources import SPLIT_MARKER, Chunk, Source
from npuflow.dialect.context import new_context
from npuflow.errors import Diagnostic, ExitCode, InputError, NpuflowError, UsageError, render, with_hint
from npuflow.tools.flags import OtherFlag
from npuflow.tools.opt_flags import OptFlags
from npuflow.tools.opt_pipeline import check_pass_names, pass_count, pipeline_text, requested_pipeline

STDIN = "<stdin>"


def run_session(flags: OptFlags, others: Sequence[OtherFlag], path: str) -> ExitCode:
    """Processes the input; the output is written when every part of it went well."""
    _check(flags)
    nest = requested_pipeline(flags, others)
    source = read_source(path)
    pipeline = expand(nest, _expansion(flags))
    if flags.dump_pass_pipeline:
        print(f"Pass Manager with {pass_count(pipeline)} passes:\n{pipeline_text(pipeline)}\n", file=sys.stderr)
    session = Session(flags, pipeline, source)
    results = [session.process(chunk) for chunk in source.chunks(flags.split_input_file)]
    worst = max(code for code, _ in results)
    if worst is ExitCode.OK:
        _write(flags, [output for _, output in results])
    return worst


def read_source(path: str) -> Source:
    """The input's bytes; raises InputError where there is no such file."""
    if path == "-":
        return Source(STDIN, sys.stdin.buffer.read())
    try:
        return Source(path, Path(path).read_bytes(), is_file=True)
    except OSError as error:
        what = f"cannot open input file '{path}': {error.strerror}"
        raise InputError(with_hint(what, "give the path of an .mlir file, or - for stdin")) from error


def load_irdl(paths: Sequence[str], context: ir.Context) -> None:
    """Makes the dialects of IRDL files known to a context."""
    for path in paths:
        module = parse_file(path, context)
        with context:
            irdl.load_dialects(module)


@dataclass
class Session:
    """What all parts of an input share."""

    flags: OptFlags
    pipeline: Nest
    source: Source

    def process(self, chunk: Chunk) -> tuple[ExitCode, bytes]:
        """Runs the pipeline over one part; what it reports goes to stderr as it comes."""
        sink = DiagnosticSink(on_add=self.report, remarks_of=self._remarks(), source_name=self.source.name)
        try:
            return ExitCode.OK, self._transform(chunk, sink)
        except NpuflowError as error:
            sink.add_new(error.diagnostics)
            return error.exit_code, b""

    def report(self, diagnostic: Diagnostic) -> None:
        print(render(diagnostic, self._lines_of), file=sys.stderr)

    def _lines_of(self, file: str) -> Sequence[str] | None:
        if file == self.source.name:
            return None if self.source.is_bytecode else self.source.lines
        try:
            return Path(file).read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return None

    def _remarks(self) -> tuple[str, ...] | None:
        """The passes whose remarks are shown: none without the flag, all (None) with the bare flag."""
        if self.flags.remarks is None:
            return ()
        return self.flags.remarks or None

    def _transform(self, chunk: Chunk, sink: DiagnosticSink) -> bytes:
        context = new_context(allow_unregistered_dialects=self.flags.allow_unregistered_dialect)
        if self.flags.mlir_disable_threading:
            context.enable_multithreading(False)
        load_irdl(self.flags.irdl_file, context)
        module = self._parse(chunk, context, sink)
        Runner(self.pipeline, self.flags.verify_each, instrumentations=self._instrumentations(), sink=sink).run(module)
        return self._printed(module)

    def _parse(self, chunk: Chunk, context: ir.Context, sink: DiagnosticSink) -> ir.Module:
        if chunk.is_whole_file:
            return parse_file(self.source.name, context, sink)
        return parse(chunk.parseable(), context, self.source.name, sink)

    def _instrumentations(self) -> list[Instrumentation]:
        if self.flags.dumps.is_empty:
            return []
        dumper = IrDumper(
            self.flags.dumps,
            self.flags.print_style,
            write=sys.stderr.write,
            module_scope=self.flags.mlir_print_ir_module_scope,
            tree_directory=self.flags.mlir_print_ir_tree_dir,
        )
        return [dumper]

    def _printed(self, module: ir.Module) -> bytes:
        if not self.flags.emit_bytecode:
            return f"{self.flags.print_style.text(module.operation)}\n".encode()
        buffer = BytesIO()
        module.operation.write_bytecode(buffer)
        return buffer.getvalue()


def _check(flags: OptFlags) -> None:
    """Combinations that make no sense."""
    check_pass_names([*flags.mlir_print_ir_before, *flags.mlir_print_ir_after, *(flags.remarks or ())])
    if flags.resume_after is not None and flags.transform_schedule is None:
        raise UsageError(with_hint("--resume-after is given without --transform-schedule", "give both"))
    if flags.emit_bytecode and flags.split_input_file is not None:
        what = "--emit-bytecode and --split-input-file are both given, but bytecode cannot be joined"
        raise UsageError(with_hint(what, "leave one of them out"))


def _expansion(flags: OptFlags) -> Expansion:
    schedule = None
    if flags.transform_schedule is not None:
        schedule = Schedule(flags.transform_schedule, flags.resume_after)
    return Expansion(flags.stop_after, schedule, flags.device)


def _write(flags: OptFlags, outputs: Sequence[bytes]) -> None:
    marker = flags.split_input_file or SPLIT_MARKER
    data = f"{marker}\n".encode().join(outputs)
    if flags.output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_atomically(flags.output, data)
