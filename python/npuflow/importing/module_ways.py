"""Modules of PyTorch whose own way depends on data, which it cannot export: the same computed in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


class LogSoftmaxAndLoss(NamedTuple):
    """What `torch.nn.AdaptiveLogSoftmaxWithLoss` returns."""

    output: Tensor
    loss: Tensor


@contextmanager
def exportable_modules() -> Iterator[None]:
    """In it, these modules compute in ways that can be exported."""
    nn = loaded_torch().nn
    adaptive, norm, transformer = nn.AdaptiveLogSoftmaxWithLoss, nn.modules.batchnorm._BatchNorm, nn.modules.transformer
    instead: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (adaptive, "forward", adaptive_log_softmax),
        (adaptive, "predict", likeliest_class),
        (norm, "forward", _averaging_all(norm.forward)),
        (transformer, "_detect_is_causal_mask", is_said_causal),
    )
    before = [getattr(owner, name) for owner, name, _ in instead]
    for owner, name, way in instead:
        setattr(owner, name, way)
    try:
        yield
    finally:
        for (owner, name, _), way in zip(instead, before, strict=True):
            setattr(owner, name, way)


def adaptive_log_softmax(module: Any, x: Tensor, target: Tensor) -> LogSoftmaxAndLoss:  # noqa: ANN401  (PyTorch's)
    """Each cluster's logarithms of all rows, of which those are taken whose target is in it."""
    torch = loaded_torch()
    rows, targets = (x, target) if target.dim() else (x.unsqueeze(0), target.unsqueeze(0))
    head = torch.log_softmax(module.head(rows), 1)
    place, found = targets.clamp_max(module.shortlist_size - 1), 0
    for number, (first, end) in enumerate(pairwise(module.cutoffs)):
        is_here = (targets >= first) & (targets < end)
        own = (targets - first).clamp(0, end - first - 1)
        inside = torch.log_softmax(module.tail[number](rows), 1).gather(1, own.unsqueeze(1)).squeeze(1)
        place = torch.where(is_here, module.shortlist_size + number, place)
        found = torch.where(is_here, inside, found)
    output = found + head.gather(1, place.unsqueeze(1)).squeeze(1)
    return LogSoftmaxAndLoss(output if target.dim() else output.squeeze(0), -output.mean())


def is_said_causal(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:  # noqa: ARG001
    """Whether a transformer's mask is said to be causal: whether it is, as PyTorch asks, is in its data."""
    return bool(is_causal)


def likeliest_class(module: Any, x: Tensor) -> Tensor:  # noqa: ANN401
    return module.log_prob(x).argmax(1)


def _averaging_all(otherwise: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Batch norms without a momentum, whose averages are of all batches so far, one more each time."""

    def forward(module: Any, x: Tensor) -> Tensor:  # noqa: ANN401
        torch = loaded_torch()
        keeps = module.training and module.track_running_stats and module.num_batches_tracked is not None
        if not keeps or module.momentum is not None:
            return otherwise(module, x)
        module._check_input_dim(x)
        module.num_batches_tracked.add_(1)
        own = [torch.zeros_like(one) for one in (module.running_mean, module.running_var)]
        found = torch.nn.functional.batch_norm(x, *own, module.weight, module.bias, True, 1.0, module.eps)
        for kept, new in zip((module.running_mean, module.running_var), own, strict=True):
            share = 1 / module.num_batches_tracked.to(kept.dtype)
            kept.copy_(kept * (1 - share) + new * share)
        return found

    return forward
