"""What was computed against what was expected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npuflow.execute.arrays import Array
from npuflow.execute.bounds import Bound, BoundKind


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
    """How two arrays compare; `allowed` is the bound at the element of the largest error."""

    kind: BoundKind
    max_error: float
    allowed: float
    wrong: int
    size: int
    first: Mismatch | None = None

    @property
    def ok(self) -> bool:
        return self.wrong == 0

    def __str__(self) -> str:
        if self.first is not None:
            return f"{self.wrong} of {self.size} elements are wrong, the first: {self.first}"
        if self.kind is BoundKind.EXACT:
            return "bit-exact"
        return f"max error {self.max_error:.3g} of {self.allowed:.3g} allowed ({self.kind.value})"


def compare(got: Array, expected: Array, bound: Bound) -> Comparison:
    """Compares element by element. NaN equals NaN, and infinities equal themselves."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(f"{got.dtype}{got.shape} cannot be compared with {expected.dtype}{expected.shape}")
    allowed = np.broadcast_to(bound.allowed(expected), expected.shape)
    error = _errors(got, expected)
    wrong = ~(error <= allowed)
    first = _first_mismatch(got, expected, allowed, wrong)
    if not error.size:
        return Comparison(bound.kind, 0.0, 0.0, 0, 0)
    worst = np.unravel_index(int(np.argmax(np.where(np.isnan(error), np.inf, error))), error.shape)
    count = int(np.count_nonzero(wrong))
    return Comparison(bound.kind, float(error[worst]), float(allowed[worst]), count, error.size, first)


def _errors(got: Array, expected: Array) -> npt.NDArray[np.float64]:
    """Absolute differences; NaN where only one of the two is a NaN."""
    if got.dtype.kind in "bi":
        # Differences of 64-bit integers need 65 bits; where they round in float64 they are far from 0.
        different = got != expected
        distance = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        return np.where(different, np.maximum(distance, 1.0), 0.0)
    left, right = got.astype(np.float64), expected.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, np.abs(left - right))


def _first_mismatch(
    got: Array, expected: Array, allowed: npt.NDArray[np.float64], wrong: npt.NDArray[np.bool_]
) -> Mismatch | None:
    places = np.argwhere(wrong)
    if not len(places):
        return None
    index = tuple(int(i) for i in places[0])
    return Mismatch(index, got[index].item(), expected[index].item(), float(allowed[index]))
