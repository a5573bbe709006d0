"""Attention of 16-bit floats as PyTorch's kernels compute it: both products are of these, all between them is f32.

PyTorch takes it apart into products of f32, of queries and keys that are scaled each and of unrounded probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch
from npuflow.importing.wide_sums import is_narrow

if TYPE_CHECKING:
    from torch import Tensor


def _attended(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    **named: Any,  # noqa: ANN401  (a number, and a bool)
) -> Any:  # noqa: ANN401  (a tensor, or what says that the op is left)
    torch = loaded_torch()
    if not is_narrow(query.dtype) or dropout:
        return NotImplemented
    if named.get("enable_gqa"):
        key, value = (each.repeat_interleave(query.size(-3) // each.size(-3), -3) for each in (key, value))
    scores = torch.matmul(query.float(), key.float().transpose(-2, -1))
    scale = named.get("scale")
    scores = scores * (query.size(-1) ** -0.5 if scale is None else scale)
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf) if mask.dtype is torch.bool else scores + mask.float()
    # Rows of which all is masked are zeros; a causal row has its own key.
    is_safe = mask is not None and not is_causal
    shares = torch.ops.aten._safe_softmax(scores, -1) if is_safe else torch.softmax(scores, -1)
    return torch.matmul(shares.to(query.dtype).float(), value.float()).to(query.dtype)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {"scaled_dot_product_attention.default": _attended}
