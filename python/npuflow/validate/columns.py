"""What all files of measurements have in common: text in columns, checked where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint

Columns = Sequence[str]


def read_text(path: str, hint: str = "give a CSV file of measurements") -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(with_hint(f"cannot read '{path}': {reason}", hint)) from error


def check_header(columns: Columns | None, required: Columns, name: str) -> None:
    """Raises if the first line lacks columns."""
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
