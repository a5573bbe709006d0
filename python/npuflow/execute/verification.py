"""Does a function still compute what it computed? References of the input, and checks of what became of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.errors import UsageError, unknown_name
from npuflow.execute.arrays import FLOAT_FORMATS, Array, ArraySpec, Signature, functions_of, is_float, signature_of
from npuflow.execute.bounds import Bound, BoundKind, Evaluation, evaluate, observed_arrays, typical_size, wide_inputs
from npuflow.execute.compare import Comparison, compare, worst_of
from npuflow.execute.data import Draw, arrays_for, share_that_tells
from npuflow.execute.jit import compile_function
from npuflow.execute.limits import ProgramFailedError
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.oracle import run_iree, runs_wide
from npuflow.execute.widen import NoWiderFormError, widened

# With fewer elements that can be checked, or that tell something, a program is tried with other data.
_CHECKED, _TELLING = 0.99, 0.02
# IREE approximates functions in the program's own types: so many of their roundings, beside as many bounds.
_JUDGES_ROUNDINGS = 32.0


class Judge(Enum):
    """Who confirms what the input computes: IREE, nobody but the JIT that runs everything else, numpy (in tests)."""

    IREE = "iree"
    JIT = "jit"
    NUMPY = "numpy"

    def __str__(self) -> str:
        names = {Judge.IREE: "IREE", Judge.JIT: "the input's own execution", Judge.NUMPY: "numpy"}
        return names[self]


class Status(Enum):
    """How a check ended; with nothing to compare with it is `executed`, with bounds that say nothing `unchecked`."""

    OK = "ok"
    EXECUTED = "executed"
    UNCHECKED = "unchecked"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Reference:
    """What one function of the input must compute on given inputs, and how far off its results may be.

    The expected arrays are the function's results and, behind them, its memref arguments as it leaves them; floats have
    64 bits. `bounds` are for executions in the program's types, `wide_bounds` for those in 64 bits, if there are any.
    `dispute` says where the judge disagrees with the input's own execution, `why_not_iree` what kept IREE from judging
    where it was asked to.
    """

    signature: Signature
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    bounds: tuple[Bound, ...]
    judge: Judge
    wide_bounds: tuple[Bound, ...] = ()
    dispute: str = ""
    why_not_iree: str = ""

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def has_floats(self) -> bool:
        """Whether executions in 64 bits are others than those in the program's own types."""
        return bool(self.wide_bounds)


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


def make_references(module: ir.Operation, function: str, seed: int, judge: Judge) -> list[Reference]:
    """References for one function of the input, or with "" for all of its public ones, confirmed by the judge."""
    functions = {str(op.opview.name.value): op for op in functions_of(module)}
    if function and function not in functions:
        raise UsageError(unknown_name("function", f"@{function}", [f"@{name}" for name in functions]))
    if not functions:
        raise fail(module, "there is no public function with a body to verify")
    chosen = [functions[function]] if function else functions.values()
    return [judged(module, make_reference(module, op, seed), judge) for op in chosen]


def make_reference(module: ir.Operation, function: ir.Operation, seed: int) -> Reference:
    """What a function computes by its own execution, on the data that tells most of those that are tried."""
    signature = signature_of(function)
    best: tuple[float, list[Array], Evaluation] | None = None
    for draw in Draw:
        inputs = arrays_for(function, signature.inputs, seed, draw)
        found = evaluate(module, signature, inputs)
        checked, telling = _shares(found)
        if best is None or checked * telling > best[0]:
            best = checked * telling, inputs, found
        if (checked >= _CHECKED and telling >= _TELLING) or not inputs:
            break
    assert best is not None
    _, inputs, found = best
    return Reference(signature, tuple(inputs), found.expected, found.narrow, Judge.JIT, found.wide)


def _shares(found: Evaluation) -> tuple[float, float]:
    """How much can be compared, and how much tells something, of the results of which that is least."""
    pairs = list(zip(found.expected, found.wide or found.narrow, strict=True))
    checked = (float(np.mean(bound.checkable(result))) if result.size else 1.0 for result, bound in pairs)
    return min(checked, default=1.0), min((share_that_tells(result) for result, _ in pairs), default=1.0)


def judged(module: ir.Operation, reference: Reference, judge: Judge) -> Reference:
    """The reference as the judge sees it: confirmed, disputed, or beyond what IREE can run."""
    if judge is not Judge.IREE:
        return reference
    try:
        got, bounds = _by_iree(module, reference)
    except NotExecutableError as error:
        return replace(reference, why_not_iree=error.diagnostics[0].message)
    worst = worst_of(compare_all(got, reference, bounds))
    if worst is not None and worst.is_blind:
        return replace(reference, why_not_iree="IREE has no wider form of it, and its own types tell nothing")
    dispute = "" if worst is None or worst.ok else f"{judge} computes something else than our own execution: {worst}"
    return replace(reference, judge=judge, dispute=dispute)


def _by_iree(module: ir.Operation, reference: Reference) -> tuple[list[Array], Sequence[Bound]]:
    """What IREE computes, in 64 bits if it can, and how far from the reference that may be."""
    if reference.has_floats and runs_wide(module, reference.name):
        wide = widened(module, reference.name).operation
        (function,) = functions_of(wide)
        with suppress(NotExecutableError):
            return run_iree(wide, signature_of(function), wide_inputs(reference.inputs)), reference.wide_bounds
    results = run_iree(module, reference.signature, reference.inputs)
    specs = reference.signature.outputs
    lenient = [_lenient(*each) for each in zip(specs, reference.expected, reference.bounds, strict=True)]
    return results, lenient


def _lenient(spec: ArraySpec, expected: Array, bound: Bound) -> Bound:
    """A bound for one whose functions are approximations in the result's type."""
    if bound.allowed is None or not is_float(spec.element):
        return bound
    size = _JUDGES_ROUNDINGS * FLOAT_FORMATS[spec.element].unit_roundoff * typical_size(expected)
    return replace(bound, allowed=_JUDGES_ROUNDINGS * bound.allowed + size)


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


def compare_all(got: Sequence[Array], reference: Reference, bounds: Sequence[Bound]) -> tuple[Comparison, ...]:
    """Every result with what is expected of it."""
    return tuple(compare(*each) for each in zip(got, reference.expected, bounds, strict=True))


def _compared(module: ir.Operation, reference: Reference) -> Outcome:
    executable = compile_function(module, reference.name)
    _check_signature(module, reference.signature, executable.signature)
    execution = executable.run(reference.inputs)
    narrow = compare_all(observed_arrays(reference.signature, execution), reference, reference.bounds)
    if not reference.has_floats:
        return Outcome(narrow)
    try:
        wide = widened(module, reference.name)
    except NoWiderFormError:
        return Outcome(narrow)
    execution = compile_function(wide.operation, reference.name).run(wide_inputs(reference.inputs))
    got = observed_arrays(reference.signature, execution)
    return Outcome(narrow, compare_all(got, reference, reference.wide_bounds))


def _check_signature(module: ir.Operation, before: Signature, now: Signature) -> None:
    """Results may have become trailing arguments; all else must be as it was."""
    count = len(before.inputs)
    outputs = (*now.outputs, *now.inputs[count:])
    if _kinds(now.inputs[:count]) != _kinds(before.inputs) or _kinds(outputs) != _kinds(before.outputs):
        text = f"the function's type has changed from {before} to {now}, so that its results cannot be compared"
        raise NotExecutableError(fail(module, text).diagnostics)


def _kinds(specs: Sequence[ArraySpec]) -> list[tuple[str, tuple[int, ...]]]:
    return [(spec.element, spec.shape) for spec in specs]
