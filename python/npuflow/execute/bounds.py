"""How far apart two correct executions of a function may be, for each element of its results.

Both compute sums of products, in orders of their own. With g the accumulated roundoff (`rounding`) and S the sum of
the absolute values of all terms (`majorant`), each lies within (exp(g) - 1) S of the exact value, as (1 + u)^n <=
exp(n u): two lie within D = 2 (exp(g) - 1) S of each other. For one matmul g is (k + 2) u, and S is |A| |B|. S itself
is computed with rounding, so it is taken exp(1.01 g) larger. A conversion to a type with unit roundoff v at the very
end is relative to the result rather than to S: it makes D + 2 v |result| of D, with a hundredth and v D for the second
order. Results that may underflow get the spacing of subnormals per rounding on top.

Integers must agree bit by bit, but for those that a float was converted to. Where floats come from outside, from sums
or from functions that are approximated, they may fall to the next integer, and further with the error of these floats:
2 (exp(g) - 1) times the largest result.

A function with other operations than sums, products, divisions by constants, maxima and minima gets the *normwise*
bound instead: `NORMWISE_FACTOR` (exp(g) - 1) times the largest absolute value of the result. That is a rule of thumb,
not a theorem, and is reported as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from npuflow.bindings import ir
from npuflow.core.build import element_type_of
from npuflow.core.passes import fail, ops_of
from npuflow.execute.arrays import FLOAT_FORMATS, Array, is_float, signature_of
from npuflow.execute.jit import compile_function
from npuflow.execute.lowering import NotExecutableError, refusing
from npuflow.execute.majorant import flatten, make_majorant
from npuflow.execute.rounding import ASSUMED_STEPS, Roundoff, result_roundoffs

NORMWISE_FACTOR = 64.0
_CONTROL_FLOW = ("scf.", "cf.", "affine.", "func.call")
_TO_INTEGER = ("arith.fptosi", "arith.fptoui")
_EXACT_FUNCTIONS = frozenset(
    f"math.{name}" for name in "absf ceil copysign floor fma round roundeven sqrt trunc".split()
)


class BoundKind(Enum):
    """Where an allowed difference comes from."""

    EXACT = "exact"
    DERIVED = "derived"
    NORMWISE = "normwise"


@dataclass(frozen=True)
class Bound:
    """What one result may differ by: absolutely per element, and `relative` to the result's largest value.

    `last_rounding` is the unit roundoff of a conversion that ends the computation.
    """

    kind: BoundKind
    absolute: npt.NDArray[np.float64] | None = None
    relative: float = 0.0
    last_rounding: float = 0.0
    reason: str = ""

    def allowed(self, expected: Array) -> npt.NDArray[np.float64]:
        """The allowed difference per element."""
        magnitude = _finite_magnitude(expected)
        allowed = np.full(expected.shape, self.relative * np.max(magnitude, initial=0.0) if self.relative else 0.0)
        if self.absolute is not None:
            allowed += self.absolute * (1.0 + self.last_rounding) + 2.02 * self.last_rounding * magnitude
        return allowed


EXACT = Bound(BoundKind.EXACT)
# Of what exp() is a 64-bit float, with a factor of two in hand.
_LARGEST_EXPONENT = 350.0


def bounds_of(module: ir.Operation, function: str, inputs: Sequence[Array]) -> list[Bound]:
    """One bound per result of `function` in `module`, and per memref argument behind them, for these inputs."""
    with refusing(module, function):
        copy, flat = flatten(module, function)
        signature = signature_of(flat)
        has_floats = any(is_float(spec.element) for spec in (*signature.inputs, *signature.outputs))
        to_integer = bool(ops_of(flat, *_TO_INTEGER)) and (has_floats or _varies(flat))
        if not has_floats and not to_integer:
            return [EXACT] * len(signature.observed)
        problem = "memrefs" if any(signature.is_buffer) else _control_flow(flat)
        roundoffs = [] if problem else result_roundoffs(flat)
        problem = problem or make_majorant(flat)
    worst = max((roundoff.total for roundoff in roundoffs), default=0.0)
    if worst > _LARGEST_EXPONENT:
        what = (
            f"@{function} rounds so often that errors may grow by a factor of exp({worst:.0f}): nothing would be wrong"
        )
        raise NotExecutableError(fail(module, what, "sum in a wider type").diagnostics)
    if problem is not None:
        roundoffs = roundoffs or [_assumed_roundoff(spec.element) for spec in signature.observed]
        kinds = zip(signature.observed, roundoffs, strict=True)
        return [_normwise(spec.element, roundoff, to_integer, problem) for spec, roundoff in kinds]
    sums = compile_function(copy.operation, function).run([_magnitude(array) for array in inputs]).results
    terms = zip(signature.outputs, roundoffs, sums, strict=True)
    return [_derived(spec.element, roundoff, total) for spec, roundoff, total in terms]


def _finite_magnitude(values: Array) -> npt.NDArray[np.float64]:
    magnitude = np.abs(values.astype(np.float64))
    return np.where(np.isfinite(magnitude), magnitude, 0.0)


def _control_flow(function: ir.Operation) -> str | None:
    return next((op.name for op in ops_of(function) if op.name.startswith(_CONTROL_FLOW)), None)


def _varies(function: ir.Operation) -> bool:
    """Whether floats on the way are sums in any order, or functions that everybody approximates in a way of his own."""
    approximated = (op for op in ops_of(function) if op.name.startswith("math.") and op.name not in _EXACT_FUNCTIONS)
    sums = (op for op in ops_of(function, "linalg.generic") if "reduction" in str(op.attributes["iterator_types"]))
    others = ops_of(function, "linalg.softmax")
    return any(isinstance(element_type_of(op.results[0]), ir.FloatType) for op in (*approximated, *sums, *others))


def _assumed_roundoff(element: str) -> Roundoff:
    return Roundoff(ASSUMED_STEPS * FLOAT_FORMATS[element].unit_roundoff if is_float(element) else 0.0)


def _magnitude(array: Array) -> Array:
    return array if array.dtype.kind in "bi" else np.abs(array)


def _normwise(element: str, roundoff: Roundoff, to_integer: bool, reason: str) -> Bound:
    if not is_float(element):
        relative = 2.0 * math.expm1(roundoff.total)
        return Bound(BoundKind.NORMWISE, np.ones(()), relative, reason=reason) if to_integer else EXACT
    at_least = 4 * FLOAT_FORMATS[element].unit_roundoff
    return Bound(
        BoundKind.NORMWISE, relative=NORMWISE_FACTOR * math.expm1(max(roundoff.total, at_least)), reason=reason
    )


def _derived(element: str, roundoff: Roundoff, sums: Array) -> Bound:
    if not is_float(element):
        return EXACT
    if not np.isfinite(sums.astype(np.float64)).all():
        return _normwise(element, roundoff, to_integer=False, reason="sums that overflow")
    known = FLOAT_FORMATS[element]
    roundings = 1.0 + roundoff.total / known.unit_roundoff
    scale = 2.0 * math.expm1(roundoff.from_inputs) * math.exp(1.01 * roundoff.total)
    absolute = scale * sums.astype(np.float64) + 2.0 * roundings * known.smallest
    return Bound(BoundKind.DERIVED, absolute, last_rounding=roundoff.last)
