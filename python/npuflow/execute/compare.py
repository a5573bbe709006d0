"""What was computed against what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npuflow.execute.arrays import Array
from npuflow.execute.bounds import Bound, BoundKind

Known = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Mismatch:
    """One element that is further off than allowed."""

    index: tuple[int, ...]
    got: float | int
    expected: float | int
    allowed: float

    def __str__(self) -> str:
        at = ", ".join(map(str, self.index))
        return f"[{at}] is {self.got}, expected {self.expected}" + (f" +- {self.allowed:.3g}" if self.allowed else "")


@dataclass(frozen=True)
class Comparison:
    """How two arrays compare; `allowed` is the bound at the element of the largest error.

    `share` is the most that any error takes of its bound; `unchecked` counts elements of which the bound says nothing,
    as it reaches the results' size, and which are left out of all else.
    """

    kind: BoundKind
    max_error: float
    allowed: float
    wrong: int
    size: int
    first: Mismatch | None = None
    unchecked: int = 0
    share: float = 0.0

    @property
    def ok(self) -> bool:
        return self.wrong == 0

    @property
    def is_blind(self) -> bool:
        """Whether no element could be checked."""
        return 0 < self.size == self.unchecked

    def __str__(self) -> str:
        if self.first is not None:
            return f"{self.wrong} of {self.size} elements are wrong, the first: {self.first}"
        if self.is_blind:
            return "not checked: the error that is allowed reaches the results' size"
        if self.kind is BoundKind.EXACT:
            return "bit-exact"
        text = f"max error {self.max_error:.3g} of {self.allowed:.3g} allowed ({self.kind.value})"
        return f"{text}, {self.unchecked} of {self.size} elements not checked" if self.unchecked else text


def compare(got: Array, expected: Array, bound: Bound, known: Known | None = None) -> Comparison:
    """Compares element by element, floats with 64-bit ones. NaN equals NaN, and infinities equal themselves.

    Elements that are `known` to be right have no error, whatever is expected of them.
    """
    if got.shape != expected.shape or expected.dtype not in (got.dtype, np.float64):
        raise ValueError(f"{got.dtype}{got.shape} cannot be compared with {expected.dtype}{expected.shape}")
    if not got.size:
        return Comparison(bound.kind, 0.0, 0.0, 0, 0)
    allowed = np.zeros(got.shape) if bound.allowed is None else np.broadcast_to(bound.allowed, got.shape)
    checkable = bound.checkable(expected)
    error = _errors(got, expected)
    if known is not None:
        checkable = checkable | known
        error, allowed = (np.where(known, 0.0, values) for values in (error, allowed))
    wrong = checkable & ~(error <= allowed)
    first = _first_mismatch(got, expected, allowed, wrong)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(allowed > 0, error / allowed, np.where(error > 0, np.inf, 0.0))
    return Comparison(
        BoundKind.EXACT if known is not None and known.all() else bound.kind,
        *_largest(error, allowed, checkable),
        int(np.count_nonzero(wrong)),
        got.size,
        first,
        int(got.size - np.count_nonzero(checkable)),
        float(np.max(np.nan_to_num(share[checkable], nan=np.inf, posinf=np.inf), initial=0.0)),
    )


def worst_of(comparisons: Sequence[Comparison]) -> Comparison | None:
    """The comparison to show: one that failed, else the one that takes the largest share of its bound."""
    ranked = sorted(comparisons, key=lambda c: (c.ok, not c.is_blind, -c.share))
    return ranked[0] if ranked else None


def same_elements(left: Array, right: Array) -> Known:
    """Where two arrays have the same number, or none both."""
    if left.dtype.kind in "biu":
        return left == right
    return (left == right) | (np.isnan(left) & np.isnan(right))


def _largest(
    error: npt.NDArray[np.float64], allowed: npt.NDArray[np.float64], checkable: npt.NDArray[np.bool_]
) -> tuple[float, float]:
    """The largest error of what is checked, and its bound; without any error, the largest bound."""
    if not checkable.any():
        return 0.0, 0.0
    found, bounds = error[checkable], allowed[checkable]
    numbers = np.nan_to_num(found, nan=np.inf, posinf=np.inf)
    worst = int(np.argmax(numbers if numbers.max() > 0 else bounds))
    return float(found[worst]), float(bounds[worst])


def _errors(got: Array, expected: Array) -> npt.NDArray[np.float64]:
    """Absolute differences; NaN where only one of the two is a NaN."""
    if got.dtype.kind in "bi" and expected.dtype == got.dtype:
        # Differences of 64-bit integers need 65 bits; where they round in float64 they are far from 0.
        different = got != expected
        distance = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        return np.where(different, np.maximum(distance, 1.0), 0.0)
    left, right = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(same_elements(left, right), 0.0, np.abs(left - right))


def _first_mismatch(
    got: Array, expected: Array, allowed: npt.NDArray[np.float64], wrong: npt.NDArray[np.bool_]
) -> Mismatch | None:
    places = np.argwhere(wrong)
    if not len(places):
        return None
    index = tuple(int(i) for i in places[0])
    return Mismatch(index, got[index].item(), expected[index].item(), float(allowed[index]))
