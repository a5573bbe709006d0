"""A file of measurements: of designs or of sequences by their times, of single pieces of work by their cycles.

Its first line says which.
"""

from __future__ import annotations

from npuflow.validate.columns import read_text
from npuflow.validate.cycle_rows import CycleRow, UnknownWork
from npuflow.validate.measurements import Measurement, parse_measurements
from npuflow.validate.patch_rows import is_of_patches, parse_patch_rows
from npuflow.validate.sequences import is_of_sequences, parse_sequences
from npuflow.validate.systolic_rows import SystolicRow, is_of_systolic, parse_systolic_rows
from npuflow.validate.transfer_rows import is_of_transfers, parse_transfer_rows


def read_measurements(path: str) -> list[Measurement]:
    """The rows of a file; raises InputError with everything that is wrong with them."""
    text = read_text(path)
    return parse_sequences(text, path) if is_of_sequences(_columns(text)) else parse_measurements(text, path)


def read_systolic_rows(path: str) -> list[SystolicRow] | None:
    """The rows of a file of a systolic array's cycles; None for other files."""
    text = read_text(path)
    return parse_systolic_rows(text, path) if is_of_systolic(_columns(text)) else None


def read_cycle_rows(path: str) -> list[CycleRow | UnknownWork] | None:
    """The rows of a file of measured cycles; None for files of measured times."""
    text = read_text(path)
    columns = _columns(text)
    if is_of_patches(columns):
        return parse_patch_rows(text, path)
    return parse_transfer_rows(text, path) if is_of_transfers(columns) else None


def _columns(text: str) -> list[str]:
    return text.partition("\n")[0].strip().split(",")
