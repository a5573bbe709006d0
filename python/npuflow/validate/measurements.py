"""Published measurements, one per row of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint
from npuflow.validate.stacks import PLAIN, STACKS, Stack, stack_named, stack_of_source

REQUIRED = ("id", "device", "source", "op", "in_type", "out_type", "M", "time_us")
ELEMENT_BYTES = {"i8": 1, "i16": 2, "bf16": 2, "f16": 2, "i32": 4, "f32": 4}
_COUNTS = ("M", "K", "N", "l1_m", "l1_k", "l1_n", "l2_k", "rows", "cols")


@dataclass(frozen=True)
class Measurement:
    """One measured time and what is known of the design behind it; 0 or "" where nothing is."""

    id: str
    device: str
    source: str
    op: str
    in_type: str
    out_type: str
    m: int
    k: int
    n: int
    l1_m: int
    l1_k: int
    l1_n: int
    l2_k: int
    rows: int
    cols: int
    kernel: str
    kernel_macs_per_cycle: float
    time_us: float
    note: str
    stack: Stack = PLAIN
    location: SourceLocation | None = None

    @property
    def macs(self) -> int:
        return self.m * self.k * self.n


def read_measurements(path: str) -> list[Measurement]:
    """The rows of a file; raises InputError with everything that is wrong with them."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(with_hint(f"cannot read '{path}': {reason}", "give a CSV file of measurements")) from error
    return parse_measurements(text, path)


def parse_measurements(text: str, name: str) -> list[Measurement]:
    """The rows of CSV text that is called `name` in messages."""
    reader = csv.DictReader(io.StringIO(text))
    missing = [column for column in REQUIRED if column not in (reader.fieldnames or ())]
    if missing:
        what = f"the first line lacks the columns {', '.join(missing)}"
        hint = "benchmarks/measurements/README.md describes them"
        raise InputError(Diagnostic(Severity.ERROR, with_hint(what, hint), SourceLocation(name, 1)))
    found, problems = [], []
    for row in reader:
        place = SourceLocation(name, reader.line_num)
        wrong = _problems(row)
        problems += [Diagnostic(Severity.ERROR, problem, place) for problem in wrong]
        if not wrong:
            found.append(_measurement(row, place))
    if problems:
        raise InputError(problems)
    return found


def _problems(row: Mapping[str, str | None]) -> list[str]:
    found = [with_hint(f"{column} is empty", "every row needs one") for column in REQUIRED if not row.get(column)]
    for column in _COUNTS:
        text = row.get(column) or ""
        if text and not (text.isdecimal() and int(text) > 0):
            found.append(with_hint(f"{column} is '{text}'", "give a positive whole number, or nothing"))
    for column in ("time_us", "kernel_macs_per_cycle"):
        text = row.get(column) or ""
        if text and not _is_positive(text):
            found.append(with_hint(f"{column} is '{text}'", "give a positive number"))
    return found


def _is_positive(text: str) -> bool:
    try:
        return isfinite(float(text)) and float(text) > 0
    except ValueError:
        return False


def _measurement(row: Mapping[str, str | None], place: SourceLocation) -> Measurement:
    def text(column: str) -> str:
        return row.get(column) or ""

    counts = {column.lower(): int(text(column) or 0) for column in _COUNTS}
    words = {
        column: text(column) for column in ("id", "device", "source", "op", "in_type", "out_type", "kernel", "note")
    }
    rate = float(text("kernel_macs_per_cycle") or 0)
    stack = stack_named(text("stack")) or stack_of_source(text("source"))
    return Measurement(
        **counts,  # type: ignore[arg-type]
        **words,  # type: ignore[arg-type]
        kernel_macs_per_cycle=rate,
        time_us=float(text("time_us")),
        stack=stack,
        location=place,
    )
