"""A file of measurements, of single designs or of sequences: its first line says which."""

from __future__ import annotations

from npuflow.validate.columns import read_text
from npuflow.validate.measurements import Measurement, parse_measurements
from npuflow.validate.sequences import is_of_sequences, parse_sequences


def read_measurements(path: str) -> list[Measurement]:
    """The rows of a file; raises InputError with everything that is wrong with them."""
    text = read_text(path)
    columns = text.partition("\n")[0].strip().split(",")
    return parse_sequences(text, path) if is_of_sequences(columns) else parse_measurements(text, path)
