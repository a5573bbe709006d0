"""Shapes of arguments as text: `%arg0=128x256`, `@f:%arg1=?x64`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from npuflow.errors import UsageError, with_hint

_TEXT = re.compile(r"(?:@(?P<function>[^:]+):)?%arg(?P<argument>\d+)=(?P<sizes>(?:-?\d+|\?)(?:x(?:-?\d+|\?))*)?")
HINT = "--specialize=%arg0=128x256,@f:%arg1=?x64, one size or ? per dimension"


@dataclass(frozen=True)
class GivenShape:
    """The shape that is asked for; None leaves a size as it is. `function` is "" where none is named."""

    function: str
    argument: int
    sizes: tuple[int | None, ...]

    def __str__(self) -> str:
        owner = f"@{self.function}:" if self.function else ""
        return f"{owner}%arg{self.argument}={'x'.join('?' if s is None else str(s) for s in self.sizes)}"


def read_shape(text: str) -> GivenShape:
    """Reads one shape; raises UsageError."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UsageError(with_hint(f"'{text}' is no shape of an argument", HINT))
    sizes = tuple(None if size == "?" else int(size) for size in (match["sizes"] or "").split("x") if size)
    return GivenShape(match["function"] or "", int(match["argument"]), sizes)
