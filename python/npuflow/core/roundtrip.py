"""`--verify-roundtrip`: a module must survive being printed and parsed, as text and as bytecode."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink, location_of
from npuflow.errors import Diagnostic, InputError, Severity


def verify_roundtrip(module: ir.Module, sink: DiagnosticSink) -> None:
    """Raises InputError for the first form in which the module doesn't come back as it was."""
    op = module.operation
    forms: dict[str, Callable[[], str | bytes]] = {
        "custom": lambda: str(op.get_asm(enable_debug_info=True)),
        "generic": lambda: str(op.get_asm(enable_debug_info=True, print_generic_op_form=True)),
        "bytecode": lambda: _bytecode(op),
    }
    before = _comparable(op)
    with op.context, sink.capture(op.context):
        for form, written in forms.items():
            _compare(before, _reread(written(), form, op), form, op)


def _reread(written: str | bytes, form: str, op: ir.Operation) -> str:
    try:
        return _comparable(ir.Module.parse(written).operation)
    except ir.MLIRError as error:
        raise _failure(form, f"does not parse: {error}", op) from error


def _compare(before: str, after: str, form: str, op: ir.Operation) -> None:
    if before == after:
        return
    old, new = before.splitlines(), after.splitlines()
    same = min(len(old), len(new))
    line = next((i for i in range(same) if old[i] != new[i]), same)
    was, became = ("\n".join(text[line : line + 1]).strip() or "(nothing)" for text in (old, new))
    raise _failure(form, f"changes it: first difference '{was}' became '{became}'", op)


def _failure(form: str, what: str, op: ir.Operation) -> InputError:
    return InputError(Diagnostic(Severity.ERROR, f"round trip through {form} form {what}", location_of(op)))


def _comparable(op: ir.Operation) -> str:
    return str(op.get_asm(enable_debug_info=True, print_generic_op_form=True))


def _bytecode(op: ir.Operation) -> bytes:
    buffer = BytesIO()
    op.write_bytecode(buffer)
    return buffer.getvalue()
