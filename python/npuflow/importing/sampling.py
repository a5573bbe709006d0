"""Images read at places between their pixels, where torch-mlir has no lowering of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

_LINEAR, _NEAREST = 0, 1
_BORDER, _REFLECTION = 1, 2
_PLANE = 2


def sampled_plane(x: Tensor, places: Tensor, kind: int, padding: int, aligned: bool) -> Any:  # noqa: ANN401  (a tensor)
    """As PyTorch takes it apart where pixels are weighed by cubes of their distances, else with fewer steps."""
    return NotImplemented if kind > _NEAREST else sampled(x, places, kind, padding, aligned)


def sampled(x: Tensor, places: Tensor, kind: int, padding: int, aligned: bool) -> Tensor:
    """An image of any dimensions at places that are given from -1 to 1 each, the last dimension first.

    As in PyTorch: what is no number is the first pixel of a plane, and the last of a box; padded with zeros it is no
    number between a plane's pixels, and else zero. What is outside isn't read, as it may be infinite inside.
    """
    torch = loaded_torch()
    sizes = x.shape[2:]
    at = [_pixels(places[..., -1 - which], size, padding, aligned, len(sizes)) for which, size in enumerate(sizes)]
    flat = x.flatten(2)
    total = 0
    for corner in product((0, 1) if kind == _LINEAR else (0,), repeat=len(sizes)):
        number, weight = torch.zeros_like(at[0], dtype=torch.int64), torch.ones_like(at[0])
        is_inside = torch.ones_like(at[0], dtype=torch.bool)
        for position, size, beside in zip(at, sizes, corner, strict=True):
            first = position.floor() if kind == _LINEAR else position.round()
            pixel = first + beside
            if kind == _LINEAR:
                part = position - first
                weight = weight * (part if beside else 1 - part)
            is_here = (pixel >= 0) & (pixel < size)
            number = number * size + torch.where(is_here, pixel, 0).to(torch.int64)
            is_inside = is_inside & is_here
        lines = number.flatten(1).unsqueeze(1).expand(-1, x.shape[1], -1)
        read = flat.gather(2, lines).reshape(*x.shape[:2], *number.shape[1:])
        read = torch.where(is_inside.unsqueeze(1), read, 0)
        if kind == _LINEAR:
            weight = weight if len(sizes) == _PLANE else torch.where(is_inside, weight, 0)
            read = read * weight.unsqueeze(1)
        total = total + read
    return total


def _pixels(places: Tensor, size: int, padding: int, aligned: bool, dims: int) -> Tensor:
    """Which pixels they are, numbers between them included."""
    torch = loaded_torch()
    at = (places + 1) / 2 * (size - 1) if aligned else ((places + 1) * size - 1) / 2
    if padding == _REFLECTION:
        at = _mirrored(at, size, aligned)
    if padding not in (_BORDER, _REFLECTION):
        return at
    return torch.where(torch.isnan(at), 0 if dims == _PLANE else size - 1, at.clamp(0, size - 1))


def _mirrored(at: Tensor, size: int, aligned: bool) -> Tensor:
    """At the middles of the outermost pixels, or at their outer edges."""
    torch = loaded_torch()
    low, span = (0.0, size - 1) if aligned else (-0.5, size)
    if span == 0:
        return torch.zeros_like(at)
    distance = (at - low).abs()
    rest = distance - 2 * span * (distance / (2 * span)).floor()
    return torch.where(rest > span, 2 * span - rest, rest) + low


def smoothed_linearly(
    x: Tensor, sizes: Sequence[int], aligned: bool, rows: float | None = None, columns: float | None = None
) -> Tensor:
    return _smoothed(x, sizes, aligned, (rows, columns), lambda far: (1 - far).clamp_min(0), 1)


def smoothed_cubically(
    x: Tensor, sizes: Sequence[int], aligned: bool, rows: float | None = None, columns: float | None = None
) -> Tensor:
    return _smoothed(x, sizes, aligned, (rows, columns), _cubic, 2)


def _cubic(far: Tensor) -> Tensor:
    """Keys' function, as steep as image libraries have it where pixels are averaged."""
    torch = loaded_torch()
    steep = -0.5
    near = ((steep + 2) * far - (steep + 3)) * far * far + 1
    beyond = ((steep * far - 5 * steep) * far + 8 * steep) * far - 4 * steep
    return torch.where(far < 1, near, torch.where(far < 2, beyond, 0))


def _smoothed(
    x: Tensor,
    sizes: Sequence[int],
    aligned: bool,
    factors: tuple[float | None, float | None],
    kernel: Callable[[Tensor], Tensor],
    reach: int,
) -> Tensor:
    """A kernel around each pixel of the result, as wide as its pixels are apart in the image, if that is more."""
    torch = loaded_torch()
    down, along = (
        _weights(given, made, aligned, factor, kernel, reach).to(x.dtype)
        for given, made, factor in zip(x.shape[-2:], sizes, factors, strict=True)
    )
    return torch.matmul(torch.matmul(down, x), along.T)


def _weights(
    given: int, made: int, aligned: bool, factor: float | None, kernel: Callable[[Tensor], Tensor], reach: int
) -> Tensor:
    """The weights of given pixels in those that are made, all in a line."""
    torch = loaded_torch()
    scale = 1 / factor if factor else given / made
    if aligned:
        scale = (given - 1) / (made - 1) if made > 1 else 0.0
    width = max(scale, 1.0)
    centres = ((torch.arange(made) + 0.5) * scale).unsqueeze(1)
    # Whole pixels count, whose middle is within the kernel's reach as PyTorch rounds it.
    first = (centres - reach * width + 0.5).trunc().clamp_min(0)
    last = (centres + reach * width + 0.5).trunc().clamp_max(given)
    pixels = torch.arange(given)
    weights = kernel((pixels + 0.5 - centres).abs() / width)
    weights = torch.where((pixels >= first) & (pixels < last), weights, 0)
    return weights / weights.sum(1, keepdim=True)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "grid_sampler_2d.default": sampled_plane,
    "grid_sampler_3d.default": sampled,
    "_upsample_bicubic2d_aa.default": smoothed_cubically,
    "_upsample_bilinear2d_aa.default": smoothed_linearly,
}
