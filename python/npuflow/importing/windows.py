"""The windows of signals that PyTorch makes in one op, as formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.bessel import i0
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


def window(shape: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A window by its shape over places from 0 to 1; one that is periodic lacks the last of these."""

    def made(length: int, periodic: bool = True, *rest: float, dtype: Any = None, **_: Any) -> Tensor:  # noqa: ANN401
        torch = loaded_torch()
        kind = dtype or torch.get_default_dtype()
        if length < 2:
            return torch.ones(length, dtype=kind)
        places = torch.arange(length, dtype=torch.float32) / (length if periodic else length - 1)
        return shape(places, *rest).to(kind)

    return made


def hamming(places: Tensor, alpha: float = 0.54, beta: float = 0.46) -> Tensor:
    return alpha - beta * loaded_torch().cos(2 * math.pi * places)


def blackman(places: Tensor) -> Tensor:
    torch = loaded_torch()
    return 0.42 - 0.5 * torch.cos(2 * math.pi * places) + 0.08 * torch.cos(4 * math.pi * places)


def bartlett(places: Tensor) -> Tensor:
    return 1 - (2 * places - 1).abs()


def kaiser(places: Tensor, beta: float = 12.0) -> Tensor:
    torch = loaded_torch()
    height = torch.sqrt((1 - (2 * places - 1) ** 2).clamp_min(0))
    return i0(beta * height) / i0(torch.full((), beta))


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    f"{name}_window.{overload}": window(shape)
    for name, shape, overloads in (
        ("bartlett", bartlett, ("default", "periodic")),
        ("blackman", blackman, ("default", "periodic")),
        ("hamming", hamming, ("default", "periodic", "periodic_alpha", "periodic_alpha_beta")),
        ("kaiser", kaiser, ("default", "periodic", "beta")),
    )
    for overload in overloads
}
