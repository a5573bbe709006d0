"""What floats are made of, an exponent and digits, found by doubling and halving them, which is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

_STEPS = (64, 32, 16, 8, 4, 2, 1)
# Numbers of f64 have ten times as many binary places before and behind the point as those of f32.
_STEPS_OF_F64 = (512, 256, 128, *_STEPS)


def _held(x: Tensor) -> Tensor:
    torch = loaded_torch()
    return x if x.dtype is torch.float64 else x.to(torch.float32)


def _magnitude(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A finite size as a number from 1 to 2 and the power of 2 that it is multiplied by: its exponent, and itself."""
    torch = loaded_torch()
    size, exponent, power = x.abs(), torch.zeros_like(x), torch.ones_like(x)
    steps = _STEPS_OF_F64 if x.dtype is torch.float64 else _STEPS
    # The smallest numbers take the longest step twice.
    for step in (*steps, -steps[0], *(-step for step in steps)):
        is_far = size >= 2.0**step if step > 0 else size < 2.0 ** (1 + step)
        size = torch.where(is_far, size * 2.0**-step, size)
        power = torch.where(is_far, power * 2.0**step, power)
        exponent = torch.where(is_far, exponent + step, exponent)
    return size, exponent, power


def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """A number from a half to 1, and the exponent of 2; what is no number, infinite or zero is kept."""
    torch = loaded_torch()
    wide = _held(x)
    size, exponent, _ = _magnitude(wide)
    is_plain = (wide.abs() < torch.inf) & (wide != 0)
    part = torch.where(is_plain, torch.where(wide < 0, -size, size) / 2, wide)
    return part.to(x.dtype), torch.where(is_plain, exponent + 1, 0).to(torch.int32)


def nextafter(x: Tensor, y: Tensor) -> Tensor:
    """One step of the last digit: half as long from a power of 2 towards zero, and never shorter than the least one."""
    torch = loaded_torch()
    kind = torch.result_type(x, y)
    x, y = torch.broadcast_tensors(_held(x.to(kind)), _held(y.to(kind)))
    limits = torch.finfo(kind)
    size, _, power = _magnitude(x)
    is_inward = (x > 0) != (y > x)
    step = power * limits.eps
    step = torch.where((size == 1) & is_inward, step / 2, step).clamp_min(limits.tiny * limits.eps)
    found = torch.where(y > x, x + step, x - step)
    found = torch.where(x.abs() == torch.inf, torch.copysign(torch.full_like(x, limits.max), x), found)
    # A step to zero keeps the sign.
    found = torch.where(found == 0, x * 0, found)
    found = torch.where(x == y, y, found)
    return torch.where(torch.isnan(x) | torch.isnan(y), torch.nan, found).to(kind)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {"frexp.Tensor": frexp, "nextafter.default": nextafter}
