"""Bessel functions as PyTorch computes them, in f32: quotients of polynomials and Chebyshev's series, after Cephes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuflow.importing.formulas import in_f32, polynomial, quotient
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

_FAR = 5.0
_WITH_LOGARITHM = 2 / math.pi


@dataclass(frozen=True)
class _Waves:
    """A function of both kinds of one order, from 5 on: the sizes of two waves by squares of 5 / x, and their phase.

    Below, the first kind's factors are of x squared, its first two zeros taken out, and the second's have its logarithm
    taken out. Numerators and denominators, the least power first.
    """

    phase: float
    even: tuple[Sequence[float], Sequence[float]]
    odd: tuple[Sequence[float], Sequence[float]]
    zeros: tuple[float, float]
    first: tuple[Sequence[float], Sequence[float]]
    second: tuple[Sequence[float], Sequence[float]]


_ORDER_0 = _Waves(
    math.pi / 4,
    (
        (1.0, 5.30324038235394892, 8.74716500199817012, 5.44725003058768775, 1.23953371646414299,
         8.28352392107440800e-2, 7.96936729297347051e-4),
        (1.0, 5.30605288235394618, 8.76190883237069594, 5.47097740330417105, 1.25352743901058954,
         8.56288474354474431e-2, 9.24408810558863637e-4),
    ),
    (
        (-6.05014350600728481, -51.4105326766599330, -147.077505154951170, -177.681167980488051, -93.2060152123768231,
         -19.5539544257735972, -1.28252718670509319, -1.13663838898469150e-2),
        (242.005740240291393, 2062.09331660327847, 5930.72701187316985, 7240.46774195652478, 3882.40183605401610,
         856.430025976980587, 64.3178256118178023, 1.0),
    ),
    (5.78318596294678452, 30.4712623436620864),
    (
        (9.70862251047306324e15, -2.49248344360967716e14, 1.95617491946556578e12, -4.79443220978201774e9),
        (1.71086294081043136e18, 3.18121955943204943e16, 3.10518229857422584e14, 2.11277520115489218e12,
         1.11855537045356834e10, 4.84409658339962045e7, 1.73785401676374683e5, 4.99563147152651017e2, 1.0),
    ),
    (
        (-1.84950800436986691e16, 4.42733268572569800e16, -3.46628303384729719e15, 8.75906394395366999e13,
         -9.82136065717911466e11, 5.43526477051876500e9, -1.46639295903971606e7, 1.55924367855235738e4),
        (2.50596256172653059e17, 3.17157752842975028e15, 2.02979612750105547e13, 8.64002487103935000e10,
         2.68919633393814122e8, 6.26107330137134957e5, 1.04128353664259848e3, 1.0),
    ),
)  # fmt: skip
_ORDER_1 = _Waves(
    3 * math.pi / 4,
    (
        (1.0, 5.21451598682361504, 8.42404590141772421, 5.11207951146807645, 1.12719608129684925,
         7.31397056940917570e-2, 7.62125616208173112e-4),
        (1.0, 5.20982848682361822, 8.39985554327604160, 5.07386386128601489, 1.10514232634061697,
         6.88455908754495404e-2, 5.71323128072548699e-4),
    ),
    (
        (25.2070205858023720, 211.688757100572136, 597.489612400613640, 710.856304998926107, 366.779609360150778,
         75.8238284132545284, 4.98213872951233450, 5.10862594750176622e-2),
        (336.093607810698293, 2826.19278517639097, 7997.04160447350684, 9562.31892404756170, 4986.41058337653608,
         1056.44886038262816, 74.2373277035675150, 1.0),
    ),
    (14.6819706421238933, 49.2184563216946037),
    (
        (3.68295732863852883e15, -7.27494245221818276e13, 4.52228297998194034e11, -8.99971225705559398e8),
        (5.32278620332680085e18, 8.95222336184627338e16, 7.84369607876235855e14, 4.74914122079991415e12,
         2.21511595479792500e10, 8.35146791431949253e7, 2.56987256757748830e5, 6.20836478118054335e2, 1.0),
    ),
    (
        (-7.78877196265950027e17, 2.02439475713594898e17, -8.12770255501325110e15, 1.14509511541823728e14,
         -6.47355876379160291e11, 1.26320474790178026e9),
        (3.97270608116560656e18, 6.87141087355300490e16, 6.20557727146953693e14, 3.88231277496238566e12,
         1.87601316108706159e10, 7.34811944459721706e7, 2.35564092943068578e5, 5.94301592346128195e2, 1.0),
    ),
)  # fmt: skip

# Chebyshev's factors of modified functions, as many as f32 tells apart, the last first: of exp(-x) I(x) up to 8 and of
# exp(-x) sqrt(x) I(x) beyond; of K(x) up to 2 beside a logarithm, and of exp(x) sqrt(x) K(x) beyond.
_I0_NEAR = (
    -1.30002500998624804e-8, 6.04699502254191895e-8, -2.67079385394061173e-7, 1.11738753912010372e-6,
    -4.41673835845875056e-6, 1.64484480707288971e-5, -5.75419501008210370e-5, 1.88502885095841656e-4,
    -5.76375574538582366e-4, 1.63947561694133580e-3, -4.32430999505057594e-3, 1.05464603945949983e-2,
    -2.37374148058994688e-2, 4.93052842396707085e-2, -9.49010970480476444e-2, 1.71620901522208775e-1,
    -3.04682672343198399e-1, 6.76795274409476085e-1,
)  # fmt: skip
_I0_FAR = (
    3.39623202570838635e-9, 2.26666899049817806e-8, 2.04891858946906374e-7, 2.89137052083475648e-6,
    6.88975834691682398e-5, 3.36911647825569409e-3, 8.04490411014108832e-1,
)  # fmt: skip
_I1_NEAR = (
    9.38153738649577178e-9, -4.44505912879632808e-8, 2.00329475355213526e-7, -8.56872026469545474e-7,
    3.47025130813767848e-6, -1.32731636560394358e-5, 4.78156510755005423e-5, -1.61760815825896746e-4,
    5.12285956168575773e-4, -1.51357245063125315e-3, 4.15642294431288816e-3, -1.05640848946261982e-2,
    2.47264490306265168e-2, -5.29459812080949914e-2, 1.02643658689847095e-1, -1.76416518357834055e-1,
    2.52587186443633655e-1,
)  # fmt: skip
_I1_FAR = (
    -3.83538038596423702e-9, -2.63146884688951951e-8, -2.51223623787020893e-7, -3.88256480887769039e-6,
    -1.10588938762623716e-4, -9.76109749136146841e-3, 7.78576235018280120e-1,
)  # fmt: skip
_K0_NEAR = (
    1.90451637722020886e-9, 2.53479107902614946e-7, 2.28621210311945179e-5, 1.26461541144692592e-3,
    3.59799365153615016e-2, 3.44289899924628487e-1, -5.35327393233902769e-1,
)  # fmt: skip
_K0_FAR = (
    -1.69753450938905987e-9, 8.57403401741422609e-9, -4.66048989768794783e-8, 2.76681363944501510e-7,
    -1.83175552271911949e-6, 1.39498137188764994e-5, -1.28495495816278026e-4, 1.56988388573005337e-3,
    -3.14481013119645005e-2, 2.44030308206595545,
)  # fmt: skip
_K1_NEAR = (
    -2.21338763073472586e-8, -2.43340614156596823e-6, -1.73028895751305206e-4, -6.97572385963986435e-3,
    -1.22611180822657148e-1, -3.53155960776544876e-1, 1.52530022733894777,
)  # fmt: skip
_K1_FAR = (
    2.01504975519703287e-9, -1.03457624656780970e-8, 5.74108412545004947e-8, -3.50196060308781257e-7,
    2.40648494783721712e-6, -1.93619797416608296e-5, 1.95215518471351631e-4, -2.85781685962277939e-3,
    1.03923736576817238e-1, 2.72062619048444267,
)  # fmt: skip


def _chebyshev(factors: Sequence[float], x: Tensor) -> Tensor:
    """Clenshaw's sum of Chebyshev's polynomials of half of x, the first one halved."""
    torch = loaded_torch()
    value, before, last = torch.full_like(x, factors[0]), torch.zeros_like(x), torch.zeros_like(x)
    for factor in factors[1:]:
        last, before = before, value
        value = x * before - last + factor
    return 0.5 * (value - last)


def _far_off(waves: _Waves, x: Tensor, *, is_second: bool) -> Tensor:
    torch = loaded_torch()
    square = (_FAR / x) ** 2
    even, odd = quotient(waves.even, square), _FAR / x * quotient(waves.odd, square)
    cosine, sine = torch.cos(x - waves.phase), torch.sin(x - waves.phase)
    wave = even * sine + odd * cosine if is_second else even * cosine - odd * sine
    return wave * math.sqrt(2 / math.pi) / torch.sqrt(x)


def _first_near(waves: _Waves, x: Tensor) -> Tensor:
    square = x * x
    return (square - waves.zeros[0]) * (square - waves.zeros[1]) * quotient(waves.first, square)


@in_f32
def j0(x: Tensor) -> Tensor:
    torch = loaded_torch()
    size = x.abs()
    return torch.where(size <= _FAR, _first_near(_ORDER_0, size), _far_off(_ORDER_0, size, is_second=False))


@in_f32
def j1(x: Tensor) -> Tensor:
    torch = loaded_torch()
    size = x.abs()
    near, far = size * _first_near(_ORDER_1, size), _far_off(_ORDER_1, size, is_second=False)
    found = torch.where(size <= _FAR, near, far)
    return torch.where(x < 0, -found, found)


@in_f32
def y0(x: Tensor) -> Tensor:
    torch = loaded_torch()
    near = quotient(_ORDER_0.second, x * x) + _WITH_LOGARITHM * torch.log(x) * j0(x)
    return _of_positive(x, torch.where(x <= _FAR, near, _far_off(_ORDER_0, x, is_second=True)), -math.inf)


@in_f32
def y1(x: Tensor) -> Tensor:
    torch = loaded_torch()
    near = x * quotient(_ORDER_1.second, x * x) + _WITH_LOGARITHM * (j1(x) * torch.log(x) - 1 / x)
    return _of_positive(x, torch.where(x <= _FAR, near, _far_off(_ORDER_1, x, is_second=True)), -math.inf)


def _of_positive(x: Tensor, found: Tensor, at_zero: float) -> Tensor:
    torch = loaded_torch()
    return torch.where(x < 0, math.nan, torch.where(x == 0, at_zero, found))


def _scaled_first(near: Sequence[float], far: Sequence[float], x: Tensor, *, is_odd: bool) -> Tensor:
    """A modified function of the first kind, times exp(-x)."""
    torch = loaded_torch()
    size = x.abs()
    below = _chebyshev(near, size / 2 - 2)
    below = below * size if is_odd else below
    found = torch.where(size <= 8, below, _chebyshev(far, 32 / size - 2) / torch.sqrt(size))
    return torch.where(x < 0, -found, found) if is_odd else found


@in_f32
def i0e(x: Tensor) -> Tensor:
    return _scaled_first(_I0_NEAR, _I0_FAR, x, is_odd=False)


@in_f32
def i0(x: Tensor) -> Tensor:
    return loaded_torch().exp(x.abs()) * i0e(x)


@in_f32
def i1e(x: Tensor) -> Tensor:
    return _scaled_first(_I1_NEAR, _I1_FAR, x, is_odd=True)


@in_f32
def i1(x: Tensor) -> Tensor:
    return loaded_torch().exp(x.abs()) * i1e(x)


def _second(near: Callable[[Tensor], Tensor], far: Sequence[float], is_scaled: bool) -> Callable[[Tensor], Tensor]:
    """A modified function of the second kind, by itself or times exp(x)."""

    @in_f32
    def found(x: Tensor) -> Tensor:
        torch = loaded_torch()
        below = near(x) * torch.exp(x) if is_scaled else near(x)
        beyond = _chebyshev(far, 8 / x - 2) / torch.sqrt(x)
        beyond = beyond if is_scaled else beyond * torch.exp(-x)
        return _of_positive(x, torch.where(x <= 2, below, beyond), math.inf)

    return found


def _k0_near(x: Tensor) -> Tensor:
    return _chebyshev(_K0_NEAR, x * x - 2) - loaded_torch().log(0.5 * x) * i0(x)


def _k1_near(x: Tensor) -> Tensor:
    return loaded_torch().log(0.5 * x) * i1(x) + _chebyshev(_K1_NEAR, x * x - 2) / x


@in_f32
def spherical_j0(x: Tensor) -> Tensor:
    """The sine over x; PyTorch's own series below a half, and zero at infinity."""
    torch = loaded_torch()
    factors = [(-1) ** place / math.factorial(2 * place + 1) for place in range(7)]
    found = torch.where(x.abs() < 0.5, polynomial(factors, x * x), torch.sin(x) / x)
    return torch.where(x.abs() == math.inf, 0, found)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "i0.default": i0,
    "special_bessel_j0.default": j0,
    "special_bessel_j1.default": j1,
    "special_bessel_y0.default": y0,
    "special_bessel_y1.default": y1,
    "special_i0e.default": i0e,
    "special_i1.default": i1,
    "special_i1e.default": i1e,
    "special_modified_bessel_i0.default": i0,
    "special_modified_bessel_i1.default": i1,
    "special_modified_bessel_k0.default": _second(_k0_near, _K0_FAR, False),
    "special_modified_bessel_k1.default": _second(_k1_near, _K1_FAR, False),
    "special_scaled_modified_bessel_k0.default": _second(_k0_near, _K0_FAR, True),
    "special_scaled_modified_bessel_k1.default": _second(_k1_near, _K1_FAR, True),
    "special_spherical_bessel_j0.default": spherical_j0,
}
