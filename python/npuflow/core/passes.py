"""What a pass is, and what it is given.

A pass is a frozen dataclass whose fields are its options:

    @register_pass
    @dataclass(frozen=True)
    class CountMatmuls(Pass):
        \"\"\"Counts the matmuls of each function.\"\"\"

        name = "my-count-matmuls"
        at_most: int = option(10, "refuse more than this")

        def run(self, op, context):
            for matmul in ops_of(op, "linalg.matmul"):
                context.remark(matmul, "found a matmul")
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink, Place, location_of
from npuflow.core.options import print_options
from npuflow.errors import Diagnostic, InputError, Severity, with_hint


@dataclass
class PassContext:
    """What a running pass may talk to: diagnostics, remarks and statistics. One per pass and op it runs on.

    `input` is a copy of what the pipeline was given, for passes that declare `needs_input`.
    """

    pass_name: str
    sink: DiagnosticSink
    statistics: dict[str, int] = field(default_factory=dict)
    failed: bool = False
    input: ir.Operation | None = None

    def error(self, place: Place, message: str, hint: str | None = None) -> None:
        """Reports an error and goes on, so that all independent ones are seen; the pass then fails."""
        self.failed = True
        self._report(Diagnostic(Severity.ERROR, with_hint(message, hint), location_of(place)))

    def report(self, error: InputError) -> None:
        """Reports an error that was raised, and goes on."""
        self.failed = True
        for diagnostic in error.diagnostics:
            self._report(diagnostic)

    def warning(self, place: Place, message: str, hint: str | None = None) -> None:
        self._report(Diagnostic(Severity.WARNING, with_hint(message, hint), location_of(place)))

    def remark(self, place: Place, message: str) -> None:
        """Reports a decision, with the number that decided it; shown with `--remarks`."""
        if self.sink.wants_remarks_of(self.pass_name):
            self._report(Diagnostic(Severity.REMARK, f"[{self.pass_name}] {message}", location_of(place)))

    def _report(self, diagnostic: Diagnostic) -> None:
        self.sink.add(self.sink.named(diagnostic))

    def count(self, statistic: str, amount: int = 1) -> None:
        """Adds to a statistic, shown with `--mlir-pass-statistics`."""
        self.statistics[statistic] = self.statistics.get(statistic, 0) + amount


class Pass:
    """Base of all passes; subclasses are frozen dataclasses with a `name` and a `run`."""

    name: ClassVar[str] = ""
    group: ClassVar[str] = "plugin"
    needs_input: ClassVar[bool] = False
    # Whether it changes nothing where it counts nothing; the IR is then as it was, and isn't verified again.
    counts_changes: ClassVar[bool] = False
    # Whether it says how ops are mapped: functions come apart into parts in front of the first such pass.
    assigns_strategies: ClassVar[bool] = False

    def run(self, op: ir.Operation, context: PassContext) -> None:
        """Edits `op` in place; reports through `context`, or raises InputError."""
        raise NotImplementedError

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(cls) or "").split("\n", 1)[0]

    def __str__(self) -> str:
        options = print_options(self)
        return f"{self.name}{{{options}}}" if options else self.name


def ops_of(root: ir.Operation, *names: str) -> list[ir.Operation]:
    """Every op below `root` with one of `names` (all ops without names), in program order, as a snapshot."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not names or op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [op for op in found if op != root.operation]


def parents_of(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops around `op`, innermost first."""
    parent = op.parent
    while parent is not None:
        yield parent.operation
        parent = parent.operation.parent


def fail(place: Place, message: str, hint: str | None = None) -> InputError:
    """An error to raise where a pass cannot go on: `raise fail(op, "...", hint="...")`."""
    return InputError(Diagnostic(Severity.ERROR, with_hint(message, hint), location_of(place)))
