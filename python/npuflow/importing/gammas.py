"""Gamma's functions, their derivatives and their parts, as formulas of others, in f32."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.formulas import in_f32, polynomial, quotient
from npuflow.importing.packages import loaded_torch
from npuflow.importing.special_functions import erfc

if TYPE_CHECKING:
    from torch import Tensor

# Lanczos' series with g = 7, and its constant.
_LANCZOS_G = 7.0
_LANCZOS_BASE = 0.99999999999980993
_LANCZOS = (
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
)  # fmt: skip
_ZETA_TERMS = 16
# Boost's quotient for the same of f32's whole range, scaled by an exponential, and its constant.
_SCALED_G = 6.024680040776729583740234375
_SCALED = (
    (56906521.9134715639, 103794043.116345455, 86363131.2881385915, 43338889.3246761383, 14605578.0876850681,
     3481712.15498064591, 601859.617168109879, 75999.2930401454265, 6955.99960251537614, 449.944556906316812,
     19.5199278824761748, 0.509841665565667619, 0.00606184234624890653),
    (0, 39916800, 120543840, 150917976, 105258076, 45995730, 13339535, 2637558, 357423, 32670, 1925, 66, 1),
)  # fmt: skip
# Temme's factors of incomplete ones of large parameters, by powers of 1 over the parameter, as many as f32 tells apart.
_TEMME = (
    (-3.3333333333333333e-1, 8.3333333333333333e-2, -1.4814814814814815e-2, 1.1574074074074074e-3,
     3.527336860670194e-4, -1.7875514403292181e-4, 3.9192631785224378e-5, -2.1854485106799922e-6),
    (-1.8518518518518519e-3, -3.4722222222222222e-3, 2.6455026455026455e-3, -9.9022633744855967e-4,
     2.0576131687242798e-4, -4.0187757201646091e-7),
    (4.1335978835978836e-3, -2.6813271604938272e-3, 7.7160493827160494e-4),
    (6.4943415637860082e-4, 2.2947209362139918e-4),
)  # fmt: skip
_LARGE, _NEAR = 20, 0.3
_TERMS = 50


@in_f32
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


@in_f32
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
    found = steps + torch.log(z) - 0.5 / z - square * polynomial(series, square)
    part = x - torch.trunc(x)
    below = found - math.pi * torch.cos(math.pi * part) / torch.sin(math.pi * part)
    below = torch.where(part == 0, math.nan, below)
    zero = torch.where(1 / x < 0, math.inf, -math.inf)
    return torch.where(x < 0, below, torch.where(x == 0, zero, found))


def polygamma(order: int, x: Tensor) -> Tensor:
    if order < 2:
        return (digamma, _trigamma)[order](x)
    return in_f32(lambda wide: _derivative_of_digamma(order, wide))(x)


@in_f32
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
    found = found + (1 + 0.5 / z + square * polynomial((1 / 6, -1 / 30, 1 / 42), square)) / z
    wave = math.pi / torch.sin(math.pi * x)
    return torch.where(is_mirrored, wave * wave - found, found)


def _derivative_of_digamma(order: int, x: Tensor) -> Tensor:
    """Hurwitz' zeta function of whole powers by Euler's and Maclaurin's sum, mirrored below a half."""
    torch = loaded_torch()
    is_mirrored = x < 0.5
    z = torch.where(is_mirrored, 1 - x, x)
    power = order + 1
    terms = [_to_power(1 / (z + step), power) for step in range(_ZETA_TERMS)]
    last = z + _ZETA_TERMS
    term = _to_power(1 / last, power)
    factor = term * power / last
    found = term / 2 + term * last / order
    for number, bernoulli in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)):
        found = found + factor * bernoulli
        factor = factor * ((power + 2 * number + 1) * (power + 2 * number + 2)) / (last * last)
    above = sum(terms, found) * (math.factorial(order) * (-1 if order % 2 == 0 else 1))
    part = x - torch.round(x)
    # The cosine, exactly zero where it is, halfway between poles.
    cotangent = torch.sin(math.pi * (0.5 - part.abs())) / torch.sin(math.pi * part)
    below = -(math.pi**power) * polynomial(_cotangents_derivative(order), cotangent)
    below = below + above if order % 2 == 0 else below - above
    found = torch.where(is_mirrored, below, above)
    is_pole = (x <= 0) & (x == x.floor())
    return torch.where(is_pole, -math.inf if order % 2 == 0 else math.inf, found)


def _cotangents_derivative(order: int) -> list[int]:
    """A derivative of the cotangent as a polynomial of it, whose first one is -(1 + square)."""
    factors = [0, 1]
    for _ in range(order):
        slope = [power * factor for power, factor in enumerate(factors)][1:]
        factors = [-(low + high) for low, high in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return factors


def _to_power(x: Tensor, power: int) -> Tensor:
    found = x
    for _ in range(power - 1):
        found = found * x
    return found


def _incomplete(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The regularized parts of gamma's integral below x and above, as PyTorch's, within some 1e-6 each.

    By the power series up to `a`, by the continued fraction beyond, and by Temme's expansion where both are large and
    close to each other. These have terms enough for f32, whatever they are asked for.
    """
    torch = loaded_torch()
    scale = _scale_of_part(a, x)
    series = torch.ones_like(x)
    for step in range(_TERMS, 0, -1):
        series = 1 + series * (x / (a + step))
    below = series * scale / a
    fraction = torch.zeros_like(x)
    for step in range(_TERMS, 0, -1):
        fraction = step * (a - step) / (x + (2 * step + 1) - a + fraction)
    above = scale / (x + 1 - a + fraction)
    is_series = (x <= 1.1) | (x < a)
    lower, upper = torch.where(is_series, below, 1 - above), torch.where(is_series, 1 - below, above)
    far = (x - a) / a
    is_close = (a > _LARGE) & (far.abs() < _NEAR)
    large = [_of_large(a, torch.where(is_close, far, 0), sign) for sign in (-1, 1)]
    return torch.where(is_close, large[0], lower), torch.where(is_close, large[1], upper)


def _scale_of_part(a: Tensor, x: Tensor) -> Tensor:
    """x to the power of a, times exp(-x), over gamma of a: by gamma's quotient, so that no part of it is large."""
    torch = loaded_torch()
    middle = a + (_SCALED_G - 0.5)
    above, below = _SCALED
    turned = polynomial(above[::-1], 1 / a) / polynomial(below[::-1], 1 / a)
    quotient_of_a = torch.where(a > 1, turned, quotient(_SCALED, a))
    far = (x - middle) / middle
    log = torch.where(far.abs() < 0.5, torch.log1p(far), torch.log(x / middle))
    power = a * (log - far) + x * (0.5 - _SCALED_G) / middle
    return torch.sqrt(middle / math.e) / quotient_of_a * torch.exp(power)


def _of_large(a: Tensor, far: Tensor, sign: int) -> Tensor:
    """Temme's expansion by how far the bound is from a parameter, as a share of that, below `_NEAR`."""
    torch = loaded_torch()
    # The root of twice far - log(1 + far), which is some half of its square.
    eta = far * torch.sqrt(polynomial([2 * (-1) ** power / (power + 2) for power in range(16)], far))
    total = polynomial(_TEMME[-1], eta)
    for factors in _TEMME[-2::-1]:
        total = total / a + polynomial(factors, eta)
    wave = torch.exp(-0.5 * a * eta * eta) / torch.sqrt(2 * math.pi * a)
    return 0.5 * erfc(sign * eta * torch.sqrt(a / 2)) + sign * wave * total


def _part(which: int, at_zero: float) -> Callable[[Tensor, Tensor], Tensor]:
    @in_f32
    def found(a: Tensor, x: Tensor) -> Tensor:
        torch = loaded_torch()
        value = _incomplete(a, x)[which]
        ends = (
            ((a == 0) | (x == math.inf), 1 - at_zero),
            ((x == 0) | (a == math.inf), at_zero),
            ((x < 0) | (a < 0) | ((x == 0) & (a == 0)) | ((x == math.inf) & (a == math.inf)), math.nan),
        )
        for is_there, end in ends:
            value = torch.where(is_there, end, value)
        return value

    return found


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "digamma.default": digamma,
    "igamma.default": _part(0, 0.0),
    "igammac.default": _part(1, 1.0),
    "lgamma.default": lgamma,
    "polygamma.default": polygamma,
}
