"""Element types as numpy knows them."""

from __future__ import annotations

from functools import cache

import numpy as np

_PLAIN = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}


def has_dtype(element: str) -> bool:
    """Whether numpy has numbers of an MLIR element type's name."""
    return element == "bf16" or element in _PLAIN


@cache
def dtype_of(element: str) -> np.dtype[np.generic]:
    """The numpy type of an MLIR element type's name."""
    if element == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_PLAIN[element])
