"""Pools into so many parts, whatever number of elements there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


def adaptive_maximum(x: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The greatest of each part and where it is; torch-mlir has those of which all are of one size.

    What is greatest is found along one dimension after the other, where it is in each part by itself.
    """
    torch = loaded_torch()
    lengths = x.shape[-len(sizes) :]
    spans = [_spans(*each) for each in zip(lengths, sizes, strict=True)]
    greatest = x
    for dim, parts in enumerate(spans, -len(sizes)):
        greatest = torch.stack([greatest.narrow(dim, *part).amax(dim) for part in parts], dim)
    places = [_place(x, lengths, part) for part in product(*spans)]
    return greatest, torch.stack(places, -1).unflatten(-1, sizes)


def _spans(length: int, size: int) -> list[tuple[int, int]]:
    """Where each part starts, and how long it is."""
    starts = [part * length // size for part in range(size)]
    return [(start, -(-(part + 1) * length // size) - start) for part, start in enumerate(starts)]


def _place(x: Tensor, lengths: Sequence[int], part: Sequence[tuple[int, int]]) -> Tensor:
    """Where a part's greatest element is in all of a box: the first, but the last of what is no number."""
    for dim, inner in enumerate(part, -len(part)):
        x = x.narrow(dim, *inner)
    line = x.flatten(-len(part))
    left, place, step = line.argmax(-1), 0, 1
    if x.is_floating_point():
        torch = loaded_torch()
        last = torch.where(torch.isnan(line), torch.arange(line.shape[-1]), -1).amax(-1)
        left = torch.maximum(left, last)
    for length, (start, span) in zip(reversed(lengths), reversed(part), strict=True):
        place = place + (left % span + start) * step
        left, step = left // span, step * length
    return place


def fractional_maximum(
    x: Tensor, kernel: Sequence[int], sizes: Sequence[int], samples: Tensor
) -> tuple[Tensor, Tensor]:
    """The greatest of windows that lie where samples, a number from 0 to 1 for each dimension, say, and where it is.

    Of what is no number, it is the last. A plane's samples are of its columns first, a box's of its layers.
    """
    torch = loaded_torch()
    dims = len(sizes)
    if x.dim() == dims + 1:
        return tuple(one.squeeze(0) for one in fractional_maximum(x.unsqueeze(0), kernel, sizes, samples))
    lengths, planes = x.shape[-dims:], x.shape[:2]
    of_dims = samples.flip(-1) if dims == 2 else samples
    starts = [
        _drawn_starts(of_dims[..., dim], *each).view(*planes, *(-1 if dim == one else 1 for one in range(dims)))
        for dim, each in enumerate(zip(lengths, kernel, sizes, strict=True))
    ]
    flat = x.flatten(2)
    greatest, where = torch.full((*planes, *sizes), -torch.inf, dtype=x.dtype), 0
    for offsets in product(*(range(size) for size in kernel)):
        place: Any = 0
        for length, start, offset in zip(lengths, starts, offsets, strict=True):
            place = place * length + (start + offset)
        read = flat.gather(2, place.flatten(2)).view(greatest.shape)
        is_greater = (read > greatest) | torch.isnan(read)
        where = torch.where(is_greater, place, where if any(offsets) else place)
        greatest = torch.where(is_greater, read, greatest)
    return greatest, where


def _drawn_starts(samples: Tensor, length: int, kernel: int, size: int) -> Tensor:
    """Where windows begin, as PyTorch rounds them: the last one ends where the line does."""
    torch = loaded_torch()
    last = torch.full((*samples.shape, 1), length - kernel)
    if size == 1:
        return last
    alpha = (length - kernel) / (size - 1)
    sample = samples.unsqueeze(-1)
    number = torch.arange(size - 1).to(samples.dtype)
    starts = ((number + sample) * alpha).to(torch.int64) - (sample * alpha).to(torch.int64)
    return torch.cat((starts, last), -1)


def adaptive_boxes(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Averages of boxes are averages of their planes' averages."""
    torch = loaded_torch()
    *outer, depth, height, width = x.shape
    pool = torch.nn.functional.adaptive_avg_pool2d
    planes = pool(x.reshape(-1, depth, height, width), sizes[1:]).reshape(-1, 1, depth, sizes[1] * sizes[2])
    return pool(planes, (sizes[0], planes.shape[-1])).reshape([*outer, *sizes])


def _of_batches(name: str, dims: int) -> Callable[..., Any]:
    """A pool of a single box as of a batch of one: torch-mlir has no others."""

    def pooled(x: Tensor, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        if dims == 3 and name.startswith("max") and not x.is_floating_point():
            # torch-mlir ends the process.
            raise InputError(with_hint(f"'{name}' of {str(x.dtype).removeprefix('torch.')}", "convert it to floats"))
        if x.dim() != dims + 1:
            return NotImplemented
        found = getattr(loaded_torch().ops.aten, name).default(x.unsqueeze(0), *rest, **named)
        return tuple(one.squeeze(0) for one in found) if isinstance(found, tuple) else found.squeeze(0)

    return pooled


_BATCHED = {"max_pool2d": 2, "max_pool2d_with_indices": 2, "max_pool3d": 3, "max_pool3d_with_indices": 3}
_BATCHED |= {"avg_pool1d": 1, "avg_pool2d": 2, "avg_pool3d": 3, "_adaptive_avg_pool2d": 2}

TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    **{f"{name}.default": _of_batches(name, dims) for name, dims in _BATCHED.items()},
    "adaptive_max_pool1d.default": adaptive_maximum,
    "adaptive_max_pool2d.default": adaptive_maximum,
    "adaptive_max_pool3d.default": adaptive_maximum,
    "_adaptive_avg_pool3d.default": adaptive_boxes,
    "fractional_max_pool2d.default": fractional_maximum,
    "fractional_max_pool3d.default": fractional_maximum,
}
