"""What a function computes on given inputs, in 64 bits, and how far from it executions may be, element by element.

Twice: *narrow* executions round to the program's types, *wide* ones hold every float in 64 bits, whatever its type
(`widen`). What a pass or a schedule does to a program shows in the second, where next to nothing is rounded, and its
types show in the first. Both bounds come from running the errors along with the values (`running_errors`); the wide one
counts an operation as 2^-40 instead of f64's 2^-53, because some other order may do worse.

A function that errors cannot be run along with, one of memrefs or loops, gets an *observed* bound: what its own
execution differs from the wide one, 16 times over all of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from npuflow.bindings import ir
from npuflow.execute.arrays import FLOAT_FORMATS, Array, Signature, is_float
from npuflow.execute.clone import clone_function, function_of
from npuflow.execute.error_rules import NoRuleError
from npuflow.execute.jit import Execution, compile_function
from npuflow.execute.lowering import refusing
from npuflow.execute.running_errors import error_program
from npuflow.execute.widen import holds_floats, widened

# What an operation in 64 bits counts as.
WIDE_ROUNDOFF = 2.0**-40
# By how much more than the input's own execution others may be off, and how near wide ones are to each other.
_OBSERVED_TIMES, _OBSERVED_WIDE = 16.0, 2.0**-32
# An element is worth checking where its bound is below this share of it, or of the whole result's size.
_MEANINGFUL = 0.5


class BoundKind(Enum):
    """Where an allowed difference comes from."""

    EXACT = "exact"
    DERIVED = "derived"
    OBSERVED = "observed"


@dataclass(frozen=True)
class Bound:
    """What the elements of one result may differ by; None for nothing. `reason` says why it is only observed."""

    kind: BoundKind
    allowed: npt.NDArray[np.float64] | None = None
    reason: str = ""

    def checkable(self, expected: Array) -> npt.NDArray[np.bool_]:
        """Where the bound says something: it is finite, and well below the size of what it is about."""
        if self.allowed is None:
            return np.ones(expected.shape, np.bool_)
        size = np.abs(expected.astype(np.float64))
        is_number, typical = np.isfinite(size), typical_size(expected)
        allowed = np.broadcast_to(self.allowed, expected.shape)
        meaningful = (allowed == 0) | (allowed < _MEANINGFUL * np.maximum(np.where(is_number, size, 0.0), typical))
        return np.where(is_number, meaningful, np.isfinite(allowed))


def typical_size(result: Array) -> float:
    """The root mean square of a result's finite elements."""
    values = result.astype(np.float64)
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0


EXACT = Bound(BoundKind.EXACT)


@dataclass(frozen=True)
class Evaluation:
    """Results, and behind them memref arguments, with floats in 64 bits; `wide` is empty where there are no floats."""

    expected: tuple[Array, ...]
    narrow: tuple[Bound, ...]
    wide: tuple[Bound, ...] = ()


def evaluate(module: ir.Operation, signature: Signature, inputs: Sequence[Array]) -> Evaluation:
    """What the function of that signature computes, by the JIT."""
    with refusing(module, signature.name):
        copy = clone_function(module, signature.name)
        has_floats = holds_floats(function_of(copy, signature.name))
    if not has_floats:
        results = observed_arrays(signature, compile_function(module, signature.name).run(inputs))
        return Evaluation(tuple(results), (EXACT,) * len(results))
    if any(signature.is_buffer):
        return _observed(module, signature, inputs, "memrefs")
    try:
        return _derived(module, signature, inputs)
    except NoRuleError as error:
        return _observed(module, signature, inputs, str(error))


def wide_inputs(inputs: Sequence[Array]) -> list[Array]:
    """Inputs of a widened function: the same numbers."""
    return [array.astype(np.float64) if is_float_array(array) else array for array in inputs]


def is_float_array(array: Array) -> bool:
    return array.dtype.kind not in "biu"


def observed_arrays(before: Signature, execution: Execution) -> list[Array]:
    """Results, those that became arguments to write to included, and the memrefs that were arguments all along."""
    count = len(before.inputs)
    given = zip(execution.arguments[:count], before.is_buffer, strict=True)
    buffers = [array for array, is_buffer in given if is_buffer]
    return [*execution.results, *execution.arguments[count:], *buffers]


def _derived(module: ir.Operation, signature: Signature, inputs: Sequence[Array]) -> Evaluation:
    with refusing(module, signature.name):
        program = error_program(module, signature.name)
    executable = compile_function(program.module.operation, program.function, poison=False)
    given = wide_inputs(inputs)
    narrow, wide = (
        executable.run([*given, np.array(times), np.array(roundoff)]).results
        for times, roundoff in ((1.0, 0.0), (0.0, WIDE_ROUNDOFF))
    )
    values = tuple(narrow[position] for position in _places(program.errors))
    return Evaluation(values, _bounds(narrow, program.errors), _bounds(wide, program.errors))


def _places(errors: Sequence[int | None]) -> list[int]:
    """Where values stand among values and errors."""
    taken = set(errors)
    return [place for place in range(len(errors) + len(taken - {None})) if place not in taken]


def _bounds(results: Sequence[Array], errors: Sequence[int | None]) -> tuple[Bound, ...]:
    return tuple(
        EXACT if place is None else Bound(BoundKind.DERIVED, results[place].astype(np.float64)) for place in errors
    )


def _observed(module: ir.Operation, signature: Signature, inputs: Sequence[Array], reason: str) -> Evaluation:
    own = observed_arrays(signature, compile_function(module, signature.name).run(inputs))
    with refusing(module, signature.name):
        copy = widened(module, signature.name)
    wide = observed_arrays(signature, compile_function(copy.operation, signature.name).run(wide_inputs(inputs)))
    narrow_bounds, wide_bounds = [], []
    for spec, mine, exact in zip(signature.observed, own, wide, strict=True):
        size, error = _largest(exact), _largest(mine.astype(np.float64) - exact.astype(np.float64))
        unit = FLOAT_FORMATS[spec.element].unit_roundoff if is_float(spec.element) else 0.0
        narrow_bounds.append(_normwise(_OBSERVED_TIMES * error + 4 * unit * size, reason))
        wide_bounds.append(_normwise(_OBSERVED_WIDE * size if unit else 0.0, reason))
    return Evaluation(tuple(wide), tuple(narrow_bounds), tuple(wide_bounds))


def _normwise(allowed: float, reason: str) -> Bound:
    return Bound(BoundKind.OBSERVED, np.full((), allowed), reason) if allowed else EXACT


def _largest(values: Array) -> float:
    size = np.abs(values.astype(np.float64))
    return float(np.max(size[np.isfinite(size)], initial=0.0))
