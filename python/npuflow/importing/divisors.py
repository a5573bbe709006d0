"""Common divisors and multiples of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

# Numbers that take Euclid's algorithm with rests of either sign the longest grow by this from one step to the next.
_LONGEST = 1 + math.sqrt(2)


def gcd(x: Tensor, y: Tensor) -> Tensor:
    large, small = _held(x, y)
    return _common(large, small).to(loaded_torch().result_type(x, y))


def lcm(x: Tensor, y: Tensor) -> Tensor:
    torch = loaded_torch()
    kind = torch.result_type(x, y)
    x, y = _held(x, y)
    common = _common(x, y)
    factor = torch.div(x, torch.where(common == 0, 1, common), rounding_mode="trunc")
    return (factor * y).abs().to(kind)


def _held(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers of the type of both, in 32 bits at least, as PyTorch multiplies them."""
    torch = loaded_torch()
    kind = torch.result_type(x, y)
    wide = kind if torch.iinfo(kind).bits >= torch.iinfo(torch.int32).bits else torch.int32
    return torch.broadcast_tensors(x.to(kind).to(wide), y.to(kind).to(wide))


def _common(x: Tensor, y: Tensor) -> Tensor:
    """Euclid's algorithm, as many steps as any numbers of the type take."""
    torch = loaded_torch()
    large, small = x.abs(), y.abs()
    bits = torch.iinfo(x.dtype).bits
    for _ in range(math.ceil(bits * math.log(2) / math.log(_LONGEST)) + 1):
        is_done = small == 0
        by = torch.where(is_done, 1, small)
        rest = large % by
        rest = torch.minimum(rest, by - rest)
        large, small = torch.where(is_done, large, small), torch.where(is_done, 0, rest)
    return large


TAKEN_APART: Mapping[str, Callable[..., Any]] = {"gcd.default": gcd, "lcm.default": lcm}
