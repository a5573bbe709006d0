"""Measured cycles of single pieces of work, an op on a tile or a transfer: what a row is, and how far off we are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from npuflow.errors import SourceLocation
from npuflow.target import Device
from npuflow.validate.summary import ErrorSummary, summary_of


class Timed(Protocol):
    """A piece of work that a device takes some cycles for; hashable, and equal where the work is the same."""

    def cycles(self, device: Device) -> int: ...

    def read_cycles(self, device: Device) -> int:
        """The same as it is measured there."""
        ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class CycleRow:
    """A row of a file: what was measured of a device in which group of rows; `name` is the file's own, or empty."""

    device: str
    group: str
    timed: Timed
    measured_cycles: float
    location: SourceLocation
    name: str = ""


@dataclass(frozen=True)
class UnknownWork:
    """A row that cannot be predicted, and why."""

    reason: str
    location: SourceLocation
    name: str = ""


@dataclass(frozen=True)
class CyclePrediction:
    """A row with the cycles that its device should take."""

    row: CycleRow
    predicted_cycles: int
    roofline_error: float | None = None

    @property
    def id(self) -> str:
        return self.row.name or f"line {self.row.location.line}"

    @property
    def error(self) -> float:
        return self.predicted_cycles / self.row.measured_cycles - 1


def predict_cycles(rows: Sequence[CycleRow], devices: Mapping[str, Device]) -> list[CyclePrediction]:
    """Every row's cycles, with the constants of these devices."""
    return [CyclePrediction(row, row.timed.read_cycles(devices[row.device])) for row in rows]


def summarise_cycles(predictions: Sequence[CyclePrediction]) -> list[ErrorSummary]:
    """One summary per device and group, one per device, and one of everything."""
    devices = list(dict.fromkeys(made.row.device for made in predictions))
    groups = list(dict.fromkeys((made.row.device, made.row.group) for made in predictions))
    found = []
    for device in devices:
        mine = [made for made in predictions if made.row.device == device]
        named = [group for owner, group in groups if owner == device]
        found += [summary_of(f"{device}, {name}", [m for m in mine if m.row.group == name]) for name in named]
        found.append(summary_of(f"{device}, all", mine))
    return [*found, summary_of("all", predictions)] if len(devices) > 1 else found
