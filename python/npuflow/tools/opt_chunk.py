"""What `npuflow-opt` does with one chunk of its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO

from npuflow.bindings import ir, irdl
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse, parse_file
from npuflow.core.reproducer import RESOURCE, FailureWatch
from npuflow.core.roundtrip import verify_roundtrip
from npuflow.core.runner import Runner
from npuflow.core.source_lines import source_lines
from npuflow.core.sources import Chunk
from npuflow.core.verify_diagnostics import DiagnosticVerifier
from npuflow.dialect.context import new_context
from npuflow.errors import Diagnostic, ExitCode, NpuflowError
from npuflow.tools.messages import Messages
from npuflow.tools.opt_crash import CrashReport
from npuflow.tools.opt_plan import Plan


@dataclass
class ChunkRun:
    """One chunk on its way through: parsed, checked, transformed, printed."""

    plan: Plan
    chunk: Chunk
    sink: DiagnosticSink = field(init=False)
    watch: FailureWatch = field(default_factory=FailureWatch, init=False)
    crash: CrashReport = field(init=False)
    messages: Messages = field(init=False)

    def __post_init__(self) -> None:
        self.messages = Messages(self._lines_of)
        self.crash = CrashReport(self.plan, self.report)
        on_add = self.report if self.plan.flags.verify_diagnostics is None else None
        self.sink = DiagnosticSink(
            on_add=on_add,
            remarks_of=self._remarks(),
            source_name=self.plan.source.name,
            first_line=self.chunk.lines_before + 1,
        )

    def process(self) -> tuple[ExitCode, bytes | None]:
        """The chunk's exit code and output; None where there is none."""
        try:
            return self._process()
        finally:
            self.messages.close()

    def _process(self) -> tuple[ExitCode, bytes | None]:
        output, code = None, ExitCode.OK
        try:
            output = self._transform()
        except NpuflowError as error:
            self.sink.add_new(error.diagnostics)
            code = error.exit_code
            self.crash.explain(error, self.watch.failed, lambda: self._parse(self._sink_like(self.sink)))
        if self.plan.flags.verify_diagnostics is None:
            return code, output
        if code in (ExitCode.USAGE, ExitCode.BUG):
            for diagnostic in self.sink.diagnostics:
                self.report(diagnostic)
            return code, output
        return self._verified(), output

    def report(self, diagnostic: Diagnostic) -> None:
        """Prints a diagnostic with its source line, unless many like it were printed before."""
        self.messages.add(diagnostic)

    def _remarks(self) -> tuple[str, ...] | None:
        """The passes whose remarks are shown: none without the flag, all (None) with the bare flag."""
        wanted = self.plan.flags.remarks
        return () if wanted is None else wanted or None

    def _lines_of(self, file: str) -> Sequence[str] | None:
        source = self.plan.source
        if file == source.name:
            return None if source.is_bytecode else source.lines
        return source_lines(file)

    def _transform(self) -> bytes:
        plan = self.plan
        with plan.timer.phase("Parser"):
            module = self._parse(self.sink)
        if plan.flags.verify_roundtrip:
            verify_roundtrip(module, self.sink)
        self.crash.write_as_asked(module)
        self.crash.write_ahead(module)
        watchers = [self.watch, *plan.instrumentations()]
        Runner(plan.pipeline, plan.how.verify_each, instrumentations=watchers, sink=self.sink).run(module)
        self.crash.drop()
        with plan.timer.phase("Output"):
            return self._printed(module)

    def _parse(self, sink: DiagnosticSink) -> ir.Module:
        flags = self.plan.flags
        context = new_context(allow_unregistered_dialects=flags.allow_unregistered_dialect)
        if self.plan.how.disable_threading:
            context.enable_multithreading(False)
        load_irdl(flags.irdl_file, context)
        reported = self._sink_like(sink)
        try:
            if self.chunk.is_whole_file:
                return parse_file(self.plan.source.name, context, reported)
            return parse(self.chunk.parseable(), context, reported.source_name, reported)
        finally:
            sink.add_new(d for d in reported.diagnostics if not self._is_expected(d))

    @staticmethod
    def _sink_like(sink: DiagnosticSink) -> DiagnosticSink:
        """A silent one for the same text."""
        return DiagnosticSink(source_name=sink.source_name, first_line=sink.first_line)

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
        """Compares what was reported with what the chunk's comments expect."""
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


def load_irdl(paths: Sequence[str], context: ir.Context) -> None:
    """Makes the dialects of IRDL files known to a context."""
    for path in paths:
        module = parse_file(path, context)
        with context:
            irdl.load_dialects(module)
