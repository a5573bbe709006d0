"""A file of measurements, of single designs, of sequences or of a systolic array's tiles: its first line says which."""

from __future__ import annotations

from npuflow.validate.columns import read_text
from npuflow.validate.measurements import Measurement, parse_measurements
from npuflow.validate.sequences import is_of_sequences, parse_sequences
from npuflow.validate.systolic_rows import SystolicRow, is_of_systolic, parse_systolic_rows


def read_measurements(path: str) -> list[Measurement]:
    """The rows of a file; raises InputError with everything that is wrong with them."""
    text = read_text(path)
    columns = text.partition("\n")[0].strip().split(",")
    return parse_sequences(text, path) if is_of_sequences(columns) else parse_measurements(text, path)


def read_systolic_rows(path: str) -> list[SystolicRow] | None:
    """The rows of a file of a systolic array's cycles; None for other files."""
    text = read_text(path)
    columns = text.partition("\n")[0].strip().split(",")
    return parse_systolic_rows(text, path) if is_of_systolic(columns) else None
