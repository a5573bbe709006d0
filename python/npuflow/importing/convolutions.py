"""Convolutions of one channel to a group that torch-mlir doesn't lower, or wrongly, in terms of those that it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from npuflow.importing.packages import loaded_torch
from npuflow.importing.wide_sums import is_narrow

if TYPE_CHECKING:
    from torch import Tensor


class _ConvolutionShape(NamedTuple):
    """What PyTorch's `convolution` takes behind its tensors."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    transposed: bool
    output_padding: Sequence[int]
    groups: int


def convolution_of_single_channels(x: Tensor, weights: Tensor, bias: Tensor | None, *shape: Any) -> Tensor:  # noqa: ANN401
    """The convolution, if it is transposed or of three dimensions and has one channel to a group."""
    window = _ConvolutionShape(*shape)
    channels = weights.shape[0] // window.groups if window.transposed else weights.shape[1]
    if window.groups == 1 or channels != 1:
        return NotImplemented
    if window.transposed:
        return _transposed(x, weights, bias, window)
    return _by_planes(x, weights, bias, window) if len(window.stride) == 3 else NotImplemented


def _transposed(x: Tensor, weights: Tensor, bias: Tensor | None, window: _ConvolutionShape) -> Tensor:
    """With zeros between the elements and around them, it is one as others are, of weights that are flipped."""
    torch = loaded_torch()
    pads: list[int] = []
    for axis, step in enumerate(window.stride):
        dim, length = axis + 2, x.shape[axis + 2]
        if step > 1:
            behind = [0, 0] * (x.dim() - 1 - dim) + [0, step - 1]
            x = torch.nn.functional.pad(x.unsqueeze(dim + 1), behind).flatten(dim, dim + 1)
            x = x.narrow(dim, 0, (length - 1) * step + 1)
        edge = window.dilation[axis] * (weights.shape[dim] - 1) - window.padding[axis]
        pads = [edge, edge + window.output_padding[axis], *pads]
    inputs, outputs, *sizes = weights.shape
    flipped = weights.flip(tuple(range(2, weights.dim()))).reshape(inputs * outputs, 1, *sizes)
    ones, none = [1] * len(sizes), [0] * len(sizes)
    plain = window._replace(stride=ones, padding=none, transposed=False, output_padding=none)
    return torch.ops.aten.convolution(torch.nn.functional.pad(x, pads), flipped, bias, *plain)


def _by_planes(x: Tensor, weights: Tensor, bias: Tensor | None, window: _ConvolutionShape) -> Tensor:
    """For each plane of the weights a convolution of all planes that it meets, 16-bit floats added up in f32."""
    torch = loaded_torch()
    wide = torch.float32 if is_narrow(x.dtype) else x.dtype
    stride, padding, dilation = window.stride, window.padding, window.dilation
    reach = dilation[0] * (weights.shape[2] - 1) + 1
    made = (x.shape[2] + 2 * padding[0] - reach) // stride[0] + 1
    padded = torch.nn.functional.pad(x, (0, 0, 0, 0, padding[0], padding[0])).to(wide).transpose(1, 2)
    sums = []
    for plane in range(weights.shape[2]):
        start = plane * dilation[0]
        met = padded[:, start : start + (made - 1) * stride[0] + 1 : stride[0]].flatten(0, 1)
        factors = weights[:, :, plane].to(wide)
        sums.append(
            torch.nn.functional.conv2d(met, factors, None, stride[1:], padding[1:], dilation[1:], window.groups)
        )
    found = sum(sums[1:], sums[0]).unflatten(0, (x.shape[0], made)).transpose(1, 2)
    return (found if bias is None else found + bias.reshape(-1, 1, 1, 1)).to(x.dtype)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {"convolution.default": convolution_of_single_channels}
