"""Functions of single numbers that torch-mlir has no lowering of, or a wrong one, as formulas of others, in f32."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.formulas import in_f32, polynomial, quotient
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

_ERFC = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
)  # fmt: skip
# Of PyTorch's own `erfinv`: numerator and denominator up to 0.7, and beyond.
_ERFINV_CENTRE = (
    (0.886226899, -1.645349621, 0.914624893, -0.140543331),
    (1.0, -2.118377725, 1.442710462, -0.329097515, 0.012229801),
)
_ERFINV_TAIL = ((-1.970840454, -1.624906493, 3.429567803, 1.641345311), (1.0, 3.543889200, 1.637067800))
# Of PyTorch's own `ndtri`, after Cephes: from exp(-2) on, and below, up to exp(-32) and beyond.
_NDTRI_MIDDLE = (
    (-1.23916583867381258, 13.9312609387279680, -56.6762857469070293, 98.0010754185999662, -59.9633501014107895),
    (-1.18331621121330003, 15.9056225126211696, -82.0372256168333340, 200.260212380060660, -225.462687854119371,
     86.3602421390890591, 4.67627912898881538, 1.95448858338141760, 1.0),
)  # fmt: skip
_NDTRI_TAIL = (
    (-8.57456785154685414e-4, -3.50424626827848203e-2, -1.40256079171354496e-1, 2.18663306850790268,
     14.6849561928858024, 44.0805073893200835, 57.1628192246421289, 31.5251094599893867, 4.05544892305962420),
    (-9.33259480895457427e-4, -3.80806407691578277e-2, -1.42182922854787789e-1, 2.50464946208309416,
     15.0425385692907503, 41.3172038254672030, 45.3907635128879211, 15.7799883256466750, 1.0),
)  # fmt: skip
_NDTRI_FAR_TAIL = (
    (6.23974539184983294e-9, 2.65806974686737551e-6, 3.01581553508235416e-4, 1.23716634817820021e-2,
     2.01485389549179082e-1, 1.33303460815807542, 3.93881025292474443, 6.91522889068984212, 3.23774891776946036),
    (6.79019408009981274e-9, 2.89247864745380684e-6, 3.28014464682127739e-4, 1.34204006088543189e-2,
     2.16236993594496636e-1, 1.37702099489081330, 3.67983563856160859, 6.02427039364742014, 1.0),
)  # fmt: skip


@in_f32
def erfc(x: Tensor) -> Tensor:
    """By Chebyshev's polynomials, as in Numerical Recipes: to 1.2e-7 of it, beside the exponent's rounding."""
    torch = loaded_torch()
    size = x.abs()
    t = 1 / (1 + size / 2)
    tail = t * torch.exp(polynomial(_ERFC, t) - size * size)
    return torch.where(x < 0, 2 - tail, tail)


@in_f32
def erfcx(x: Tensor) -> Tensor:
    """The same times the exponential of the square, which isn't multiplied by where it would be large."""
    torch = loaded_torch()
    t = 1 / (1 + x.abs() / 2)
    tail = t * torch.exp(polynomial(_ERFC, t))
    return torch.where(x < 0, 2 * torch.exp(x * x) - tail, tail)


@in_f32
def erfinv(x: Tensor) -> Tensor:
    """PyTorch's own way: quotients of polynomials, and two of Newton's steps."""
    torch = loaded_torch()
    size = x.abs()
    above, below = (polynomial(each, x * x) for each in _ERFINV_CENTRE)
    centre = size * above / below
    t = torch.sqrt(-torch.log((1 - size) / 2))
    found = torch.where(size <= 0.7, centre, quotient(_ERFINV_TAIL, t))
    for _ in range(2):
        found = found - (torch.erf(found) - size) / (2 / math.sqrt(math.pi) * torch.exp(-found * found))
    found = torch.where(size < 1, found, torch.where(size == 1, math.inf, math.nan))
    return torch.where(x < 0, -found, found)


@in_f32
def ndtri(p: Tensor) -> Tensor:
    """The normal distribution's inverse, PyTorch's own way: in the middle, and in both tails by its logarithm."""
    torch = loaded_torch()
    middle = p - 0.5
    near = math.sqrt(2 * math.pi) * (middle + middle * (middle * middle * quotient(_NDTRI_MIDDLE, middle * middle)))
    is_upper = p > 1 - math.exp(-2)
    size = torch.sqrt(-2 * torch.log(torch.where(is_upper, 1 - p, p)))
    turned = 1 / size
    tail = torch.where(size < 8, quotient(_NDTRI_TAIL, turned), quotient(_NDTRI_FAR_TAIL, turned))
    far = size - torch.log(size) / size - turned * tail
    found = torch.where(is_upper, far, torch.where(p > math.exp(-2), near, -far))
    ends = torch.where(p == 0, -math.inf, torch.where(p == 1, math.inf, found))
    return torch.where((p < 0) | (p > 1), math.nan, ends)


def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """By the hyperbolic tangent, where that is asked for: torch-mlir has 0.797724 for the root of 2 / pi, 0.797885."""
    if approximate != "tanh":
        return NotImplemented
    torch = loaded_torch()
    wide = x if x.dtype is torch.float64 else x.to(torch.float32)
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * (wide * wide * wide))
    return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)


def hypot(x: Tensor, y: Tensor) -> Tensor:
    """By the larger one, so that no square is too large."""
    torch = loaded_torch()
    large, small = torch.maximum(x.abs(), y.abs()), torch.minimum(x.abs(), y.abs())
    return torch.where(small == 0, large, large * torch.sqrt(1 + (small / large) ** 2))


def angle(x: Tensor) -> Tensor:
    torch = loaded_torch()
    if x.is_complex():
        return torch.atan2(x.imag, x.real)
    if not x.is_floating_point():
        return torch.where(x < 0, torch.pi, 0.0).to(torch.get_default_dtype())
    return torch.where(torch.isnan(x), x, torch.where(x < 0, torch.pi, 0.0).to(x.dtype))


def copysign(size: Tensor, sign: Tensor) -> Tensor:
    torch = loaded_torch()
    kind = torch.result_type(size, sign)
    kind = kind if kind.is_floating_point else torch.get_default_dtype()
    return torch.where(signbit(sign), -size.to(kind).abs(), size.to(kind).abs())


def signbit(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        return x < 0
    return (x < 0) | ((x == 0) & (x.reciprocal() < 0))


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "angle.default": angle,
    "copysign.Scalar": lambda size, sign: copysign(size, loaded_torch().full((), float(sign))),
    "copysign.Tensor": copysign,
    "erfc.default": erfc,
    "erfinv.default": erfinv,
    "special_erfcx.default": erfcx,
    "special_ndtri.default": ndtri,
    "gelu.default": gelu,
    "hypot.default": hypot,
    "signbit.default": signbit,
}
