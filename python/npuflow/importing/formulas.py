"""What formulas of functions are made of: numbers held in f32, polynomials and quotients of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


def in_f32(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function of tensors held in f32, as numbers of the type of all of them; of f32 for whole numbers."""

    @wraps(function)
    def widened(*given: Tensor) -> Tensor:
        torch = loaded_torch()
        kind = given[0].dtype if len(given) == 1 else torch.result_type(*given)
        result = kind if kind.is_floating_point else torch.float32
        return function(*(each.to(torch.float32) for each in given)).to(result)

    return widened


def polynomial(factors: Sequence[float], x: Tensor) -> Tensor:
    """By Horner's rule; the factor of the least power comes first."""
    value = loaded_torch().full_like(x, factors[-1])
    for factor in reversed(factors[:-1]):
        value = value * x + factor
    return value


def quotient(factors: tuple[Sequence[float], Sequence[float]], x: Tensor) -> Tensor:
    above, below = factors
    return polynomial(above, x) / polynomial(below, x)
