"""Runs a pipeline and checks its results: at the end, or after every pass, so that a wrong one is found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import leaves_of
from npuflow.core.pipeline_text import PassNest
from npuflow.core.runner import Instrumentation, PassRun, Runner
from npuflow.execute.limits import DEFAULT_LIMITS, Limits, limited
from npuflow.execute.references import Judge, Reference, make_references
from npuflow.execute.verification import Check, Status, check

INPUT = "input"


@dataclass(frozen=True)
class Request:
    """What to verify and how; the pipeline is an expanded one, and function "" means every public one."""

    pipeline: PassNest
    each: bool = False
    function: str = ""
    seed: int = 0
    judge: Judge = Judge.IREE
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class PassCheck:
    """The checks of all functions after pass number `position`, as the pipeline's text has it; 0 is the input."""

    position: int
    name: str
    text: str
    checks: tuple[Check, ...]

    @property
    def wrong(self) -> Check | None:
        return next((c for c in self.checks if c.status is Status.WRONG), None)

    @property
    def skipped(self) -> Check | None:
        return next((c for c in self.checks if c.status in (Status.SKIPPED, Status.UNCHECKED)), None)


@dataclass(frozen=True)
class Verdict:
    """Every check that was made, in order. After a wrong one there are no more."""

    references: tuple[Reference, ...]
    pass_checks: tuple[PassCheck, ...]
    pass_count: int

    @property
    def last(self) -> PassCheck:
        return self.pass_checks[-1]

    @property
    def ok(self) -> bool:
        return self.last.wrong is None and self.last.skipped is None


def verify_pipeline(
    module: ir.Module, request: Request, report: Callable[[PassCheck], None], sink: DiagnosticSink | None = None
) -> Verdict:
    """Runs the pipeline over `module` and compares what it then computes with what it computed before.

    `report` gets each check as it is made. With `each`, the input's own execution is checked first.
    """
    with limited(request.limits):
        return _verified(module, request, report, sink or DiagnosticSink())


def _verified(
    module: ir.Module, request: Request, report: Callable[[PassCheck], None], sink: DiagnosticSink
) -> Verdict:
    references = make_references(module.operation, request.function, request.seed, request.judge)
    watcher = _Watcher(references, report, request)
    leaves = [leaf for _, leaf in leaves_of(request.pipeline)]
    instrumentations = [watcher] if request.each else []
    runner = Runner(request.pipeline, instrumentations=instrumentations, sink=sink)
    try:
        if request.each or not leaves:
            watcher.check_now(module.operation, 0, INPUT, INPUT)
        runner.run(module)
        if not watcher.is_current(module.operation):
            watcher.check_now(module.operation, len(leaves), leaves[-1].name, str(leaves[-1]))
    except _WrongResultsError:
        pass
    return Verdict(tuple(references), tuple(watcher.made), len(leaves))


class _WrongResultsError(Exception):
    """Stops the pipeline where results have become wrong."""


@dataclass
class _Watcher(Instrumentation):
    references: Sequence[Reference]
    report: Callable[[PassCheck], None]
    request: Request
    made: list[PassCheck] = field(default_factory=list)
    _checked: str = ""

    def check_now(self, module: ir.Operation, position: int, name: str, text: str) -> None:
        """Checks the module as it is; raises where its results are wrong."""
        checks = tuple(check(module, reference) for reference in self.references)
        self.made.append(PassCheck(position, name, text, checks))
        self._checked = str(module)
        self.report(self.made[-1])
        if self.made[-1].wrong is not None:
            raise _WrongResultsError

    def is_current(self, module: ir.Operation) -> bool:
        """Whether the last check was of the module as it is now."""
        return bool(self.made) and str(module) == self._checked

    def after_pass(self, run: PassRun) -> None:
        """Passes that changed nothing need no check."""
        module = _outermost(run.op)
        if not self.is_current(module):
            self.check_now(module, run.position, run.name, str(run.leaf))


def _outermost(op: ir.Operation) -> ir.Operation:
    while op.parent is not None:
        op = op.parent.operation
    return op
