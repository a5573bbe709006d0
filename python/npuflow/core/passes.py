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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from npuflow.bindings import ir
from npuflow.core.answers import NOTHING_ASKED, AsksAhead
from npuflow.core.diagnostics import DiagnosticSink, Place, location_of
from npuflow.core.options import option_specs, print_options
from npuflow.errors import Diagnostic, InputError, Severity, unknown_name, with_hint


@dataclass
class PassContext:
    """What a running pass may talk to: diagnostics, remarks and statistics. One per pass and op it runs on.

    `input` is a copy of what the pipeline was given, for passes that declare `needs_input`. `ahead` asks what a pass
    will ask many times before it does.
    """

    pass_name: str
    sink: DiagnosticSink
    statistics: dict[str, int] = field(default_factory=dict)
    failed: bool = False
    input: ir.Operation | None = None
    ahead: AsksAhead = NOTHING_ASKED

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

    def require_functions(self, op: ir.Operation, names: Iterable[str]) -> None:
        """Raises InputError for groups that options name which are of none of a module's functions."""
        known = list(names)
        for group in (each for groups in self._named_groups().values() for each in groups):
            if (owner := function_of_group(group)) not in known:
                raise fail(op, unknown_name("function of group", owner, known))

    def of_function(self, name: str) -> Pass:
        """The pass as it is for a function that is alone in a module: options may name groups of others."""
        same: Any = self  # a dataclass, as all with options are
        named = self._named_groups().items()
        own = {key: tuple(group for group in groups if function_of_group(group) == name) for key, groups in named}
        return cast(Pass, replace(same, **own)) if own else self

    def _named_groups(self) -> dict[str, tuple[str, ...]]:
        """The options that name groups of functions, with the names."""
        owner: type = type(self)
        return {spec.attribute: getattr(self, spec.attribute) for spec in option_specs(owner) if spec.names_groups}

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(cls) or "").split("\n", 1)[0]

    def __str__(self) -> str:
        options = print_options(self)
        return f"{self.name}{{{options}}}" if options else self.name


def function_of_group(group: str) -> str:
    """Whose a group is that somebody names as FUNCTION_NUMBER."""
    return group.rpartition("_")[0]


def ops_of(root: ir.Operation, *names: str) -> list[ir.Operation]:
    """Every op below `root` with one of `names` (all ops without names), in program order, as a snapshot."""
    found: list[ir.Operation] = []
    advance = ir.WalkResult.ADVANCE

    def take(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return advance

    def choose(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            found.append(op)
        return advance

    root.walk(choose if names else take, ir.WalkOrder.PRE_ORDER)
    if found and found[0] == root.operation:  # which comes first
        del found[0]
    return found


def parents_of(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops around `op`, innermost first."""
    parent = op.parent
    while parent is not None:
        yield parent.operation
        parent = parent.operation.parent


def fail(place: Place, message: str, hint: str | None = None) -> InputError:
    """An error to raise where a pass cannot go on: `raise fail(op, "...", hint="...")`."""
    return InputError(Diagnostic(Severity.ERROR, with_hint(message, hint), location_of(place)))
