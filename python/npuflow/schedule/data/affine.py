"""Integers that depend on loop counters: sums of `coefficient * counter`. Pure.

Counters are named; each counts 0, 1, 2, ... up to its loop's trip count, so that a loop's own bounds and step are part
of the sums that use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Affine:
    """constant + sum of coefficient * counter; terms are sorted by counter and never zero."""

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def counter(name: str, coefficient: int = 1, constant: int = 0) -> Affine:
        return Affine(constant, ((name, coefficient),) if coefficient else ())

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        sums = dict(self.terms)
        for name, coefficient in other.terms:
            sums[name] = sums.get(name, 0) + coefficient
        return Affine(self.constant + other.constant, _normal(sums))

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.constant * factor, _normal({name: c * factor for name, c in self.terms}))

    def __sub__(self, other: Affine | int) -> Affine:
        return self + other * -1

    def exact_quotient(self, divisor: int) -> Affine | None:
        """self / divisor where it divides the constant and every coefficient, else None."""
        if self.constant % divisor or any(c % divisor for _, c in self.terms):
            return None
        return Affine(self.constant // divisor, tuple((name, c // divisor) for name, c in self.terms))

    @property
    def counters(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def coefficient(self, counter: str) -> int:
        return dict(self.terms).get(counter, 0)

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        """The sum with some counters replaced."""
        total = Affine(self.constant)
        for name, coefficient in self.terms:
            total = total + values.get(name, Affine.counter(name)) * coefficient
        return total

    def maximum(self, trips: Mapping[str, int]) -> int:
        """The largest value over all counters below their trip counts."""
        return self.constant + sum(max(0, c * (trips[name] - 1)) for name, c in self.terms)

    def minimum(self, trips: Mapping[str, int]) -> int:
        """The smallest value over all counters below their trip counts."""
        return self.constant + sum(min(0, c * (trips[name] - 1)) for name, c in self.terms)

    def __str__(self) -> str:
        parts = [f"{c}*{name}" if c != 1 else name for name, c in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


def _normal(sums: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, c) for name, c in sums.items() if c))
