"""What is found by comparing elements with each other, where torch-mlir has no lowering of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


def lying_along(line: Tensor, dim: int, dims: int) -> Tensor:
    """A line of elements as a tensor of so many dimensions, one of which it lies along."""
    return line.reshape([-1 if each == dim % dims else 1 for each in range(dims)])


def median(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower of two in the middle; of what isn't a number, the first of that."""
    torch = loaded_torch()
    if x.dim() == 0:
        return single(x)
    values, places = torch.kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)
    if not x.is_floating_point():
        return values, places
    is_nan = torch.isnan(x)
    has_nan, first = is_nan.any(dim, keepdim), is_nan.to(torch.int64).argmax(dim, keepdim)
    return torch.where(has_nan, torch.nan, values), torch.where(has_nan, first, places)


def median_of_numbers(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The same of those that are numbers, if there are any."""
    torch = loaded_torch()
    if x.dim() == 0 or not x.is_floating_point():
        return median(x, dim, keepdim)
    is_number = ~torch.isnan(x)
    values, places = torch.where(is_number, x, torch.inf).sort(dim)
    count = is_number.sum(dim, keepdim=True)
    middle = ((count - 1) // 2).clamp_min(0)
    found = torch.where(count > 0, values.gather(dim, middle), torch.nan), places.gather(dim, middle)
    return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))


def single(x: Tensor) -> tuple[Tensor, Tensor]:
    """What is found along a dimension, and where, of a single number, which has none."""
    return x.clone(), x.new_zeros((), dtype=loaded_torch().int64)


def _of_one(x: Tensor, *_: object, **__: object) -> Any:  # noqa: ANN401  (two tensors, or what says that it's left)
    return NotImplemented if x.dim() else single(x)


def _extreme_of_one(x: Tensor, *_: object, **__: object) -> Any:  # noqa: ANN401  (a tensor, or as `_of_one`)
    return NotImplemented if x.dim() else x.clone()


def _place_of_one(x: Tensor, *_: object, **__: object) -> Any:  # noqa: ANN401
    return NotImplemented if x.dim() else single(x)[1]


def _truth_of_one(x: Tensor, *_: object, **__: object) -> Any:  # noqa: ANN401
    return NotImplemented if x.dim() else x.to(loaded_torch().bool)


def in_order(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, ...]:
    """The first ones are those of a sort, which knows where what is no number belongs; whole numbers have no others."""
    if x.dim() == 0:
        return single(x)
    found = (each.narrow(dim, k - 1, 1) for each in x.sort(dim))
    return tuple(each if keepdim else each.squeeze(dim) for each in found)


def _either(name: str) -> Callable[..., Any]:
    """The greater or smaller of what are numbers, of sizes that differ."""

    def found(x: Tensor, y: Tensor) -> Tensor:
        torch = loaded_torch()
        kind = torch.result_type(x, y)
        x, y = torch.broadcast_tensors(x.to(kind), y.to(kind))
        taken = getattr(torch, name)(x, y)
        if not kind.is_floating_point:
            return taken
        return torch.where(torch.isnan(x), y, torch.where(torch.isnan(y), x, taken))

    return found


def mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent value, the least of those, and where it is last."""
    torch = loaded_torch()
    if x.dim() == 0:
        return single(x)
    line = x.movedim(dim, -1)
    # What is no number is another than itself, and there once.
    counts = (line.unsqueeze(-1) == line.unsqueeze(-2)).sum(-1).clamp_min(1)
    is_frequent = counts == counts.amax(-1, keepdim=True)
    ordered, order = line.sort(-1)
    first = is_frequent.gather(-1, order).to(torch.int64).argmax(-1, keepdim=True)
    found = ordered.gather(-1, first)
    place = torch.where(line == found, torch.arange(line.shape[-1]), 0).amax(-1, keepdim=True)
    found, place = found.movedim(-1, dim), place.movedim(-1, dim)
    return (found, place) if keepdim else (found.squeeze(dim), place.squeeze(dim))


def running(x: Tensor, dim: int, is_taken: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """What is greatest, or least, up to each element, and where: of 1, 2, 4, ... elements before it."""
    torch = loaded_torch()
    if x.dim() == 0:
        return single(x)
    values = x.movedim(dim, -1)
    places = torch.arange(values.shape[-1]).expand(values.shape)
    distance = 1
    while distance < values.shape[-1]:
        earlier, later = values[..., :-distance], values[..., distance:]
        taken = is_taken(earlier, later) | torch.isnan(later)
        found = torch.where(taken, later, earlier), torch.where(taken, places[..., distance:], places[..., :-distance])
        values = torch.cat([values[..., :distance], found[0]], -1)
        places = torch.cat([places[..., :distance], found[1]], -1)
        distance *= 2
    return values.movedim(-1, dim), places.movedim(-1, dim)


def log_of_sums(x: Tensor, dim: int) -> Tensor:
    """Logarithms of sums of powers up to each element, of which none is taken by itself: it may be infinite.

    Of 1, 2, 4, ... elements before it, as what is greatest.
    """
    torch = loaded_torch()
    if x.dim() == 0:
        return x.clone()
    values = (x if x.dtype is torch.float64 else x.float()).movedim(dim, -1)
    distance = 1
    while distance < values.shape[-1]:
        earlier, later = values[..., :-distance], values[..., distance:]
        most = torch.maximum(earlier, later)
        apart = torch.where(earlier == later, 0, -(earlier - later).abs())
        values = torch.cat([values[..., :distance], most + torch.log1p(torch.exp(apart))], -1)
        distance *= 2
    return values.movedim(-1, dim).to(x.dtype)


def _log_of_one(x: Tensor, *_: object, **__: object) -> Any:  # noqa: ANN401
    torch = loaded_torch()
    if x.dim():
        return NotImplemented
    return x.clone() if x.is_floating_point() else x.to(torch.get_default_dtype())


def extremes(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return (x.amin(), x.amax()) if dim is None else (x.amin(dim, keepdim), x.amax(dim, keepdim))


def searchsorted(
    bounds: Tensor,
    x: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many bounds lie in front of each value."""
    torch = loaded_torch()
    if sorter is not None:
        bounds = bounds.gather(-1, sorter)
    bounds, values = (bounds.unsqueeze(-2), x.unsqueeze(-1)) if x.dim() else (bounds, x)
    is_in_front = bounds <= values if right or side == "right" else bounds < values
    return is_in_front.sum(-1).to(torch.int32 if out_int32 else torch.int64)


def _place_of_bound(bounds: Tensor, x: float, **named: Any) -> Tensor:  # noqa: ANN401  (whatever `searchsorted` takes)
    return searchsorted(bounds, loaded_torch().full((), x), **named)


def histogram(x: Tensor, bins: int = 100, least: float = 0, most: float = 0) -> Tensor:
    """How many values are in each part of a range, its ends included; without one it is theirs."""
    torch = loaded_torch()
    flat = x.flatten()
    low, high = (
        (flat.amin(), flat.amax()) if least == most else (torch.full((), float(least)), torch.full((), float(most)))
    )
    low, high = (torch.where(low == high, each + by, each) for each, by in ((low, -1), (high, 1)))
    bin_of = ((flat - low) * bins / (high - low)).floor().clamp_max(bins - 1)
    bin_of = torch.where((flat >= low) & (flat <= high), bin_of, -1)
    return (bin_of == torch.arange(bins).unsqueeze(1)).sum(1).to(x.dtype)


def places_that_are_set(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ones of what isn't zero, a row of coordinates for each."""
    torch = loaded_torch()
    is_set = (x != 0).flatten()
    number = torch.where(is_set, is_set.cumsum(0) - 1, -1)
    is_this = number == torch.arange(size).unsqueeze(1)
    rows = []
    for dim, length in enumerate(x.shape):
        coordinates = lying_along(torch.arange(length), dim, x.dim())
        found = torch.where(is_this, coordinates.expand(x.shape).flatten(), 0).sum(1)
        rows.append(torch.where(is_this.any(1), found, fill_value))
    return torch.stack(rows, 1) if rows else x.new_zeros((size, 0), dtype=torch.int64)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("all.dim", "any.dim"), _truth_of_one),
    **dict.fromkeys(("amax.default", "amin.default"), _extreme_of_one),
    "aminmax.default": extremes,
    **dict.fromkeys(("argmax.default", "argmin.default"), _place_of_one),
    "fmax.default": _either("maximum"),
    "fmin.default": _either("minimum"),
    **dict.fromkeys(("max.dim", "min.dim", "sort.default", "topk.default"), _of_one),
    "kthvalue.default": in_order,
    "cummax.default": lambda x, dim: running(x, dim, lambda found, new: new >= found),
    "cummin.default": lambda x, dim: running(x, dim, lambda found, new: new <= found),
    "histc.default": histogram,
    "logcumsumexp.default": log_of_sums,
    "logsumexp.default": _log_of_one,
    "median.default": lambda x: median(x.flatten(), 0)[0],
    "median.dim": median,
    "mode.default": mode,
    "nanmedian.default": lambda x: median_of_numbers(x.flatten(), 0)[0],
    "nanmedian.dim": median_of_numbers,
    "nonzero_static.default": places_that_are_set,
    "searchsorted.Scalar": _place_of_bound,
    "searchsorted.Tensor": searchsorted,
    # Every sort leaves elements that are alike in their order.
    "sort.stable": lambda x, *, dim=-1, descending=False, **_: x.sort(dim, descending),
}
