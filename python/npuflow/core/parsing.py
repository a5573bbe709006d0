"""MLIR text or bytecode to a module, with MLIR's own located errors."""

from __future__ import annotations

from dataclasses import replace

from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.errors import Diagnostic, InputError, Severity

_ANONYMOUS = "-"


def parse(source: str | bytes, context: ir.Context, source_name: str = _ANONYMOUS) -> ir.Module:
    """Parses and verifies a module; raises InputError with everything MLIR reported."""
    sink = DiagnosticSink()
    with context, sink.capture(context):
        try:
            return ir.Module.parse(source)
        except ir.MLIRError as error:
            found = [_renamed(d, source_name) for d in sink.diagnostics]
            raise InputError(found or Diagnostic(Severity.ERROR, str(error))) from None


def parse_file(path: str, context: ir.Context) -> ir.Module:
    """Parses and verifies a file; locations carry its path."""
    sink = DiagnosticSink()
    with context, sink.capture(context):
        try:
            return ir.Module.parseFile(path)
        except ir.MLIRError as error:
            raise InputError(sink.diagnostics or Diagnostic(Severity.ERROR, str(error))) from None


def _renamed(diagnostic: Diagnostic, source_name: str) -> Diagnostic:
    place = diagnostic.location
    if place is not None and place.file == _ANONYMOUS:
        place = replace(place, file=source_name)
    return replace(diagnostic, location=place, notes=tuple(_renamed(n, source_name) for n in diagnostic.notes))
