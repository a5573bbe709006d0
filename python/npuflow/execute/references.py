"""What a function of the input must compute, on data that tells, and what an independent compiler says of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.errors import UsageError, unknown_name
from npuflow.execute.arrays import FLOAT_FORMATS, Array, ArraySpec, Signature, functions_of, is_float, signature_of
from npuflow.execute.bounds import Bound, evaluate, observed_arrays, typical_size, wide_inputs
from npuflow.execute.compare import Comparison, Known, compare, same_elements, worst_of
from npuflow.execute.data import Draw, arrays_for, share_that_tells
from npuflow.execute.jit import compile_function
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.one_result import with_one_result
from npuflow.execute.oracle import run_iree, runs_wide
from npuflow.execute.widen import widened

# With fewer elements that can be checked, or that tell something, a program is tried with other data too.
_CHECKED, _TELLING = 0.99, 0.2
_OTHERS = 2
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


@dataclass(frozen=True)
class Reference:
    """What one function of the input must compute on given inputs, and how far off its results may be.

    The expected arrays are the function's results and, behind them, its memref arguments as it leaves them; floats have
    64 bits. `bounds` are for executions in the program's types, `wide_bounds` for those in 64 bits, if there are any.
    `dispute` says where the judge disagrees with the input's own execution, `why_not_iree` what kept IREE from judging
    where it was asked to. `others` are references on other data, where these inputs alone tell too little.

    Where bounds say nothing of some element, `own` is what the function computes in its own types: an element that is
    the same to the bit is right, whatever 64 bits would make of it: something else where a float is cut to an integer.
    """

    signature: Signature
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    bounds: tuple[Bound, ...]
    judge: Judge
    wide_bounds: tuple[Bound, ...] = ()
    dispute: str = ""
    why_not_iree: str = ""
    others: tuple[Reference, ...] = ()
    own: tuple[Array, ...] = ()

    @property
    def on_all_data(self) -> tuple[Reference, ...]:
        """The reference on its own inputs, and on others."""
        return (self, *self.others)

    @property
    def name(self) -> str:
        return self.signature.name

    def of_result(self, number: int) -> Reference:
        """The same of a function that returns one of its results."""
        here = slice(number, number + 1)
        return Reference(
            replace(self.signature, outputs=self.signature.outputs[here]),
            self.inputs,
            self.expected[here],
            self.bounds[here],
            self.judge,
            self.wide_bounds[here],
        )

    @property
    def has_floats(self) -> bool:
        """Whether executions in 64 bits are others than those in the program's own types."""
        return bool(self.wide_bounds)


def make_references(module: ir.Operation, function: str, seed: int, judge: Judge) -> list[Reference]:
    """References for one function of the input, or with "" for all of its public ones, confirmed by the judge."""
    functions = {str(op.opview.name.value): op for op in functions_of(module)}
    if function and function not in functions:
        raise UsageError(unknown_name("function", f"@{function}", [f"@{name}" for name in functions]))
    if not functions:
        raise fail(module, "there is no public function with a body to be verified", "add one, or make one public")
    chosen = [functions[function]] if function else functions.values()
    return [judged(module, make_reference(module, op, seed), judge) for op in chosen]


@dataclass(frozen=True)
class _Tried:
    """A reference on one draw: how much of its results can be compared, and how much of them tells something."""

    reference: Reference
    checked: float
    telling: float

    @property
    def is_enough(self) -> bool:
        return self.checked >= _CHECKED and self.telling >= _TELLING

    @property
    def score(self) -> float:
        return self.checked * self.telling

    @property
    def own_telling(self) -> float:
        """How much of the results as the function's own types have them tells something."""
        return min((share_that_tells(result) for result in self.reference.own), default=0.0)


def make_reference(module: ir.Operation, function: ir.Operation, seed: int) -> Reference:
    """What a function computes by its own execution, on random data, and on what tells most if that tells little."""
    tried: list[_Tried] = []
    for draw in Draw:
        tried.append(_try(module, function, seed, draw))
        if tried[-1].is_enough or not tried[-1].reference.inputs:
            break
    first, *others = tried
    best = sorted((one for one in others if one.score > 0), key=lambda one: -one.score)[:_OTHERS]
    if not best and first.checked < _CHECKED:  # what it computes in its own types is all there is
        return max(tried, key=lambda one: one.own_telling).reference
    if best and first.checked < _CHECKED:  # what is no number tells nothing that others don't
        return max(best[0], first, key=lambda one: one.score).reference
    return replace(first.reference, others=tuple(one.reference for one in best))


def _try(module: ir.Operation, function: ir.Operation, seed: int, draw: Draw) -> _Tried:
    signature = signature_of(function)
    inputs = arrays_for(function, signature.inputs, seed, draw)
    found = evaluate(module, signature, inputs)
    pairs = list(zip(found.expected, found.wide or found.narrow, strict=True))
    checked = (float(np.mean(bound.checkable(result))) if result.size else 1.0 for result, bound in pairs)
    telling = (share_that_tells(result) for result, _ in pairs)
    is_known = all(bound.checkable(result).all() for result, bound in zip(found.expected, found.narrow, strict=True))
    own = () if is_known else _own_results(module, signature, inputs)
    reference = Reference(signature, tuple(inputs), found.expected, found.narrow, Judge.JIT, found.wide, own=own)
    return _Tried(reference, min(checked, default=1.0), min(telling, default=1.0))


def _own_results(module: ir.Operation, signature: Signature, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """What the function computes in its own types; nothing where it can't be run so."""
    with suppress(NotExecutableError):
        return tuple(observed_arrays(signature, compile_function(module, signature.name).run(inputs)))
    return ()


def judged(module: ir.Operation, reference: Reference, judge: Judge) -> Reference:
    """The reference as the judge sees it: confirmed, disputed, or beyond what IREE can run."""
    if judge is not Judge.IREE:
        return reference
    worst: list[Comparison] = []
    for one in reference.on_all_data:
        try:
            got, bounds = _by_iree(module, one)
        except NotExecutableError as error:
            return replace(reference, why_not_iree=error.diagnostics[0].message)
        found = compare_all(got, one, bounds)
        worst += [each if each.ok else _alone(module, one, number, each) for number, each in enumerate(found)]
    most = worst_of(worst)
    if most is not None and most.is_blind:
        return replace(reference, why_not_iree="IREE has no wider form of it, and its own types tell nothing")
    dispute = "" if most is None or most.ok else f"{judge} computes something else than our own execution: {most}"
    return replace(reference, judge=judge, dispute=dispute)


def _alone(module: ir.Operation, reference: Reference, number: int, found: Comparison) -> Comparison:
    """What IREE says of a result that it disputes with nothing beside it, and then with no two ops fused.

    It computes some results wrongly only because of what else a function does: what it has right alone is right.
    """
    one = reference.of_result(number)
    alone = with_one_result(module, reference.name, number).operation
    for fuses in (True, False):
        with suppress(NotExecutableError):
            got, bounds = _by_iree(alone, one, fuses=fuses)
            (again,) = compare_all(got, one, bounds)
            if again.ok:
                return again
    return found


def _by_iree(module: ir.Operation, reference: Reference, *, fuses: bool = True) -> tuple[list[Array], Sequence[Bound]]:
    """What IREE computes, in 64 bits if it can, and how far from the reference that may be."""
    if reference.has_floats and runs_wide(module, reference.name):
        wide = widened(module, reference.name).operation
        (function,) = functions_of(wide)
        with suppress(NotExecutableError):
            inputs = wide_inputs(reference.inputs)
            return run_iree(wide, signature_of(function), inputs, fuses=fuses), reference.wide_bounds
    results = run_iree(module, reference.signature, reference.inputs, fuses=fuses)
    specs = reference.signature.outputs
    lenient = [_lenient(*each) for each in zip(specs, reference.expected, reference.bounds, strict=True)]
    return results, lenient


def _lenient(spec: ArraySpec, expected: Array, bound: Bound) -> Bound:
    """A bound for one whose functions are approximations in the result's type."""
    if bound.allowed is None or not is_float(spec.element):
        return bound
    size = _JUDGES_ROUNDINGS * FLOAT_FORMATS[spec.element].unit_roundoff * typical_size(expected)
    return replace(bound, allowed=_JUDGES_ROUNDINGS * bound.allowed + size)


def compare_all(
    got: Sequence[Array], reference: Reference, bounds: Sequence[Bound], known: Sequence[Known | None] = ()
) -> tuple[Comparison, ...]:
    """Every result with what is expected of it; elements that are `known` to be right are."""
    masks = known or [None] * len(got)
    return tuple(compare(*each) for each in zip(got, reference.expected, bounds, masks, strict=True))


def known_right(got: Sequence[Array], reference: Reference) -> list[Known]:
    """Which elements of results are what the function computes in its own types; none where that isn't looked at."""
    return [same_elements(*each) for each in zip(got, reference.own, strict=True)] if reference.own else []
