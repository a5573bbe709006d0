"""MLIR text or bytecode to a module, with MLIR's own located errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from npuflow.bindings import ir
from npuflow.core.diagnostics import ANONYMOUS, DiagnosticSink
from npuflow.core.dialects import explain_unknown_dialect
from npuflow.errors import Diagnostic, InputError, Severity, with_hint

INPUT_HINT = "give the path of an .mlir file, or - for stdin"
_NETWORKS = (".py", ".pt2", ".onnx")
# What bytecode begins with, and how much is looked at for what text doesn't have.
_BYTECODE = b"ML\xefR"
_LOOKED_AT = 4096


def parse(
    source: str | bytes, context: ir.Context, source_name: str = ANONYMOUS, sink: DiagnosticSink | None = None
) -> ir.Module:
    """Parses and verifies a module; raises InputError with everything MLIR reported.

    `source_name` is what messages call the text. A `sink` also receives warnings and the like.
    """
    sink = sink or DiagnosticSink(source_name=source_name)
    head = source[:_LOOKED_AT]
    _check_is_mlir(head if isinstance(head, bytes) else head.encode(), sink.source_name)
    module = _parse(lambda: ir.Module.parse(source), context, sink)
    if isinstance(source, str):
        _name_source(module, sink)
    return module


def parse_file(path: str, context: ir.Context, sink: DiagnosticSink | None = None) -> ir.Module:
    """Parses and verifies a file; locations carry its path."""
    _check_is_no_network(path)
    if not Path(path).exists():
        raise InputError(with_hint(f"cannot open input file '{path}': no such file", "check the path"))
    if Path(path).is_dir():
        raise InputError(with_hint(f"cannot open input file '{path}': it is a directory", INPUT_HINT))
    check_has_end(path)
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            _check_is_mlir(file.read(_LOOKED_AT), path)
    return _parse(lambda: ir.Module.parseFile(path), context, sink or DiagnosticSink())


def parse_again(module: ir.Operation, context: ir.Context, sink: DiagnosticSink) -> ir.Module:
    """A module as another context has it: through a file of bytecode, which takes what stands behind it as it is.

    MLIR refuses bytecode that doesn't come to lie as what stands behind wants to be aligned. Text has no such need.
    """
    with suppress(InputError, OSError), NamedTemporaryFile() as file:
        module.write_bytecode(file)
        file.flush()
        again = _parse(lambda: ir.Module.parseFile(file.name), context, DiagnosticSink())
        _name_source(again, sink)
        return again
    return parse(module.get_asm(enable_debug_info=True), context, sink.source_name, sink)


def _check_is_no_network(path: str) -> None:
    file, _, name = path.partition(":")
    if Path(file).suffix in _NETWORKS:
        source = path if name or Path(file).suffix != ".py" else f"{path}:function"
        raise InputError(with_hint(f"'{path}' is no MLIR", f"npuflow import {source} -o net.mlir makes it a module"))


def check_has_end(path: str) -> None:
    """Raises InputError for what is read without an end, as /dev/zero, under whatever name."""
    if Path(path).is_char_device():
        raise InputError(with_hint(f"cannot open input file '{path}': it is a device", INPUT_HINT))


def _check_is_mlir(head: bytes, name: str) -> None:
    """Raises InputError for what begins as binary data that isn't bytecode: the parser would quote it as text."""
    if b"\0" in head and not head.startswith(_BYTECODE):
        raise InputError(with_hint(f"'{name}' is neither MLIR's text nor its bytecode", "give an .mlir file"))


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


def _name_source(module: ir.Module, sink: DiagnosticSink) -> None:
    """Gives ops and block arguments, which the parser can't be told the source's name of, the sink's."""
    root = module.operation
    if sink.source_name == ANONYMOUS:
        return

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
