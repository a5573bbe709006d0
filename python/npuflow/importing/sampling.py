"""Images read at places between their pixels, where torch-mlir has no lowering of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from npuflow.importing.packages import loaded_torch
from npuflow.importing.wide_sums import is_narrow

if TYPE_CHECKING:
    from torch import Tensor

_Number = TypeVar("_Number", float, "Tensor")
_LINEAR, _NEAREST, _CUBIC = 0, 1, 2
_BORDER, _REFLECTION = 1, 2
_PLANE = 2
# Which pixels are read beside the one before a place.
_TAPS = {_LINEAR: (0, 1), _NEAREST: (0,), _CUBIC: (-1, 0, 1, 2)}
# How steep Keys' function is where images are sampled, and where pixels are averaged, as image libraries have it.
STEEP, _STEEP_OF_AVERAGES = -0.75, -0.5


def sampled(x: Tensor, places: Tensor, kind: int, padding: int, aligned: bool) -> Tensor:
    """An image of any dimensions at places that are given from -1 to 1 each, the last dimension first.

    As in PyTorch: what is no number is the first pixel of a plane, and the last of a box; padded with zeros it is no
    number between a plane's pixels, and else zero. What is outside isn't read, as it may be infinite inside.
    """
    torch = loaded_torch()
    sizes = x.shape[2:]
    wide = places.float() if kind == _CUBIC and is_narrow(places.dtype) else places
    at = [_pixels(wide[..., -1 - which], size, aligned) for which, size in enumerate(sizes)]
    if kind != _CUBIC:
        at = [_inside(one, size, padding, aligned, len(sizes)) for one, size in zip(at, sizes, strict=True)]
    flat = x.flatten(2)
    total: Any = 0
    for corner in product(_TAPS[kind], repeat=len(sizes)):
        number, weight = torch.zeros_like(at[0], dtype=torch.int64), torch.ones_like(at[0])
        is_inside = torch.ones_like(at[0], dtype=torch.bool)
        for position, size, beside in zip(at, sizes, corner, strict=True):
            first = position.round() if kind == _NEAREST else position.floor()
            pixel = first + beside
            if kind != _NEAREST:
                weight = weight * _weight(position - first, kind, beside)
            if kind == _CUBIC:
                pixel = _inside(pixel, size, padding, aligned, len(sizes))
            is_here = (pixel >= 0) & (pixel < size)
            number = number * size + torch.where(is_here, pixel, 0).to(torch.int64)
            is_inside = is_inside & is_here
        lines = number.flatten(1).unsqueeze(1).expand(-1, x.shape[1], -1)
        read = flat.gather(2, lines).reshape(*x.shape[:2], *number.shape[1:])
        read = torch.where(is_inside.unsqueeze(1), read, 0)
        if kind != _NEAREST:
            weight = weight if len(sizes) == _PLANE else torch.where(is_inside, weight, 0)
            read = read * weight.unsqueeze(1)
        total = total + read
    found: Tensor = total.to(x.dtype)
    return found


def _weight(part: Tensor, kind: int, beside: int) -> Tensor:
    """Of the pixel that many behind the one before a place, which lies a part of a pixel behind that."""
    if kind == _LINEAR:
        return part if beside else 1 - part
    far = part - beside if beside <= 0 else beside - part
    return near(far, STEEP) if beside in (0, 1) else beyond(far, STEEP)


def _pixels(places: Tensor, size: int, aligned: bool) -> Tensor:
    """Which pixels they are, numbers between them included."""
    return (places + 1) / 2 * (size - 1) if aligned else ((places + 1) * size - 1) / 2


def _inside(at: Tensor, size: int, padding: int, aligned: bool, dims: int) -> Tensor:
    """Pixels of the image for those that are outside, if it is padded with its own."""
    torch = loaded_torch()
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
    torch = loaded_torch()
    outer = torch.where(far < 2, beyond(far, _STEEP_OF_AVERAGES), 0)
    return torch.where(far < 1, near(far, _STEEP_OF_AVERAGES), outer)


def near(far: _Number, steep: float) -> _Number:
    """Keys' function up to a distance of 1."""
    return ((steep + 2) * far - (steep + 3)) * far * far + 1


def beyond(far: _Number, steep: float) -> _Number:
    """The same from 1 to 2."""
    return ((steep * far - 5 * steep) * far + 8 * steep) * far - 4 * steep


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
    "grid_sampler_2d.default": sampled,
    "grid_sampler_3d.default": sampled,
    "_upsample_bicubic2d_aa.default": smoothed_cubically,
    "_upsample_bilinear2d_aa.default": smoothed_linearly,
}
