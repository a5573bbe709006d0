"""Variances in f32, of what has no more bits, beside the mean that they are taken around.

torch-mlir would sum them up in f64, which cores don't have and PyTorch's own norms don't use. What is summed up are
squares of what lies around the mean, so that a large mean costs no digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from npuflow.importing.wide_sums import is_narrow

if TYPE_CHECKING:
    from torch import Tensor


def _moments(
    x: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The variance and the mean along some dimensions, or all; NaN of fewer elements than are corrected for."""
    dims = [*(dim or range(x.dim()))]
    wide = x.float() if is_narrow(x.dtype) else x
    mean = wide.mean(dims, keepdim=True)
    count = prod([x.shape[each] for each in dims]) - (1 if correction is None else correction)
    var = (wide - mean).square().sum(dims, keepdim=True) / max(0, count)
    return tuple((each if keepdim else each.squeeze(dims)).to(x.dtype) for each in (var, mean))


def _taking(found: Callable[[Tensor, Tensor], Any]) -> Callable[..., Any]:
    """What an op has of both; of complex numbers it is left as it is."""

    def computed(x: Tensor, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        return NotImplemented if x.is_complex() else found(*_moments(x, *rest, **named))

    return computed


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "std.correction": _taking(lambda var, _: var.sqrt()),
    "std_mean.correction": _taking(lambda var, mean: (var.sqrt(), mean)),
    "var.correction": _taking(lambda var, _: var),
    "var_mean.correction": _taking(lambda var, mean: (var, mean)),
}
