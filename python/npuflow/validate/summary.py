"""How far predictions are from measurements. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import mean, median
from typing import Protocol

from npuflow.validate.measurements import Measurement

_NOTHING = 0.0005  # what a roofline misses that has as many numbers as rows


class Judged(Protocol):
    """A prediction beside what was measured."""

    @property
    def id(self) -> str: ...

    @property
    def error(self) -> float:
        """Signed, as a share of what was measured."""

    @property
    def roofline_error(self) -> float | None: ...


@dataclass(frozen=True)
class Prediction:
    """A predicted row, with what a roofline says of it where one was fitted."""

    row: Measurement
    predicted_us: float
    roofline_us: float | None = None

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def error(self) -> float:
        """Signed, as a share of the measured time."""
        return self.predicted_us / self.row.time_us - 1

    @property
    def roofline_error(self) -> float | None:
        return None if self.roofline_us is None else self.roofline_us / self.row.time_us - 1


@dataclass(frozen=True)
class ErrorSummary:
    """Absolute errors of some rows, as shares."""

    group: str
    rows: int
    median: float
    mean: float
    percentile_90: float
    worst: float
    worst_id: str
    roofline_mean: float | None

    @property
    def of_roofline(self) -> float | None:
        """The mean as a share of the roofline's; None where there is none, or it misses next to nothing."""
        return self.mean / self.roofline_mean if self.roofline_mean and self.roofline_mean > _NOTHING else None


def summarise(predictions: Sequence[Prediction]) -> list[ErrorSummary]:
    """One summary per source, op and type, and one of everything."""
    groups: dict[str, list[Prediction]] = {}
    for made in predictions:
        groups.setdefault(f"{made.row.source}, {made.row.op} {made.row.in_type}".rstrip(), []).append(made)
    found = [summary_of(name, group) for name, group in groups.items()]
    return [*found, summary_of("all", predictions)] if predictions else []


def summary_of(group: str, predictions: Sequence[Judged]) -> ErrorSummary:
    ranked = sorted(predictions, key=lambda p: abs(p.error))
    errors = [abs(p.error) for p in ranked]
    roofline = _known(p.roofline_error for p in predictions)
    worst = ranked[-1]
    return ErrorSummary(
        group,
        len(errors),
        median(errors),
        mean(errors),
        errors[ceil(len(errors) * 9 / 10) - 1],
        errors[-1],
        worst.id,
        mean(abs(error) for error in roofline) if roofline else None,
    )


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
