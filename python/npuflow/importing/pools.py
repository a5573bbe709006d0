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
}
