"""Published measurements, one per row of a CSV file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from npuflow.errors import SourceLocation, unknown_name, with_hint
from npuflow.validate.columns import Row, is_positive, parse_rows
from npuflow.validate.stacks import PLAIN, STACKS, Stack, stack_named, stack_of_source

REQUIRED = ("id", "device", "source", "op", "in_type", "out_type", "M", "time_us")
ELEMENT_BYTES = {"i8": 1, "i16": 2, "bf16": 2, "f16": 2, "i32": 4, "f32": 4}
_COUNTS = ("M", "K", "N", "l1_m", "l1_k", "l1_n", "l2_k", "rows", "cols")
_MOST_COUNT = 10**12
_NO_BLOCKS = re.compile(r"\b(0+x\d+|\d+x0+) blocks set up at a time")


@dataclass(frozen=True)
class Measurement:
    """One measured time and what is known of the design behind it; 0 or "" where nothing is.

    A sequence has no design but its `launches`.
    """

    id: str
    device: str
    source: str
    op: str
    in_type: str = ""
    out_type: str = ""
    m: int = 0
    k: int = 0
    n: int = 0
    l1_m: int = 0
    l1_k: int = 0
    l1_n: int = 0
    l2_k: int = 0
    rows: int = 0
    cols: int = 0
    kernel: str = ""
    kernel_macs_per_cycle: float = 0.0
    time_us: float = 0.0
    note: str = ""
    stack: Stack = PLAIN
    location: SourceLocation | None = None
    launches: tuple[Launch, ...] = ()

    @property
    def macs(self) -> int:
        return self.m * self.k * self.n

    def with_launches(self, launches: tuple[Launch, ...]) -> Measurement:
        return replace(self, launches=launches)


@dataclass(frozen=True)
class Launch:
    """So many launches of a design in a row; its row's time is that of the whole sequence."""

    count: int
    design: Measurement


def parse_measurements(text: str, name: str) -> list[Measurement]:
    """The rows of CSV text that is called `name` in messages; raises with everything that is wrong with them."""
    return parse_rows(text, name, REQUIRED, problems_of, measurement_of)


def problems_of(row: Row) -> list[str]:
    """What is wrong with a row, all of it."""
    found = [with_hint(f"{column} is empty", "every row needs one") for column in REQUIRED if not row.get(column)]
    for column in _COUNTS:
        text = row.get(column) or ""
        if text and not (text.isdecimal() and 0 < int(text[:20]) <= _MOST_COUNT):
            found.append(with_hint(f"{column} is '{text[:40]}'", "give a positive whole number up to 1e12, or nothing"))
    for column in ("time_us", "kernel_macs_per_cycle"):
        text = row.get(column) or ""
        if text and not is_positive(text):
            found.append(with_hint(f"{column} is '{text}'", "give a positive number"))
    for column in ("in_type", "out_type"):
        text = row.get(column) or ""
        if text and text not in ELEMENT_BYTES:
            found.append(unknown_name(column, text, ELEMENT_BYTES))
    if _NO_BLOCKS.search(row.get("note") or ""):
        found.append(
            with_hint("the note sets up no blocks at a time", "one at least, as in '1x1 blocks set up at a time'")
        )
    stack = row.get("stack") or ""
    if stack and stack_named(stack) is None:
        found.append(unknown_name("stack", stack, [known.name for known in STACKS]))
    return found


def measurement_of(row: Row, place: SourceLocation) -> Measurement:
    """A row without problems."""

    def text(column: str) -> str:
        return row.get(column) or ""

    counts = {column.lower(): int(text(column) or 0) for column in _COUNTS}
    words = {
        column: text(column) for column in ("id", "device", "source", "op", "in_type", "out_type", "kernel", "note")
    }
    return Measurement(
        **counts,  # type: ignore[arg-type]
        **words,  # type: ignore[arg-type]
        kernel_macs_per_cycle=float(text("kernel_macs_per_cycle") or 0),
        time_us=float(text("time_us")),
        stack=stack_named(text("stack")) or stack_of_source(text("source")),
        location=place,
    )
