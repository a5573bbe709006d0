"""PyTorch's `flex_attention`, scores and masks of which are functions of places, as products and a softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


def attended(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_of: Callable[..., Tensor],
    blocks: Sequence[Any],
    scale: float,
    _: object,
    *read: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """Results, and for each row the logarithm to base 2 of its sum and its largest score.

    Blocks that are left out are those that the mask leaves out, which is what counts. Scores are f32, as PyTorch's are.
    A row with nothing in it is 0.
    """
    torch = loaded_torch()
    for_each = torch.nn.attention.flex_attention._vmap_for_bhqkv
    groups, batches = query.shape[1] // key.shape[1], query.shape[0]
    key, value = (each.repeat_interleave(groups, 1).expand(batches, -1, -1, -1) for each in (key, value))
    kind = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = query.to(kind) @ key.to(kind).mT * scale
    places = [torch.arange(size) for size in scores.shape]
    of_score, of_mask = read
    scores = for_each(score_of, prefix=(0,), suffix=(None,) * len(of_score))(scores, *places, *of_score)
    mask = for_each(blocks[-1], prefix=(), suffix=(None,) * len(of_mask))(*places, *of_mask)
    scores = torch.where(mask, scores, -torch.inf)
    shares = torch._safe_softmax(scores, -1).to(query.dtype)
    return shares @ value.to(query.dtype), scores.logsumexp(-1) / log(2), scores.amax(-1) / log(2)
