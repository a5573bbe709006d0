"""Elements that are read and written at places, where torch-mlir has no lowering of it, or none for some sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuflow.importing.orders import lying_along
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

_REDUCTIONS = {"add": "sum", "multiply": "prod"}


def _from_the_front(name: str, overload: str) -> Callable[..., Any]:
    """The op along a dimension that isn't counted from the end, which ends torch-mlir's process; of one number, too."""

    def counted(x: Tensor, dim: int, places: Tensor, values: Any, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        torch = loaded_torch()
        op = getattr(getattr(torch.ops.aten, name), overload)
        if rest[:1] == ("mean",) and x.dim() and not x.is_floating_point():
            return _whole_means(x, dim, places, values, **named)
        if rest and x.dtype is torch.bool:
            # What is greatest and least of bools, torch-mlir has as of numbers with a sign.
            wide = op(x.to(torch.int32), dim, places, values.to(torch.int32), *rest, **named)
            return wide.to(torch.bool)
        if x.dim() == 0:
            given = values.reshape(1) if isinstance(values, torch.Tensor) else values
            return op(x.reshape(1), 0, places.reshape(1), given, *rest, **named).reshape(())
        return op(x, dim + x.dim(), places, values, *rest, **named) if dim < 0 else NotImplemented

    return counted


def _whole_means(x: Tensor, dim: int, places: Tensor, values: Tensor, *, include_self: bool = True) -> Tensor:
    """Means of whole numbers are rounded down, where torch-mlir cuts them off."""
    torch = loaded_torch()
    count = torch.ones_like(x)
    if not include_self:
        x, count = (each.scatter(dim, places, 0) for each in (x, count))
    count = count.scatter_add(dim, places, torch.ones_like(values)).clamp_min(1)
    return torch.div(x.scatter_add(dim, places, values), count, rounding_mode="floor")


def filled(x: Tensor, dim: int, rows: Tensor, value: Any) -> Tensor:  # noqa: ANN401  (a number, or a tensor of one)
    """Rows that are counted from the end, too, which torch-mlir fills none of."""
    torch = loaded_torch()
    if x.dim() == 0:
        return filled(x.reshape(1), 0, rows.reshape(1), value).reshape(())
    length = x.shape[dim]
    is_row = torch.arange(length).unsqueeze(1) == torch.where(rows < 0, rows + length, rows).reshape(1, -1)
    value = value.to(x.dtype) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=x.dtype)
    return torch.where(lying_along(is_row.any(1), dim, x.dim()), value, x)


def scattered(x: Tensor, dim: int, places: Tensor, values: Any, *, reduce: str) -> Tensor:  # noqa: ANN401
    """What is added or multiplied by, which may be one number for all."""
    torch = loaded_torch()
    values = values if isinstance(values, torch.Tensor) else torch.full(places.shape, values, dtype=x.dtype)
    return x.scatter_reduce(dim, places, values, _REDUCTIONS[reduce])


def index_reduced(x: Tensor, dim: int, rows: Tensor, values: Tensor, how: str, *, include_self: bool = True) -> Tensor:
    if x.dim() == 0:
        return index_reduced(x.reshape(1), 0, rows, values.reshape(1), how, include_self=include_self).reshape(())
    places = lying_along(rows, dim, x.dim()).expand(values.shape)
    return x.scatter_reduce(dim % x.dim(), places, values, how, include_self=include_self)


def written_where(x: Tensor, places: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:  # noqa: ANN401  (a tensor, or what says that the op is left)
    """Elements that a mask chooses, all of which get the same: how many there are is no matter then."""
    torch = loaded_torch()
    masks = [(place, at) for place, at in enumerate(places) if at is not None]
    if len(masks) != 1 or masks[0][1].dtype is not torch.bool:
        return NotImplemented
    (place, mask), behind = masks[0], x.dim() - masks[0][0] - masks[0][1].dim()
    if values.dim() > behind or place != 0:
        return NotImplemented
    mask = mask.reshape(*mask.shape, *(1 for _ in range(behind)))
    return torch.where(mask, x + values if accumulate else values.to(x.dtype), x)


def written(x: Tensor, places: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:  # noqa: ANN401  (a tensor, or what says that the op is left)
    """Elements at places of dimensions with others between, which come first then, as PyTorch has them read."""
    found = written_where(x, places, values, accumulate)
    dims = [dim for dim, at in enumerate(places) if at is not None]
    given = [at for at in places if at is not None]
    is_apart = dims[-1] - dims[0] >= len(dims)
    if found is not NotImplemented or not is_apart or any(at.dtype is loaded_torch().bool for at in given):
        return found
    order = [*dims, *(dim for dim in range(x.dim()) if dim not in dims)]
    new = x.permute(order).index_put(given, values, accumulate)
    return new.permute([order.index(dim) for dim in range(x.dim())])


def masked_scatter(x: Tensor, mask: Tensor, values: Tensor) -> Tensor:
    """Values in their order, one for each element that the mask chooses; it may be of fewer dimensions."""
    torch = loaded_torch()
    x, mask = torch.broadcast_tensors(x, mask)
    if values.numel() == 0:
        return x.clone()
    number = (mask.flatten().cumsum(0) - 1).clamp(0, values.numel() - 1)
    return torch.where(mask, values.flatten()[number].view_as(x), x)


def put(x: Tensor, places: Tensor, values: Tensor, accumulate: bool = False) -> Tensor:
    if places.numel() == 0:
        return x.clone()
    flat = x.flatten()
    return flat.index_put((_counted(places, flat),), values.flatten(), accumulate).view_as(x)


def taken(x: Tensor, places: Tensor) -> Tensor:
    flat = x.flatten()
    return flat.index_select(0, _counted(places, flat)).view(places.shape)


def _counted(places: Tensor, flat: Tensor) -> Tensor:
    """Places in a line from its start, those from its end included."""
    places = places.flatten()
    return loaded_torch().where(places < 0, places + flat.shape[0], places)


def strided(x: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Any:  # noqa: ANN401
    """A tensor's elements as they lie in memory, one behind the other, by steps of their own."""
    torch = loaded_torch()
    if not x.is_contiguous():
        return NotImplemented
    place = torch.full((), offset or 0, dtype=torch.int64)
    for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        place = place + lying_along(torch.arange(size) * stride, dim, len(sizes))
    return x.flatten().index_select(0, place.expand(sizes).flatten()).view(sizes)


def _copied(name: str, overload: str) -> Callable[..., Any]:
    """A view that is a tensor of its own."""

    def copied(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        found = getattr(getattr(loaded_torch().ops.aten, name), overload)(*given, **named)
        return [one.clone() for one in found] if isinstance(found, (list, tuple)) else found.clone()

    return copied


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    **{
        f"{name}.{overload}": _from_the_front(name, overload)
        for name, overload in (
            *(("scatter", "src"), ("scatter", "value"), ("scatter_add", "default"), ("scatter_reduce", "two")),
        )
    },
    **{
        f"{name}_copy.{overload}": _copied(name, overload)
        for name, overload in (
            ("as_strided", "default"),
            ("permute", "default"),
            ("unbind", "int"),
            ("view", "default"),
        )
    },
    "as_strided.default": strided,
    "index_fill.int_Scalar": filled,
    "index_fill.int_Tensor": filled,
    "index_put.default": written,
    "index_reduce.default": index_reduced,
    "masked_scatter.default": masked_scatter,
    "put.default": put,
    "scatter.reduce": scattered,
    "scatter.value_reduce": scattered,
    "take.default": taken,
}
