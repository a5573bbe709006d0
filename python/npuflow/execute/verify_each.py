"""Checks the results after every pass that changed something, so that a wrong pass is found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.core.runner import Instrumentation, PassRun
from npuflow.execute.jit import DEFAULT_TIME_LIMIT_SECONDS
from npuflow.execute.verification import Check, Reference, Status, check


@dataclass(frozen=True)
class PassCheck:
    """The checks of all functions after pass number `position` (0 is the input)."""

    position: int
    name: str
    checks: tuple[Check, ...]

    @property
    def is_wrong(self) -> bool:
        return any(c.status is Status.WRONG for c in self.checks)

    @property
    def is_executable(self) -> bool:
        return all(c.status is not Status.SKIPPED for c in self.checks)


class WrongPassError(Exception):
    """Stops a pipeline after a pass with wrong results."""


@dataclass
class VerifyEach(Instrumentation):
    """Reports a check after each pass that changed the module; stops the pipeline at the first that is wrong."""

    references: Sequence[Reference]
    report: Callable[[PassCheck], None]
    time_limit_seconds: float = DEFAULT_TIME_LIMIT_SECONDS
    position: int = 0
    last: PassCheck | None = field(default=None, init=False)
    _text: str = field(default="", init=False)

    def check_now(self, module: ir.Operation, name: str) -> PassCheck:
        """Checks every function of the module as it is, and reports."""
        checks = tuple(check(module, reference, self.time_limit_seconds) for reference in self.references)
        self.last = PassCheck(self.position, name, checks)
        self._text = str(module)
        self.report(self.last)
        return self.last

    def after_pass(self, run: PassRun) -> None:
        self.position += 1
        module = _outermost(run.op)
        if str(module) == self._text:
            return
        if self.check_now(module, str(run.leaf)).is_wrong:
            raise WrongPassError


def _outermost(op: ir.Operation) -> ir.Operation:
    while op.parent is not None:
        op = op.parent.operation
    return op
