"""Measured sequences: several launches in one invocation, each a design of its own in a file of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from npuflow.errors import SourceLocation, with_hint
from npuflow.validate.columns import Columns, Row, is_positive, parse_rows, read_text
from npuflow.validate.measurements import Launch, Measurement, measurement_of, problems_of
from npuflow.validate.stacks import stack_of_source

SEQUENCE = "sequence"
REQUIRED = ("id", "device", "source", "measured_ms")
_LAUNCH = ("op", "in_type", "out_type", "M")


def is_of_sequences(columns: Columns) -> bool:
    return "measured_ms" in columns


def parse_sequences(text: str, name: str) -> list[Measurement]:
    """The rows of CSV text that is called `name`; each has its launches in `sequences/<id>.csv` beside that file."""
    folder = Path(name).parent / "sequences"
    return parse_rows(text, name, REQUIRED, _problems, partial(_sequence, folder=folder))


def _problems(row: Row) -> list[str]:
    found = [with_hint(f"{column} is empty", "every row needs one") for column in REQUIRED if not row.get(column)]
    launches, measured = row.get("launches_stitched") or "1", row.get("measured_ms") or "1"
    if not (launches.isdecimal() and int(launches) > 0):
        found.append(with_hint(f"launches_stitched is '{launches}'", "give a positive whole number"))
    if not is_positive(measured):
        found.append(with_hint(f"measured_ms is '{measured}'", "give a positive number"))
    if "/" in (row.get("id") or ""):
        found.append(with_hint(f"id is '{row['id']}'", "it names a file, so leave out '/'"))
    return found


def _sequence(row: Row, place: SourceLocation, folder: Path) -> Measurement:
    name, device, source = (row.get(column) or "" for column in ("id", "device", "source"))
    time_us, stack = float(row["measured_ms"] or 0) * 1e3, stack_of_source(source)
    note = row.get("note") or ""
    whole = Measurement(name, device, source, SEQUENCE, time_us=time_us, note=note, stack=stack, location=place)
    file = folder / f"{name}.csv"
    hint = "list its launches there, a row for each, with the columns of measurements"
    return whole.with_launches(_launches(read_text(str(file), hint), str(file), whole))


def _launches(text: str, name: str, whole: Measurement) -> tuple[Launch, ...]:
    def complete(row: Row) -> Row:
        return {**row, "device": whole.device, "source": whole.source, "time_us": str(whole.time_us)}

    def problems(row: Row) -> list[str]:
        wrong, count = problems_of({**complete(row), "id": whole.id}), row.get("count") or "1"
        if not (count.isdecimal() and int(count) > 0):
            wrong.append(with_hint(f"count is '{count}'", "give a positive whole number, or nothing for 1"))
        return wrong

    def made(row: Row, place: SourceLocation) -> Launch:
        design = measurement_of({**complete(row), "id": f"{whole.id}:{place.line}"}, place)
        return Launch(int(row.get("count") or "1"), design)

    return tuple(parse_rows(text, name, _LAUNCH, problems, made))
