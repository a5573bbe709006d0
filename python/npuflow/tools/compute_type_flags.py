"""The flags that say what networks of f32 are computed in, and on which data that is measured."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from npuflow.errors import InputError, UsageError, with_hint
from npuflow.files import read_bytes
from npuflow.tools.flags import FileUse, flag

if TYPE_CHECKING:
    from npuflow.execute.arrays import Array

_MOST_BYTES = 1 << 32
_BEGINS = b"\x93NUMPY"


def compute_type_flag() -> Any:  # noqa: ANN401  (a field of any type, as `flag` gives)
    text = "compute sums of products of f32 in this type, and say how far off that is (default: f32 stays f32)"
    return flag(None, text, group="", choices=("bf16", "i8"))


def calibration_flag() -> Any:  # noqa: ANN401
    text = "measure ranges and errors of --compute-type on these arrays, one per argument (default: random ones)"
    return flag((), text, group="", metavar="file.npy,...", file=FileUse.READ)


def calibration_of(paths: Sequence[str], compute_type: str | None) -> list[Array] | None:
    """The arrays in files; None where there are no files."""
    if paths and compute_type is None:
        raise UsageError(with_hint("--calibration is for a compute type, and none is asked for", "--compute-type=i8"))
    return [_array_in(path) for path in paths] or None


def _array_in(path: str) -> Array:
    data = read_bytes(path, _MOST_BYTES)
    try:
        found = np.load(BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        # What numpy says of other files, it says of pickles, and recommends to load those.
        why = error if data.startswith(_BEGINS) else "it is no .npy file"
        raise InputError(with_hint(f"'{path}' holds no array: {why}", "write it with numpy.save")) from error
    if not isinstance(found, np.ndarray):
        raise InputError(with_hint(f"'{path}' holds several arrays", "write each with numpy.save"))
    return found
