"""Sums of 16-bit floats as PyTorch computes them, in f32: torch-mlir would sum them up in their own type.

2048 numbers of bf16 near 25 have a mean of 8 then, since their sum stalls, and squares of f16 are infinite from 256 on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor, dtype

# What adds up or multiplies numbers of its first argument; losses and norms that aren't here are made of these.
SUMMING = (
    *("sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "prod.default", "prod.dim_int"),
    *("cumsum.default", "cumprod.default", "linalg_vector_norm.default", "cosine_similarity.default"),
    *("norm.Scalar", "norm.ScalarOpt_dim"),
    *("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default"),
    *("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec", "upsample_bicubic2d.vec"),
    *("adaptive_avg_pool1d.default", "_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default"),
)


def widened(op: Any, instead: Callable[..., Any] | None) -> Callable[..., Any]:  # noqa: ANN401
    """The op on 16-bit floats, computed in f32; on all else what it was before, left as it is where that is nothing."""

    def computed(x: Tensor, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        kind = named.pop("dtype", None)
        if not is_narrow(x.dtype) or (kind is not None and not is_narrow(kind)):
            if kind is not None and kind != x.dtype:
                return op(x.to(kind), *rest, **named).to(kind)
            # Whole numbers are added up in 64 bits, unless their own type is asked for.
            said = named if kind is None else {**named, "dtype": kind}
            return NotImplemented if instead is None else instead(x, *rest, **said)
        wide = [each.float() if _is_narrow_tensor(each) else each for each in rest]
        return op(x.float(), *wide, **named).to(kind or x.dtype)

    return computed


def is_narrow(kind: dtype) -> bool:
    torch = loaded_torch()
    return kind in (torch.bfloat16, torch.float16)


def _is_narrow_tensor(value: object) -> bool:
    return isinstance(value, loaded_torch().Tensor) and is_narrow(value.dtype)


def _rms_norm(x: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """What is added to the squares is of f32 where nothing is said: torch-mlir adds nothing, and divides by zero."""
    torch = loaded_torch()
    wide = x.float() if is_narrow(x.dtype) else x
    squares = wide.square().mean([-1 - number for number in range(len(shape))], keepdim=True)
    found = wide * torch.rsqrt(squares + (torch.finfo(wide.dtype).eps if eps is None else eps))
    return (found if weight is None else found * weight).to(x.dtype)


def _distance(x: Tensor, y: Tensor, p: float = 2) -> Tensor:
    return loaded_torch().linalg.vector_norm(x - y, p)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "dist.default": _distance,
    "rms_norm.default": _rms_norm,
}
