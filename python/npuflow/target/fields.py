"""Bounds of a device file's numbers, declared where the field is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bound:
    """A number must be `least` or more; with `strict`, more than `least`."""

    least: float
    strict: bool = False

    def holds(self, value: float) -> bool:
        return value > self.least if self.strict else value >= self.least

    def __str__(self) -> str:
        return f"{'more than' if self.strict else 'at least'} {self.least:g}"


# What `dataclasses.field` gives fits a field of any type, so Any is the type of these two.
def at_least(least: float, default: object = dataclasses.MISSING) -> Any:  # noqa: ANN401
    """A number of `least` or more."""
    return dataclasses.field(default=default, metadata={"bound": Bound(least)})


def above(least: float) -> Any:  # noqa: ANN401
    """A number greater than `least`."""
    return dataclasses.field(metadata={"bound": Bound(least, strict=True)})


def bound_of(field: dataclasses.Field[Any]) -> Bound | None:
    return field.metadata.get("bound")
