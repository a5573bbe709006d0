"""Types of a network's inputs as text: `1x3x224x224xf32`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from npuflow.errors import UsageError, with_hint

ELEMENTS = ("f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64")
HINT = f"sizes and an element type, as 1x3x224x224xf32; types are {', '.join(ELEMENTS)}"

_TEXT = re.compile(rf"((?:[0-9]{{1,9}}x)*)({'|'.join(ELEMENTS)})")


@dataclass(frozen=True)
class InputType:
    """The shape and element type of one input."""

    shape: tuple[int, ...]
    element: str

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.element])


def read_input_type(text: str) -> InputType:
    """Reads one type; raises UsageError."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise UsageError(with_hint(f"'{text}' is no type of an input", HINT))
    shape = tuple(int(size) for size in found[1].split("x") if size)
    if 0 in shape:
        raise UsageError(with_hint(f"input '{text}' has no elements", "give sizes of 1 or more"))
    return InputType(shape, found[2])
