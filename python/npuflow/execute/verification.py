"""Does a function still compute what it computed? References of the input, and checks of what became of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.errors import UsageError, unknown_name
from npuflow.execute.arrays import Array, ArraySpec, Signature, functions_of, signature_of
from npuflow.execute.bounds import Bound, bounds_of
from npuflow.execute.compare import Comparison, compare
from npuflow.execute.data import arrays_for
from npuflow.execute.jit import Execution, compile_function
from npuflow.execute.limits import ProgramFailedError
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.oracle import run_iree


class Judge(Enum):
    """Who says what the input computes: IREE, the JIT that runs everything else (for memrefs), numpy (in tests)."""

    IREE = "iree"
    JIT = "jit"
    NUMPY = "numpy"

    def __str__(self) -> str:
        names = {Judge.IREE: "IREE", Judge.JIT: "the input's own execution", Judge.NUMPY: "numpy"}
        return names[self]


class Status(Enum):
    """How a check ended; executed is what there was nothing to compare with."""

    OK = "ok"
    EXECUTED = "executed"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Reference:
    """What one function of the input must compute on given inputs, and how far off its results may be.

    The expected arrays are the function's results and, behind them, its memref arguments as it leaves them.
    `why_not_iree` says what kept IREE from judging, where it was asked to.
    """

    signature: Signature
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    bounds: tuple[Bound, ...]
    judge: Judge
    why_not_iree: str = ""

    @property
    def name(self) -> str:
        return self.signature.name


@dataclass(frozen=True)
class Check:
    """A function compared with its reference; `message` says what is wrong, or why it cannot be run."""

    function: str
    status: Status
    comparisons: tuple[Comparison, ...]
    seconds: float
    message: str = ""

    @property
    def worst(self) -> Comparison | None:
        """The comparison to show: one that failed, else the one with the largest share of its bound."""
        ranked = sorted(self.comparisons, key=lambda c: (c.ok, -c.max_error / c.allowed if c.allowed else 0.0))
        return ranked[0] if ranked else None

    def __str__(self) -> str:
        return self.message or (str(self.worst) if self.worst else "no results")


def make_references(module: ir.Operation, function: str, seed: int, judge: Judge) -> list[Reference]:
    """References for one function of the input, or with "" for all of its public ones."""
    functions = {str(op.opview.name.value): op for op in functions_of(module)}
    if function and function not in functions:
        raise UsageError(unknown_name("function", f"@{function}", [f"@{name}" for name in functions]))
    if not functions:
        raise fail(module, "there is no public function with a body to verify")
    chosen = [functions[function]] if function else functions.values()
    return [_reference(module, op, seed, judge) for op in chosen]


def _reference(module: ir.Operation, function: ir.Operation, seed: int, judge: Judge) -> Reference:
    signature = signature_of(function)
    inputs = arrays_for(function, signature.inputs, seed)
    expected: list[Array] | None = None
    reason = ""
    if judge is Judge.IREE:
        try:
            expected = run_iree(module, signature, inputs)
        except NotExecutableError as error:
            judge, reason = Judge.JIT, error.diagnostics[0].message
    if expected is None:
        expected = _observed(
            signature,
            compile_function(module, signature.name).run(inputs, f"the input's own execution of @{signature.name}"),
        )
    bounds = bounds_of(module, signature.name, inputs)
    return Reference(signature, tuple(inputs), tuple(expected), tuple(bounds), judge, reason)


def check(module: ir.Operation, reference: Reference) -> Check:
    """Runs what the module now computes and compares it with the reference."""
    start = time.perf_counter()
    comparisons: tuple[Comparison, ...] = ()
    status, message = Status.OK, ""
    try:
        comparisons = _compared(module, reference)
        status = Status.OK if all(c.ok for c in comparisons) else Status.WRONG
    except ProgramFailedError as error:
        status, message = Status.WRONG, error.diagnostics[0].message
    except NotExecutableError as error:
        status, message = Status.SKIPPED, "; ".join(d.message for d in error.diagnostics)
    return Check(reference.name, status, comparisons, time.perf_counter() - start, message)


def _compared(module: ir.Operation, reference: Reference) -> tuple[Comparison, ...]:
    executable = compile_function(module, reference.name)
    _check_signature(module, reference.signature, executable.signature)
    execution = executable.run(reference.inputs)
    got = _observed(reference.signature, execution)
    pairs = zip(got, reference.expected, reference.bounds, strict=True)
    return tuple(compare(mine, expected, bound) for mine, expected, bound in pairs)


def _observed(before: Signature, execution: Execution) -> list[Array]:
    """Results, those that became arguments to write to included, and the memrefs that were arguments all along."""
    count = len(before.inputs)
    given = zip(execution.arguments[:count], before.is_buffer, strict=True)
    buffers = [array for array, is_buffer in given if is_buffer]
    return [*execution.results, *execution.arguments[count:], *buffers]


def _check_signature(module: ir.Operation, before: Signature, now: Signature) -> None:
    """Results may have become trailing arguments; all else must be as it was."""
    count = len(before.inputs)
    outputs = (*now.outputs, *now.inputs[count:])
    if _kinds(now.inputs[:count]) != _kinds(before.inputs) or _kinds(outputs) != _kinds(before.outputs):
        text = f"the function's type has changed from {before} to {now}, so that its results cannot be compared"
        raise NotExecutableError(fail(module, text).diagnostics)


def _kinds(specs: Sequence[ArraySpec]) -> list[tuple[str, tuple[int, ...]]]:
    return [(spec.element, spec.shape) for spec in specs]
