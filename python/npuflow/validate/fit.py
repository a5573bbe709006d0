"""Constants of a device from measurements: damped Gauss-Newton on relative errors, robust against single rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from npuflow.target import Device
from npuflow.validate.constants import constant, with_constants
from npuflow.validate.cycle_rows import CycleRow
from npuflow.validate.predict import Prepared, predict_us

Measured = Prepared | CycleRow
Progress = Callable[[int, float], None]
_STEP = 0.04
_SMALL_ERROR = 0.03  # errors below this count by their square, larger ones by their size
_PRIOR = 0.05  # how much a row-sized error a change by a factor of e costs: keeps what the rows don't tell
_MOST_CHANGE = 0.5
_ROUNDS = 20  # of a linear fit


@dataclass(frozen=True)
class FittedValues:
    """Fitted values by name, and the mean absolute relative error they leave."""

    values: dict[str, float]
    mean_error: float


def errors(rows: Sequence[Measured], device: Device) -> NDArray[np.float64]:
    """log(predicted / measured) of every row."""
    return np.array([log(_share(row, device)) for row in rows])


def _share(row: Measured, device: Device) -> float:
    if isinstance(row, CycleRow):
        return row.timed.cycles(device) / row.measured_cycles
    return predict_us(row, device) / row.row.time_us


def fit(
    rows: Sequence[Measured], device: Device, names: Sequence[str], rounds: int = 5, progress: Progress | None = None
) -> FittedValues:
    """Changes the named constants, in proportion, to where the rows' errors are least."""
    start = np.array([log(constant(device, name)) for name in names])
    point = start.copy()
    at = _errors_at(rows, device, names)
    residual = at(point)
    for round_ in range(rounds):
        change = _step(_slopes(at, point, residual), residual, point - start)
        point, residual, moved = _search(at, point, residual, change)
        if progress is not None:
            progress(round_, _loss(residual))
        if not moved:
            break
    return FittedValues(
        {name: exp(value) for name, value in zip(names, point)}, float(np.mean(np.abs(np.expm1(residual))))
    )


def left_out(
    rows: Sequence[Measured], device: Device, names: Sequence[str], groups: Sequence[object]
) -> NDArray[np.float64]:
    """Every row's error with the constants that rows of other groups tell; `groups` has a row's group.

    Linear around the device's values: right for changes as small as one group's absence makes. Without another group
    there is nothing to tell them, and no error.
    """
    at, point = _errors_at(rows, device, names), np.array([log(constant(device, name)) for name in names])
    residual = at(point)
    slopes = _slopes(at, point, residual)
    found = residual.copy()
    for group in set(groups):
        unseen = np.array([other == group for other in groups])
        if unseen.all():
            return np.full(len(rows), np.nan)
        away = np.zeros(len(names))
        for _ in range(_ROUNDS):
            away += _step(slopes[~unseen], residual[~unseen] + slopes[~unseen] @ away, away)
        found[unseen] += slopes[unseen] @ away
    return found


Errors = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _errors_at(rows: Sequence[Measured], device: Device, names: Sequence[str]) -> Errors:
    """The rows' errors by the logarithms of the named constants."""

    def at(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return errors(rows, with_constants(device, {n: exp(v) for n, v in zip(names, values)}))

    return at


def _slopes(at: Errors, point: NDArray[np.float64], residual: NDArray[np.float64]) -> NDArray[np.float64]:
    """How the errors change with the logarithm of each constant."""
    return np.column_stack([(at(point + _STEP * unit) - residual) / _STEP for unit in np.eye(len(point))])


def _step(slopes: NDArray[np.float64], residual: NDArray[np.float64], away: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted least-squares step, with a pull towards where the fit began."""
    weights = 1 / np.sqrt(np.maximum(np.abs(residual), _SMALL_ERROR))
    pull = np.eye(slopes.shape[1]) * _PRIOR * float(np.mean(weights))
    matrix = np.vstack([slopes * weights[:, None], pull])
    target = np.concatenate([-residual * weights, -pull @ away])
    change, *_ = np.linalg.lstsq(matrix, target, rcond=None)
    clipped: NDArray[np.float64] = np.clip(change, -_MOST_CHANGE, _MOST_CHANGE)
    return clipped


def _search(
    at: Errors,
    point: NDArray[np.float64],
    residual: NDArray[np.float64],
    change: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """The first of ever shorter steps that helps; where none does, where it was."""
    for share in (1.0, 0.5, 0.25, 0.1):
        candidate = point + share * change
        found = at(candidate)
        if _loss(found) < _loss(residual):
            return candidate, found, True
    return point, residual, False


def _loss(residual: NDArray[np.float64]) -> float:
    size = np.abs(residual)
    return float(np.mean(np.where(size < _SMALL_ERROR, size**2 / (2 * _SMALL_ERROR), size - _SMALL_ERROR / 2)))
