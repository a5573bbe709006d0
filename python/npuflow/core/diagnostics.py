"""Diagnostics of one run: MLIR's own and ours in one list, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Union

from npuflow.bindings import ir
from npuflow.errors import Diagnostic, Severity, SourceLocation

Place = Union["ir.Location", "ir.Operation", "ir.OpView", "ir.Value"]

# What MLIR calls text that was parsed from memory.
ANONYMOUS = "-"

# MLIR attaches a note with the op to what it reports; `mlir-opt` can turn that off, the bindings can't.
OP_NOTE = "see current operation:"

_POSITION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')


def location_of(place: Place) -> SourceLocation | None:
    """The first file position in an op's, value's or plain location; None if it has none."""
    location = place
    if isinstance(place, ir.Value):
        location = place.location if hasattr(place, "location") else place.owner.location
    elif not isinstance(place, ir.Location):
        location = place.operation.location
    if isinstance(location, ir.FileLineColLoc):
        return _position(str(location.filename), location.start_line, location.start_col)
    match = _POSITION.search(str(location))
    return _position(match[1], int(match[2]), int(match[3])) if match else None


def _position(file: str, line: int, column: int) -> SourceLocation:
    """MLIR says line 0 for a module that no text spells out; that is where its file begins."""
    return SourceLocation(file, max(line, 1), max(column, 1))


@dataclass
class DiagnosticSink:
    """Collects diagnostics; `on_add` lets a tool print them as they come.

    `remarks_of` names the passes whose remarks are wanted (None: all of them). `source_name` is what text that came
    without a file name is called, and `first_line` where it begins in its file.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    on_add: Callable[[Diagnostic], None] | None = None
    remarks_of: Collection[str] | None = None
    source_name: str = ANONYMOUS
    first_line: int = 1

    def add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)
        if self.on_add is not None:
            self.on_add(diagnostic)

    def add_new(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Adds those that aren't here yet, as when an error carries what was reported before it was raised."""
        known = set(self.diagnostics)
        for diagnostic in map(self.named, diagnostics):
            if diagnostic not in known:
                self.add(diagnostic)

    def wants_remarks_of(self, pass_name: str) -> bool:
        return self.remarks_of is None or pass_name in self.remarks_of

    def named(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with its place in the source where MLIR has no file name."""
        place = diagnostic.location
        if place is None or place.file != ANONYMOUS:
            return diagnostic
        if place.line < self.first_line:
            place = replace(place, line=self.first_line, column=1)
        notes = tuple(self.named(note) for note in diagnostic.notes)
        return replace(diagnostic, location=replace(place, file=self.source_name), notes=notes)

    @property
    def errors(self) -> list[Diagnostic]:
        return self.errors_from(0)

    def errors_from(self, first: int) -> list[Diagnostic]:
        """The errors among the diagnostics that came after the first `first` ones."""
        return [d for d in self.diagnostics[first:] if d.severity is Severity.ERROR]

    @contextmanager
    def capture(self, context: ir.Context) -> Iterator[DiagnosticSink]:
        """Redirects what MLIR reports in `context` into this sink."""

        def handle(diagnostic: ir.Diagnostic) -> bool:
            self.add(self.named(from_mlir(diagnostic)))
            return True

        before = context.emit_error_diagnostics
        context.emit_error_diagnostics = True
        handler = context.attach_diagnostic_handler(handle)
        try:
            yield self
        finally:
            handler.detach()
            context.emit_error_diagnostics = before


_SEVERITIES = {"ERROR": Severity.ERROR, "WARNING": Severity.WARNING, "REMARK": Severity.REMARK, "NOTE": Severity.NOTE}


def from_mlir(diagnostic: ir.Diagnostic) -> Diagnostic:
    """MLIR's diagnostic as ours."""
    severity = _SEVERITIES[str(diagnostic.severity).rsplit(".", 1)[-1]]
    notes = tuple(from_mlir(note) for note in diagnostic.notes)
    return Diagnostic(severity, diagnostic.message.rstrip(), location_of(diagnostic.location), notes)
