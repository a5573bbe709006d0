"""Which dialects a context knows. The bindings cannot list them; MLIR's message about an unknown one does."""

from __future__ import annotations

import re
from dataclasses import replace

from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.errors import Diagnostic, nearest, with_hint

_UNKNOWN = re.compile(r"Dialect `([^']*)' not found for custom op")
_LISTED = re.compile(r"Available dialects: ([^;]*)")
_LEGEND = re.compile(r" \(\*[^)]*\)")
_NO_DIALECT = "npuflow_no_such_dialect"


def available_dialects(context: ir.Context) -> list[str]:
    """The dialects that `context` knows, sorted; empty where MLIR words its message in a way we don't know."""
    sink = DiagnosticSink()
    with context, sink.capture(context):
        try:
            ir.Module.parse(f"{_NO_DIALECT}.op")
        except ir.MLIRError:
            return sorted(name for d in sink.diagnostics for name in _listed_in(d))
    return []


def explain_unknown_dialect(diagnostic: Diagnostic) -> Diagnostic:
    """Puts the nearest dialects where MLIR lists all of them."""
    unknown = _UNKNOWN.search(diagnostic.message)
    known = _listed_in(diagnostic)
    if unknown is None or not known:
        return diagnostic
    hint = f"did you mean {', '.join(nearest(unknown[1], known))}?"
    return replace(diagnostic, message=with_hint(diagnostic.message, hint), notes=())


def _listed_in(diagnostic: Diagnostic) -> list[str]:
    for note in diagnostic.notes:
        listed = _LISTED.search(note.message)
        if listed is not None:
            return [name.strip() for name in _LEGEND.sub("", listed[1]).split(",") if name.strip()]
    return []
