"""What all files of measurements have in common: text in columns, checked where it stands."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TypeVar

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint

Columns = Sequence[str]
Row = Mapping[str, str | None]
Made = TypeVar("Made")


def read_text(path: str, hint: str = "give a CSV file of measurements") -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(with_hint(f"cannot read '{path}': {reason}", hint)) from error


def parse_rows(
    text: str,
    name: str,
    required: Columns,
    problems_of: Callable[[Row], list[str]],
    made: Callable[[Row, SourceLocation], Made],
) -> list[Made]:
    """What is made of each row of CSV text that is called `name`; raises with everything that is wrong with all."""
    reader = csv.DictReader(io.StringIO(text))
    _check_header(reader.fieldnames, required, name)
    found, problems = [], []
    for row in reader:
        place = SourceLocation(name, reader.line_num)
        wrong = problems_of(row)
        problems += [Diagnostic(Severity.ERROR, problem, place) for problem in wrong]
        if not wrong:
            found.append(made(row, place))
    if problems:
        raise InputError(problems)
    return found


def _check_header(columns: Columns | None, required: Columns, name: str) -> None:
    missing = [column for column in required if column not in (columns or ())]
    if missing:
        what = f"the first line lacks the columns {', '.join(missing)}"
        hint = "benchmarks/measurements/README.md describes them"
        raise InputError(Diagnostic(Severity.ERROR, with_hint(what, hint), SourceLocation(name, 1)))


def is_positive(text: str) -> bool:
    try:
        return isfinite(float(text)) and float(text) > 0
    except ValueError:
        return False
