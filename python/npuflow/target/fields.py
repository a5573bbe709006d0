"""What a device file's values may be, declared where the field is.

Ranges of numbers are wider than any machine's by orders of magnitude, and so narrow that no time worked out with them
overflows.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 10**12
MOST_CYCLES = 10**9
MOST_SECONDS = 100
LEAST_RATE, MOST_RATE = 1e-3, 1e6


@dataclass(frozen=True)
class NumberRange:
    """A number must be from `least` to `most`, both included."""

    least: float
    most: float

    def holds(self, value: float) -> bool:
        return self.least <= value <= self.most

    def __str__(self) -> str:
        return f"from {_text(self.least)} to {_text(self.most)}"


def _text(number: float) -> str:
    """`16`, `0.001`, `1e12`."""
    mantissa, _, exponent = f"{number:g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


# Per cycle of anything: bytes, and multiply-accumulates.
RATE = NumberRange(LEAST_RATE, MOST_RATE)
MACS_RATE = NumberRange(LEAST_RATE, 1e9)


# What `dataclasses.field` gives fits a field of any type, so Any is the type of these two.
def between(least: float, most: float, default: object = dataclasses.MISSING) -> Any:  # noqa: ANN401
    """A number from `least` to `most`."""
    return dataclasses.field(default=default, metadata={"bound": NumberRange(least, most)})


def one_of(known: tuple[str, ...], default: object = dataclasses.MISSING) -> Any:  # noqa: ANN401
    """A text that is one of `known`."""
    return dataclasses.field(default=default, metadata={"known": known})


def known_of(field: dataclasses.Field[Any]) -> tuple[str, ...]:
    """The texts that a field may be; none where any will do."""
    return field.metadata.get("known", ())


def bound_of(field: dataclasses.Field[Any]) -> NumberRange | None:
    return field.metadata.get("bound")
