"""What `npuflow-opt` does with one part of its input."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

from npuflow.bindings import ir, irdl
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.output import write_atomically
from npuflow.core.parsing import parse, parse_file
from npuflow.core.pipeline_text import Nest
from npuflow.core.printing import IrDumper
from npuflow.core.reproducer import DEFAULT_FILE, RESOURCE, FailureWatch, Reproducer, located_text, make_reproducer
from npuflow.core.roundtrip import verify_roundtrip
from npuflow.core.runner import Instrumentation, Runner
from npuflow.core.sources import Chunk, Source
from npuflow.core.statistics import StatisticsCollector
from npuflow.core.timing import Timer
from npuflow.core.verify_diagnostics import DiagnosticVerifier
from npuflow.dialect.context import new_context
from npuflow.errors import Diagnostic, ExitCode, InternalError, NpuflowError, Severity, render
from npuflow.tools.opt_flags import OptFlags

_FRAMES_SHOWN = 5


@dataclass(frozen=True)
class Plan:
    """What the parts of an input share."""

    flags: OptFlags
    pipeline: Nest
    how: Reproducer
    source: Source
    timer: Timer = field(default_factory=Timer)
    statistics: StatisticsCollector = field(default_factory=lambda: StatisticsCollector(sys.stderr.write))

    def reports(self) -> str:
        """The statistics and times that were asked for, as text."""
        text = ""
        if self.flags.mlir_pass_statistics:
            display = self.flags.mlir_pass_statistics_display
            text += self.statistics.report(self.pipeline, as_list=display == "list")
        if self.flags.mlir_timing:
            text += self.timer.report(self.pipeline, as_list=self.flags.mlir_timing_display == "list")
        return text

    def instrumentations(self) -> list[Instrumentation]:
        """The watchers of a run, the outermost first; times are taken innermost."""
        watchers: list[Instrumentation] = []
        if not self.flags.dumps.is_empty:
            watchers.append(
                IrDumper(
                    self.flags.dumps,
                    self.flags.print_style,
                    write=sys.stderr.write,
                    module_scope=self.flags.mlir_print_ir_module_scope,
                    tree_directory=self.flags.mlir_print_ir_tree_dir,
                )
            )
        if self.flags.mlir_pass_statistics:
            watchers.append(self.statistics)
        if self.flags.mlir_timing:
            watchers.append(self.timer)
        return watchers


@dataclass
class ChunkRun:
    """One part on its way through: parsed, checked, transformed, printed."""

    plan: Plan
    chunk: Chunk
    sink: DiagnosticSink = field(init=False)
    watch: FailureWatch = field(default_factory=FailureWatch, init=False)

    def __post_init__(self) -> None:
        on_add = self.report if self.plan.flags.verify_diagnostics is None else None
        self.sink = DiagnosticSink(
            on_add=on_add,
            remarks_of=self._remarks(),
            source_name=self.plan.source.name,
            first_line=self.chunk.lines_before + 1,
        )

    def process(self) -> tuple[ExitCode, bytes | None]:
        """The part's exit code and output; None where there is none."""
        output, code = None, ExitCode.OK
        try:
            output = self._transform()
        except NpuflowError as error:
            self.sink.add_new(error.diagnostics)
            code = error.exit_code
            self._explain_crash(error)
        if self.plan.flags.verify_diagnostics is None:
            return code, output
        if code in (ExitCode.USAGE, ExitCode.BUG):
            for diagnostic in self.sink.diagnostics:
                self.report(diagnostic)
            return code, output
        return self._verified(), output

    def report(self, diagnostic: Diagnostic) -> None:
        """Prints a diagnostic with its source line."""
        print(render(diagnostic, self._lines_of), file=sys.stderr)

    def _remarks(self) -> tuple[str, ...] | None:
        """The passes whose remarks are shown: none without the flag, all (None) with the bare flag."""
        wanted = self.plan.flags.remarks
        return () if wanted is None else wanted or None

    def _lines_of(self, file: str) -> Sequence[str] | None:
        source = self.plan.source
        if file == source.name:
            return None if source.is_bytecode else source.lines
        try:
            return Path(file).read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return None

    def _transform(self) -> bytes:
        plan = self.plan
        with plan.timer.phase("Parser"):
            module = self._parse(self.sink)
        if plan.flags.verify_roundtrip:
            verify_roundtrip(module, self.sink)
        self._write_reproducer_ahead(module)
        watchers = [self.watch, *plan.instrumentations()]
        Runner(plan.pipeline, plan.how.verify_each, instrumentations=watchers, sink=self.sink).run(module)
        self._drop_reproducer()
        with plan.timer.phase("Output"):
            return self._printed(module)

    def _parse(self, sink: DiagnosticSink) -> ir.Module:
        flags = self.plan.flags
        context = new_context(allow_unregistered_dialects=flags.allow_unregistered_dialect)
        if self.plan.how.disable_threading:
            context.enable_multithreading(False)
        load_irdl(flags.irdl_file, context)
        reported = DiagnosticSink(source_name=sink.source_name, first_line=sink.first_line)
        try:
            if self.chunk.is_whole_file:
                return parse_file(self.plan.source.name, context, reported)
            return parse(self.chunk.parseable(), context, reported.source_name, reported)
        finally:
            sink.add_new(d for d in reported.diagnostics if not self._is_expected(d))

    def _is_expected(self, diagnostic: Diagnostic) -> bool:
        """A reproducer's pipeline is no resource that MLIR's parser knows."""
        return self.plan.flags.run_reproducer and f"external resources for '{RESOURCE}'" in diagnostic.message

    def _printed(self, module: ir.Module) -> bytes:
        if not self.plan.flags.emit_bytecode:
            return f"{self.plan.flags.print_style.text(module.operation).rstrip()}\n".encode()
        buffer = BytesIO()
        module.operation.write_bytecode(buffer)
        return buffer.getvalue()

    def _verified(self) -> ExitCode:
        """Compares what was reported with what the part's comments expect."""
        verifier = DiagnosticVerifier(
            self.plan.source.name,
            self.chunk.lines,
            self.chunk.lines_before,
            only_expected=self.plan.flags.verify_diagnostics == "only-expected",
        )
        problems = verifier.check(self.sink.diagnostics)
        for problem in problems:
            self.report(problem)
        return ExitCode.INPUT if problems else ExitCode.OK

    def _explain_crash(self, error: NpuflowError) -> None:
        """Shows where a pass crashed; writes a reproducer for our bugs, and where a file was named for any failure."""
        if error.__cause__ is not None and isinstance(error, InternalError):
            traceback.print_exception(error.__cause__, limit=-_FRAMES_SHOWN, file=sys.stderr)
        path = self._reproducer_path(error)
        if path is None:
            return
        text, passes = make_reproducer(
            self.plan.how, self.plan.pipeline, self.watch.failed, lambda: self._parse(DiagnosticSink())
        )
        write_atomically(path, text.encode())
        count = f"{passes} pass{'' if passes == 1 else 'es'}"
        self.report(Diagnostic(Severity.NOTE, f"{path} reproduces this with {count}; hint: {self._replay(path)}"))

    def _reproducer_path(self, error: NpuflowError) -> str | None:
        named = self.plan.flags.mlir_pass_pipeline_crash_reproducer
        if self.watch.failed is None or named is not None:
            return named if self.watch.failed is not None else None
        is_new = isinstance(error, InternalError) and not self.plan.flags.run_reproducer
        return DEFAULT_FILE if is_new else None

    def _write_reproducer_ahead(self, module: ir.Module) -> None:
        """Where a file was named, it is there even if MLIR takes the whole process down."""
        named = self.plan.flags.mlir_pass_pipeline_crash_reproducer
        if named is not None:
            whole = replace(self.plan.how, pipeline=str(self.plan.pipeline))
            write_atomically(named, whole.file_text(located_text(module)).encode())

    def _drop_reproducer(self) -> None:
        named = self.plan.flags.mlir_pass_pipeline_crash_reproducer
        if named is not None and Path(named).is_file():
            Path(named).unlink()

    def _replay(self, path: str) -> str:
        flags = self.plan.flags
        extra = [f"--load={p}" for p in flags.load] + [f"--irdl-file={p}" for p in flags.irdl_file]
        if flags.allow_unregistered_dialect:
            extra.append("--allow-unregistered-dialect")
        return " ".join(["npuflow-opt", "--run-reproducer", *extra, path])


def load_irdl(paths: Sequence[str], context: ir.Context) -> None:
    """Makes the dialects of IRDL files known to a context."""
    for path in paths:
        module = parse_file(path, context)
        with context:
            irdl.load_dialects(module)
