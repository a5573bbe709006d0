"""`npuflow-apply-schedule`: runs a user's transform-dialect schedule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from npuflow.bindings import interpreter, ir
from npuflow.core.diagnostics import DiagnosticSink, location_of
from npuflow.core.options import option
from npuflow.core.parsing import parse_file
from npuflow.core.passes import Pass, PassContext, fail
from npuflow.core.registry import register_pass
from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint

SEQUENCE = "transform.named_sequence"
MARKER = "transform.with_named_sequence"
_PART = re.compile(r'(?:Diagnostic message )?at (?:loc\("(?P<file>[^"]*)":(?P<line>\d+):(?P<column>\d+)\)|[^:]*): ')


@register_pass
@dataclass(frozen=True)
class ApplySchedule(Pass):
    """Applies the transform schedule `@__transform_main` of a file, or of the module itself, to the module.

    A schedule that came with the module is no longer in it afterwards.

        module attributes {transform.with_named_sequence} {
          func.func @f(...) { linalg.matmul ... }
          transform.named_sequence @__transform_main(%module: !transform.any_op) { <tile the matmul> }
        }
        // becomes
        module {
          func.func @f(...) { scf.for ... { linalg.matmul ... } }
        }
    """

    name: ClassVar[str] = "npuflow-apply-schedule"
    group: ClassVar[str] = "core"

    file: str = option("", "transform-dialect file; default: the schedule inside the module")
    entry: str = option("__transform_main", "the named sequence to apply")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        """Finds the schedule and applies it."""
        schedule = self._read(op, context.sink) if self.file else _take_from(op)
        sequence = _sequence_named(self.entry, schedule)
        if sequence is None:
            hint = f"name the sequence @{self.entry}, or give entry=NAME"
            message = f"the transform schedule has no sequence @{self.entry}"
            raise fail(schedule, message, hint) if location_of(schedule) else fail(op, message, hint)
        try:
            interpreter.apply_named_sequence(op, sequence, schedule)
        except ValueError as error:
            raise InputError(_explain(str(error))) from None

    def _read(self, op: ir.Operation, sink: DiagnosticSink) -> ir.Operation:
        if not Path(self.file).is_file():
            raise fail(op, f"transform schedule '{self.file}' is no file", "give the path of a transform-dialect file")
        return parse_file(self.file, op.context, sink).operation


def _take_from(op: ir.Operation) -> ir.Operation:
    """Moves the schedule out of the payload, from its top level or from a module of its own inside."""
    for child in op.regions[0].blocks[0].operations:
        if child.operation.name == "builtin.module" and MARKER in child.operation.attributes:
            return child.operation.detach_from_parent()
    sequences = [c.operation for c in op.regions[0].blocks[0].operations if c.operation.name == SEQUENCE]
    if not sequences:
        raise fail(op, "the module contains no transform schedule", "add one, or give its file")
    with op.location:
        schedule = ir.Module.create()
    schedule.operation.attributes[MARKER] = ir.UnitAttr.get(op.context)
    for sequence in sequences:
        sequence.detach_from_parent()
        schedule.body.append(sequence)
    if MARKER in op.attributes:
        del op.attributes[MARKER]
    return schedule.operation


def _sequence_named(name: str, schedule: ir.Operation) -> ir.Operation | None:
    for child in schedule.regions[0].blocks[0].operations:
        found = child.operation
        if found.name == SEQUENCE and ir.StringAttr(found.attributes["sym_name"]).value == name:
            return found
    return None


def _explain(text: str) -> Diagnostic:
    """The interpreter's message, which holds locations as text, as an error with notes."""
    parts = list(_PART.finditer(text))
    ends = [part.start() for part in parts[1:]] + [len(text)]
    found = [(_place(part), text[part.end() : end].strip()) for part, end in zip(parts, ends, strict=True)]
    hint = "change the transform op, or the payload op that it was given"
    if not found:
        return Diagnostic(Severity.ERROR, with_hint(f"the transform schedule failed: {text.strip()}", hint))
    notes = tuple(Diagnostic(Severity.NOTE, message, place) for place, message in found[1:])
    place, message = found[0]
    return Diagnostic(Severity.ERROR, with_hint(f"the transform schedule failed: {message}", hint), place, notes)


def _place(part: re.Match[str]) -> SourceLocation | None:
    if part["file"] is None:
        return None
    return SourceLocation(part["file"], int(part["line"]), int(part["column"]))
