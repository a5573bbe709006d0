"""Functions of single numbers that torch-mlir has no lowering of, or a wrong one, as formulas of others, in f32."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

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
# Lanczos' series with g = 7, and its constant.
_LANCZOS_G = 7.0
_LANCZOS_BASE = 0.99999999999980993
_LANCZOS = (
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
)  # fmt: skip
_ZETA_TERMS = 16


def _in_f32(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    @wraps(function)
    def widened(x: Tensor) -> Tensor:
        torch = loaded_torch()
        result = x.dtype if x.is_floating_point() else torch.float32
        return function(x.to(torch.float32)).to(result)

    return widened


def _polynomial(factors: Sequence[float], x: Tensor) -> Tensor:
    value = loaded_torch().full_like(x, factors[-1])
    for factor in reversed(factors[:-1]):
        value = value * x + factor
    return value


@_in_f32
def erfc(x: Tensor) -> Tensor:
    """By Chebyshev's polynomials, as in Numerical Recipes: to 1.2e-7 of it, beside the exponent's rounding."""
    torch = loaded_torch()
    size = x.abs()
    t = 1 / (1 + size / 2)
    tail = t * torch.exp(_polynomial(_ERFC, t) - size * size)
    return torch.where(x < 0, 2 - tail, tail)


@_in_f32
def erfinv(x: Tensor) -> Tensor:
    """PyTorch's own way: quotients of polynomials, and two of Newton's steps."""
    torch = loaded_torch()
    size = x.abs()
    above, below = (_polynomial(each, x * x) for each in _ERFINV_CENTRE)
    centre = size * above / below
    t = torch.sqrt(-torch.log((1 - size) / 2))
    above, below = (_polynomial(each, t) for each in _ERFINV_TAIL)
    found = torch.where(size <= 0.7, centre, above / below)
    for _ in range(2):
        found = found - (torch.erf(found) - size) / (2 / math.sqrt(math.pi) * torch.exp(-found * found))
    found = torch.where(size < 1, found, torch.where(size == 1, math.inf, math.nan))
    return torch.where(x < 0, -found, found)


@_in_f32
def lgamma(x: Tensor) -> Tensor:
    """By Lanczos' series, mirrored below a half: to 3e-6, or that share of what is larger than 1."""
    torch = loaded_torch()
    mirrored = x < 0.5
    z = torch.where(mirrored, -x, x - 1)
    series = sum((factor / (z + place) for place, factor in enumerate(_LANCZOS, 1)), torch.full_like(z, _LANCZOS_BASE))
    width = _LANCZOS_G + 0.5
    log_t = torch.log1p(z / width) + math.log(width)
    above = (z + 0.5 - (z + width) / log_t) * log_t + math.log(2 * math.pi) / 2 + torch.log(series)
    above = torch.where(z == math.inf, math.inf, above)
    part = x.abs() - torch.floor(x.abs())
    wave = torch.log(torch.sin(math.pi * torch.minimum(part, 1 - part)))
    below = torch.where(torch.isfinite(wave), math.log(math.pi) - wave - above, -wave)
    return torch.where(mirrored, below, above)


@_in_f32
def digamma(x: Tensor) -> Tensor:
    """PyTorch's own way: from 10 on by its asymptotic series, below by steps of 1, mirrored below 0."""
    torch = loaded_torch()
    z = torch.where(x < 0, 1 - x, x)
    steps = torch.zeros_like(z)
    for _ in range(10):
        is_small = z < 10
        steps = torch.where(is_small, steps - 1 / z, steps)
        z = torch.where(is_small, z + 1, z)
    square = 1 / (z * z)
    series = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    found = steps + torch.log(z) - 0.5 / z - square * _polynomial(series, square)
    part = x - torch.trunc(x)
    below = found - math.pi * torch.cos(math.pi * part) / torch.sin(math.pi * part)
    below = torch.where(part == 0, math.nan, below)
    zero = torch.where(1 / x < 0, math.inf, -math.inf)
    return torch.where(x < 0, below, torch.where(x == 0, zero, found))


def polygamma(order: int, x: Tensor) -> Tensor:
    if order < 2:
        return (digamma, _trigamma)[order](x)
    return _in_f32(lambda wide: _derivative_of_digamma(order, wide))(x)


@_in_f32
def _trigamma(x: Tensor) -> Tensor:
    """PyTorch's own way: by its asymptotic series, six steps further on, mirrored below a half."""
    torch = loaded_torch()
    is_mirrored = x < 0.5
    z = torch.where(is_mirrored, 1 - x, x)
    found = torch.zeros_like(z)
    for _ in range(6):
        found = found + 1 / (z * z)
        z = z + 1
    square = 1 / (z * z)
    found = found + (1 + 0.5 / z + square * _polynomial((1 / 6, -1 / 30, 1 / 42), square)) / z
    wave = math.pi / torch.sin(math.pi * x)
    return torch.where(is_mirrored, wave * wave - found, found)


def _derivative_of_digamma(order: int, x: Tensor) -> Tensor:
    """Hurwitz' zeta function of whole powers by Euler's and Maclaurin's sum; right from -7 on."""
    power = order + 1
    terms = [_to_power(1 / (x + step), power) for step in range(_ZETA_TERMS)]
    last = x + _ZETA_TERMS
    term = _to_power(1 / last, power)
    factor = term * power / last
    found = term / 2 + term * last / order
    for number, bernoulli in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)):
        found = found + factor * bernoulli
        factor = factor * ((power + 2 * number + 1) * (power + 2 * number + 2)) / (last * last)
    torch = loaded_torch()
    is_pole = (x <= 0) & (x == x.floor())
    found = torch.where(is_pole, torch.inf, sum(terms, found))
    return found * (math.factorial(order) * (-1 if order % 2 == 0 else 1))


def _to_power(x: Tensor, power: int) -> Tensor:
    found = x
    for _ in range(power - 1):
        found = found * x
    return found


@_in_f32
def i0(x: Tensor) -> Tensor:
    """The modified Bessel function of order 0: its series of squares up to 11, beyond the one in 1/x."""
    torch = loaded_torch()
    size = x.abs()
    squares = (size / 2) ** 2
    near = torch.ones_like(size)
    for step in range(20, 0, -1):
        near = 1 + near * (squares * (1 / step**2))
    eighth = 0.125 / size
    far = torch.ones_like(size)
    for step in range(11, 0, -1):
        far = 1 + far * (eighth * ((2 * step - 1) ** 2 / step))
    return torch.where(size <= 11, near, torch.exp(size) * far * torch.rsqrt(2 * math.pi * size))


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
    "digamma.default": digamma,
    "erfc.default": erfc,
    "erfinv.default": erfinv,
    "gelu.default": gelu,
    "hypot.default": hypot,
    "i0.default": i0,
    "lgamma.default": lgamma,
    "polygamma.default": polygamma,
    "signbit.default": signbit,
}
