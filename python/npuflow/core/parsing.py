"""MLIR text or bytecode to a module, with MLIR's own located errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from npuflow.bindings import ir
from npuflow.core.diagnostics import ANONYMOUS, DiagnosticSink
from npuflow.core.dialects import explain_unknown_dialect
from npuflow.errors import Diagnostic, InputError, Severity, with_hint


def parse(
    source: str | bytes, context: ir.Context, source_name: str = ANONYMOUS, sink: DiagnosticSink | None = None
) -> ir.Module:
    """Parses and verifies a module; raises InputError with everything MLIR reported.

    `source_name` is what messages call the text. A `sink` also receives warnings and the like.
    """
    sink = sink or DiagnosticSink(source_name=source_name)
    return _parse(lambda: ir.Module.parse(source), context, sink)


def parse_file(path: str, context: ir.Context, sink: DiagnosticSink | None = None) -> ir.Module:
    """Parses and verifies a file; locations carry its path."""
    if not Path(path).exists():
        raise InputError(with_hint(f"cannot open input file '{path}': no such file", "check the path"))
    return _parse(lambda: ir.Module.parseFile(path), context, sink or DiagnosticSink())


def _parse(read: Callable[[], ir.Module], context: ir.Context, sink: DiagnosticSink) -> ir.Module:
    first = len(sink.diagnostics)
    inner = DiagnosticSink()
    with context, inner.capture(context):
        try:
            return read()
        except ir.MLIRError as error:
            fallback = Diagnostic(Severity.ERROR, str(error))
        finally:
            sink.add_new(explain_unknown_dialect(d) for d in inner.diagnostics)
    raise InputError(sink.errors_from(first) or fallback)
