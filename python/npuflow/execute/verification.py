"""Does a function still compute what it computed?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.execute.arrays import Array, ArraySpec, Signature
from npuflow.execute.bounds import BoundKind, observed_arrays, wide_inputs
from npuflow.execute.compare import Comparison, worst_of
from npuflow.execute.jit import Executable, compile_function
from npuflow.execute.limits import ProgramFailedError
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.references import Reference, compare_all, known_right
from npuflow.execute.widen import NoWiderFormError, widened

Run = Callable[[Sequence[Array]], Sequence[Array]]


class Status(Enum):
    """How a check ended; with nothing to compare with it is `executed`, with bounds that say nothing `unchecked`."""

    OK = "ok"
    EXECUTED = "executed"
    UNCHECKED = "unchecked"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Outcome:
    """Results compared with a reference: in the program's types and, where that is something else, in 64 bits."""

    narrow: tuple[Comparison, ...]
    wide: tuple[Comparison, ...] = ()

    @property
    def status(self) -> Status:
        if not all(comparison.ok for comparison in (*self.narrow, *self.wide)):
            return Status.WRONG
        pairs = zip(self.narrow, self.wide or self.narrow, strict=True)
        return Status.UNCHECKED if any(n.is_blind and w.is_blind for n, w in pairs) else Status.OK

    @property
    def worst(self) -> Comparison | None:
        """The comparison to show."""
        wrong = [comparison for comparison in self.wide if not comparison.ok]
        return worst_of(wrong or self.narrow)

    def __str__(self) -> str:
        narrow, wide = worst_of(self.narrow), worst_of(self.wide)
        if narrow is None:
            return "no results"
        if wide is None or not narrow.ok:
            return str(narrow)
        if not wide.ok:
            return f"in 64 bits {wide}"
        if str(wide) == str(narrow):
            return str(narrow)
        if wide.is_blind or wide.kind is BoundKind.EXACT:
            return f"{narrow}; in 64 bits {wide}"
        return f"{narrow}; in 64 bits {wide.max_error:.3g} of {wide.allowed:.3g}"


@dataclass(frozen=True)
class Check:
    """A function compared with its reference; `message` says what is wrong, or why it cannot be run."""

    function: str
    status: Status
    outcome: Outcome
    seconds: float
    message: str = ""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return (*self.outcome.narrow, *self.outcome.wide)

    def __str__(self) -> str:
        return self.message or str(self.outcome)


def check(module: ir.Operation, reference: Reference) -> Check:
    """Runs what the module now computes and compares it with the reference."""
    start = time.perf_counter()
    outcome = Outcome((), ())
    status, message = Status.OK, ""
    try:
        outcome = _compared(module, reference)
        status = outcome.status
        if reference.dispute:
            status, message = Status.WRONG, reference.dispute
    except ProgramFailedError as error:
        status, message = Status.WRONG, error.diagnostics[0].message
    except NotExecutableError as error:
        status, message = Status.SKIPPED, "; ".join(d.message for d in error.diagnostics)
    return Check(reference.name, status, outcome, time.perf_counter() - start, message)


def _compared(module: ir.Operation, reference: Reference) -> Outcome:
    executable = compile_function(module, reference.name)
    _check_signature(module, reference.signature, executable.signature)

    def run(program: Executable, inputs: Sequence[Array]) -> Sequence[Array]:
        return observed_arrays(reference.signature, program.run(inputs))

    wide: Executable | None = None
    with suppress(NoWiderFormError):
        if reference.has_floats:
            wide = compile_function(widened(module, reference.name).operation, reference.name)
    return outcome_of(
        reference,
        lambda inputs: run(executable, inputs),
        (lambda inputs: run(wide, inputs)) if wide is not None else None,
    )


def outcome_of(reference: Reference, run: Run, run_wide: Run | None) -> Outcome:
    """What runs in the program's types, and in 64 bits, give on all of the reference's data, compared."""
    narrow: list[Comparison] = []
    wide: list[Comparison] = []
    for one in reference.on_all_data:
        results = run(one.inputs)
        known = known_right(results, one)
        narrow += compare_all(results, one, one.bounds, known)
        if run_wide is not None:
            wide += compare_all(run_wide(wide_inputs(one.inputs)), one, one.wide_bounds, known)
    return Outcome(tuple(narrow), tuple(wide))


def _check_signature(module: ir.Operation, before: Signature, now: Signature) -> None:
    """Results may have become trailing arguments; all else must be as it was."""
    count = len(before.inputs)
    outputs = (*now.outputs, *now.inputs[count:])
    if _kinds(now.inputs[:count]) != _kinds(before.inputs) or _kinds(outputs) != _kinds(before.outputs):
        text = f"the function's type has changed from {before} to {now}, so that its results cannot be compared"
        raise NotExecutableError(fail(module, text).diagnostics)


def _kinds(specs: Sequence[ArraySpec]) -> list[tuple[str, tuple[int, ...]]]:
    return [(spec.element, spec.shape) for spec in specs]
