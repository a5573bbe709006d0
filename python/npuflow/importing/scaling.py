"""Images of other sizes, scaled along one dimension after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from npuflow.importing.packages import loaded_torch
from npuflow.importing.sampling import STEEP, beyond, near

if TYPE_CHECKING:
    from torch import Tensor


class _Weighing(NamedTuple):
    """Which pixels around a place count, from the one before it on, and how much at a distance."""

    beside: range
    at_distance: Callable[[Tensor], Tensor]
    has_places_outside: bool


class _Scaling(NamedTuple):
    """Along one dimension, from so many pixels to so many; a factor is that of their distances, if it is said."""

    given: int
    made: int
    aligned: bool
    factor: float | None
    kernel: _Weighing

    def beside(self, which: Tensor | int) -> tuple[Tensor, Tensor]:
        """For each pixel that is made, the one so many behind the place where it lies, and its weight."""
        torch = loaded_torch()
        numbers = torch.arange(self.made, dtype=torch.float64).unsqueeze(1)
        if self.aligned:
            at = numbers * ((self.given - 1) / (self.made - 1) if self.made > 1 else 0.0)
        else:
            at = (numbers + 0.5) * (1 / self.factor if self.factor else self.given / self.made) - 0.5
        at = at if self.kernel.has_places_outside else at.clamp_min(0)
        pixel = at.floor() + which
        return pixel.clamp(0, self.given - 1), self.kernel.at_distance((at - pixel).abs())


def _cubic(far: Tensor) -> Tensor:
    return loaded_torch().where(far < 1, near(far, STEEP), beyond(far, STEEP))


_LINEAR = _Weighing(range(2), lambda far: 1 - far, has_places_outside=False)
_CUBIC = _Weighing(range(-1, 3), _cubic, has_places_outside=True)


def _by_sums(x: Tensor, dim: int, scaling: _Scaling) -> Tensor:
    """Pixels are read, all that one is made of in a row, and added up: one op that reads and sums, not one for each."""
    torch = loaded_torch()
    counted = scaling.kernel.beside
    pixels, weights = scaling.beside(torch.arange(counted.start, counted.stop, dtype=torch.float64))
    read = x.index_select(dim, pixels.to(torch.int64).flatten()).unflatten(dim, pixels.shape)
    return (read * weights.to(x.dtype).reshape(*weights.shape, *[1] * (x.dim() - 1 - dim))).sum(dim + 1)


def _by_product(x: Tensor, dim: int, scaling: _Scaling) -> Tensor:
    """A product with a constant matrix: what isn't beside a pixel is multiplied by zero, so that an infinity counts."""
    torch = loaded_torch()
    matrix = torch.zeros(())
    for which in scaling.kernel.beside:
        pixel, weight = scaling.beside(which)
        matrix = matrix + torch.where(pixel == torch.arange(scaling.given), weight, 0)
    matrix = matrix.to(x.dtype)
    if dim == x.dim() - 1:
        return torch.matmul(x, matrix.T)
    return torch.matmul(matrix, x.flatten(dim + 1)).unflatten(-1, x.shape[dim + 1 :])


def _scaled_by(along: Callable[[Tensor, int, _Scaling], Tensor]) -> Mapping[str, Callable[..., Any]]:
    """What PyTorch's ops are taken apart into, given what scales an image along one dimension."""

    def scaled(kernel: _Weighing) -> Callable[..., Any]:
        def found(x: Tensor, sizes: Sequence[int] | None, aligned: bool, factors: Sequence[float] | None) -> Any:  # noqa: ANN401
            if not x.is_floating_point():
                return NotImplemented
            given = x.shape[2:]
            made = sizes or [int(size * factor) for size, factor in zip(given, factors or (), strict=True)]
            for which, size in enumerate(made):
                factor = factors[which] if factors else None
                x = along(x, which + 2, _Scaling(given[which], size, aligned, factor, kernel))
            return x

        return found

    linearly = scaled(_LINEAR)
    return {
        "upsample_bicubic2d.vec": scaled(_CUBIC),
        "upsample_bilinear2d.vec": linearly,
        "upsample_linear1d.vec": linearly,
        "upsample_trilinear3d.vec": linearly,
    }


TAKEN_APART = _scaled_by(_by_sums)
# Where numbers are rounded anyway, and what multiplies narrow ones is fast.
AS_PRODUCTS = _scaled_by(_by_product)
