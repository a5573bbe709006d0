"""Fourier transforms as products with matrices of waves, which is what the devices are good at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


def transformed(a: Tensor, b: Tensor | None, dims: Sequence[int], *, forward: bool) -> tuple[Tensor, Tensor]:
    """The transform of some dimensions, one behind the other, of real and imaginary parts; not divided by anything."""
    for dim in dims:
        a = a.movedim(dim, -1)
        cosines, sines = _waves(a.shape[-1], a, -1 if forward else 1)
        if b is None:
            real, imaginary = a @ cosines, a @ sines
        else:
            b = b.movedim(dim, -1)
            real, imaginary = a @ cosines - b @ sines, a @ sines + b @ cosines
        a, b = real.movedim(-1, dim), imaginary.movedim(-1, dim)
    assert b is not None, "there is something to be transformed"
    return a, b


def real_of_half(a: Tensor, b: Tensor, dim: int, size: int) -> Tensor:
    """The inverse, of what has one half of a real tensor's transform: the other half is its conjugate, backwards."""
    torch = loaded_torch()
    cosines, sines = _waves(size, a, 1)
    kept = size // 2 + 1
    twice = torch.tensor([1.0 if row in {0, size - row} else 2.0 for row in range(kept)], dtype=a.dtype).unsqueeze(1)
    a, b = a.movedim(dim, -1), b.movedim(dim, -1)
    return (a @ (twice * cosines[:kept]) - b @ (twice * sines[:kept])).movedim(-1, dim)


def _waves(size: int, like: Tensor, sign: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of a transform's matrix, each from its angle in 64 bits."""
    torch = loaded_torch()
    angles = [[2 * math.pi * (row * column % size) / size for column in range(size)] for row in range(size)]
    cosines, sines = ([[of(one) for one in row] for row in angles] for of in (math.cos, math.sin))
    return torch.tensor(cosines, dtype=like.dtype), sign * torch.tensor(sines, dtype=like.dtype)
