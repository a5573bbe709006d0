"""`npuflow-apply-schedule`: runs a user's transform-dialect schedule."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from npuflow.bindings import interpreter, ir
from npuflow.core.diagnostics import OP_NOTE, DiagnosticSink, location_of
from npuflow.core.options import option
from npuflow.core.parsing import parse_file
from npuflow.core.passes import Pass, PassContext, fail
from npuflow.core.registry import register_pass
from npuflow.core.stderr_capture import StderrCapture
from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint

SEQUENCE = "transform.named_sequence"
# What the bindings print where a sequence succeeds but has said something on its way.
_SAID_ON_SUCCESS = "Diagnostic generated while applying transform.named_sequence:\n"
MARKER = "transform.with_named_sequence"
_PART = re.compile(r'(?:Diagnostic message )?at loc\((?:"(?P<file>[^"]*)":(?P<line>\d+):(?P<column>\d+)|[^\n]*?)\): ')


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
        capture = StderrCapture()
        try:
            interpreter.apply_named_sequence(op, sequence, schedule)
        except ValueError as error:
            raise InputError(_explain(str(error))) from None
        finally:
            _pass_on(capture.stop(), context.sink)

    def _read(self, op: ir.Operation, sink: DiagnosticSink) -> ir.Operation:
        if not Path(self.file).is_file():
            raise fail(op, f"transform schedule '{self.file}' is no file", "give the path of a transform-dialect file")
        return parse_file(self.file, op.context, sink).operation


def _take_from(op: ir.Operation) -> ir.Operation:
    """Moves the schedule out of the payload, from its top level or from a module of its own inside."""
    for child in _children_of(op):
        if child.name == "builtin.module" and MARKER in child.attributes:
            return child.detach_from_parent()
    sequences = [child for child in _children_of(op) if child.name == SEQUENCE]
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
    for child in _children_of(schedule):
        if child.name == SEQUENCE and ir.StringAttr(child.attributes["sym_name"]).value == name:
            return child
    return None


def _children_of(op: ir.Operation) -> list[ir.Operation]:
    return [child.operation for region in op.regions for block in region.blocks for child in block.operations]


def _pass_on(written: str, sink: DiagnosticSink) -> None:
    """What a successful schedule had to say as remarks; whatever else was written goes to stderr after all."""
    other, _, said = written.partition(_SAID_ON_SUCCESS)
    sys.stderr.write(other)
    for place, message in _messages(said):
        sink.add(sink.named(Diagnostic(Severity.REMARK, message, place)))


def _messages(text: str) -> list[tuple[SourceLocation | None, str]]:
    """The interpreter's messages, which hold locations as text; without those that only print the op."""
    parts = list(_PART.finditer(text))
    ends = [*(part.start() for part in parts[1:]), len(text)]
    found = [(_place(part), text[part.end() : end].strip()) for part, end in zip(parts, ends, strict=False)]
    return [(place, message) for place, message in found if not message.startswith(OP_NOTE)]


def _explain(text: str) -> Diagnostic:
    """Why the interpreter failed, as an error with notes."""
    hint = "change the transform op, or the payload op that it was given"
    found = _messages(text)
    if not found:
        return Diagnostic(Severity.ERROR, with_hint(f"the transform schedule failed: {text.strip()}", hint))
    notes = tuple(Diagnostic(Severity.NOTE, message, place) for place, message in found[1:])
    place, message = found[0]
    return Diagnostic(Severity.ERROR, with_hint(f"the transform schedule failed: {message}", hint), place, notes)


def _place(part: re.Match[str]) -> SourceLocation | None:
    if part["file"] is None:
        return None
    return SourceLocation(part["file"], int(part["line"]), int(part["column"]))
