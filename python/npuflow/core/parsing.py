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
    module = _parse(lambda: ir.Module.parse(source), context, sink)
    if isinstance(source, str) and sink.source_name != ANONYMOUS:
        _relocate(module.operation, sink)
    return module


def parse_file(path: str, context: ir.Context, sink: DiagnosticSink | None = None) -> ir.Module:
    """Parses and verifies a file; locations carry its path."""
    if not Path(path).exists():
        raise InputError(with_hint(f"cannot open input file '{path}': no such file", "check the path"))
    check_has_end(path)
    return _parse(lambda: ir.Module.parseFile(path), context, sink or DiagnosticSink())


def check_has_end(path: str) -> None:
    """Raises InputError for what is read without an end, as /dev/zero, under whatever name."""
    if Path(path).is_char_device():
        text = f"cannot open input file '{path}': it is a device"
        raise InputError(with_hint(text, "give the path of an .mlir file, or - for stdin"))


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


def _relocate(root: ir.Operation, sink: DiagnosticSink) -> None:
    """Gives ops and block arguments, which the parser can't be told the source's name of, the sink's."""

    def moved(location: ir.Location) -> ir.Location:
        if not isinstance(location, ir.FileLineColLoc) or str(location.filename) != ANONYMOUS:
            return location
        line = max(location.start_line, sink.first_line)
        return ir.Location.file(sink.source_name, line, max(location.start_col, 1), root.context)

    def visit(op: ir.Operation) -> ir.WalkResult:
        op.location = moved(op.location)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(moved(argument.location))
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
