"""Measured sequences: several launches in one invocation, each a design of its own in a file of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint
from npuflow.validate.columns import Columns, check_header, is_positive, read_text
from npuflow.validate.measurements import Launch, Measurement, measurement_of, problems_of
from npuflow.validate.stacks import stack_of_source

SEQUENCE = "sequence"
REQUIRED = ("id", "device", "source", "measured_ms")
_LAUNCH = ("op", "in_type", "out_type", "M")


def is_of_sequences(columns: Columns) -> bool:
    return "measured_ms" in columns


def parse_sequences(text: str, name: str) -> list[Measurement]:
    """The rows of CSV text that is called `name`; each has its launches in `sequences/<id>.csv` beside that file."""
    reader = csv.DictReader(io.StringIO(text))
    check_header(reader.fieldnames, REQUIRED, name)
    found, problems = [], []
    for row in reader:
        place = SourceLocation(name, reader.line_num)
        wrong = _problems(row)
        problems += [Diagnostic(Severity.ERROR, problem, place) for problem in wrong]
        if not wrong:
            found.append(_sequence(row, Path(name).parent / "sequences" / f"{row['id']}.csv", place))
    if problems:
        raise InputError(problems)
    return found


def _problems(row: Mapping[str, str | None]) -> list[str]:
    found = [with_hint(f"{column} is empty", "every row needs one") for column in REQUIRED if not row.get(column)]
    launches, measured = row.get("launches_stitched") or "1", row.get("measured_ms") or "1"
    if not (launches.isdecimal() and int(launches) > 0):
        found.append(with_hint(f"launches_stitched is '{launches}'", "give a positive whole number"))
    if not is_positive(measured):
        found.append(with_hint(f"measured_ms is '{measured}'", "give a positive number"))
    if "/" in (row.get("id") or ""):
        found.append(with_hint(f"id is '{row['id']}'", "it names a file, so leave out '/'"))
    return found


def _sequence(row: Mapping[str, str | None], file: Path, place: SourceLocation) -> Measurement:
    name, device, source = (row.get(column) or "" for column in ("id", "device", "source"))
    time_us, stack = float(row["measured_ms"] or 0) * 1e3, stack_of_source(source)
    note = row.get("note") or ""
    whole = Measurement(name, device, source, SEQUENCE, time_us=time_us, note=note, stack=stack, location=place)
    hint = "list its launches there, a row for each, with the columns of measurements"
    return whole.with_launches(_launches(read_text(str(file), hint), str(file), whole))


def _launches(text: str, name: str, whole: Measurement) -> tuple[Launch, ...]:
    reader = csv.DictReader(io.StringIO(text))
    check_header(reader.fieldnames, _LAUNCH, name)
    found, problems = [], []
    for row in reader:
        place = SourceLocation(name, reader.line_num)
        said = {"id": f"{whole.id}:{reader.line_num}", "device": whole.device, "source": whole.source}
        complete = {**row, **said, "time_us": str(whole.time_us)}
        count = row.get("count") or "1"
        wrong = problems_of(complete)
        if not (count.isdecimal() and int(count) > 0):
            wrong.append(with_hint(f"count is '{count}'", "give a positive whole number, or nothing for 1"))
        problems += [Diagnostic(Severity.ERROR, problem, place) for problem in wrong]
        if not wrong:
            found.append(Launch(int(count), measurement_of(complete, place)))
    if problems:
        raise InputError(problems)
    return tuple(found)
