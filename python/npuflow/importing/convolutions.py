"""Convolutions that torch-mlir doesn't lower, wrongly, or to what computes much in vain, in terms of other ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from npuflow.importing.packages import loaded_torch
from npuflow.importing.wide_sums import is_narrow

if TYPE_CHECKING:
    from torch import Tensor, dtype


class _ConvolutionShape(NamedTuple):
    """What PyTorch's `convolution` takes behind its tensors."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    transposed: bool
    output_padding: Sequence[int]
    groups: int


def other_convolution(x: Tensor, weights: Tensor, bias: Tensor | None, *shape: Any) -> Tensor:  # noqa: ANN401
    """The convolution, if it has one channel to a group and is transposed or of three dimensions, or steps apart."""
    window = _ConvolutionShape(*shape)
    channels = weights.shape[0] // window.groups if window.transposed else weights.shape[1]
    if window.groups == 1 or channels != 1:
        return _between_steps(x, weights, bias, window) if window.transposed else NotImplemented
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


class _ResultsBySteps(NamedTuple):
    """Along one dimension, what a transposed convolution makes `step` results of at a time, of so many `taps` each.

    Zeros go around its input; of what is made, so many come before the first result.
    """

    step: int
    taps: int
    around: tuple[int, int]
    before: int
    made: int

    @classmethod
    def of(cls, size: int, weights: int, step: int, padding: int, more: int) -> _ResultsBySteps:
        made = (size - 1) * step - 2 * padding + weights + more
        taps, before = weights // step, padding % step
        left = taps - 1 - padding // step
        right = -(-(made + before) // step) + taps - 1 - left - size
        return cls(step, taps, (left, right), before, made)


def _between_steps(x: Tensor, weights: Tensor, bias: Tensor | None, window: _ConvolutionShape) -> Tensor:
    """A transposed convolution whose results between two steps are channels of a plain one, if its steps divide it.

    With zeros between the elements of its input, all but one in `step` products of each dimension were with zeros.
    Where steps don't divide its weights, some would be zeros here, and infinite elements times these no numbers.
    """
    torch = loaded_torch()
    sizes, reach = x.shape[2:], weights.shape[2:]
    divides = all(extent % step == 0 for extent, step in zip(reach, window.stride, strict=True))
    if not divides or max(window.stride) == 1 or max(window.dilation) > 1:
        return NotImplemented
    given = zip(sizes, reach, window.stride, window.padding, window.output_padding, strict=True)
    dims = [_ResultsBySteps.of(*each) for each in given]
    if min(min(one.around) for one in dims) < 0:
        return NotImplemented
    count, steps = len(dims), [one.step for one in dims]
    wide = _type_of_sums(x)
    inputs, outputs = weights.shape[0] // window.groups, weights.shape[1]
    split = weights.reshape(window.groups, inputs, outputs, *(size for one in dims for size in (one.taps, one.step)))
    along_taps, along_steps = range(3, 3 + 2 * count, 2), range(4, 4 + 2 * count, 2)
    turned = split.flip(tuple(along_taps)).permute(0, 2, *along_steps, 1, *along_taps)
    channels = window.groups * outputs
    factors = turned.reshape(channels * prod(steps), inputs, *(one.taps for one in dims)).to(wide)
    met = torch.nn.functional.pad(x, [end for one in reversed(dims) for end in one.around]).to(wide)
    ones, none = [1] * count, [0] * count
    sums = torch.ops.aten.convolution(met, factors, None, ones, none, ones, False, none, window.groups)
    lines = [place * step for place, step in zip(sums.shape[2:], steps, strict=True)]
    in_order = (each for dim in range(count) for each in (2 + count + dim, 2 + dim))
    apart = sums.reshape(x.shape[0], channels, *steps, *sums.shape[2:]).permute(0, 1, *in_order)
    found = _begun_at(bias, apart.reshape(x.shape[0], channels, *lines)).to(x.dtype)
    for dim, one in enumerate(dims):
        found = found.narrow(2 + dim, one.before, one.made)
    return found


def _by_planes(x: Tensor, weights: Tensor, bias: Tensor | None, window: _ConvolutionShape) -> Tensor:
    """For each plane of the weights a convolution of all planes that it meets, 16-bit floats added up in f32."""
    torch = loaded_torch()
    wide = _type_of_sums(x)
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
    return _begun_at(bias, found).to(x.dtype)


def _type_of_sums(x: Tensor) -> dtype:
    """What products of a tensor's elements are added up in."""
    return loaded_torch().float32 if is_narrow(x.dtype) else x.dtype


def _begun_at(bias: Tensor | None, sums: Tensor) -> Tensor:
    """Sums, and a number for each of their channels."""
    return sums if bias is None else sums + bias.reshape(-1, *[1] * (sums.dim() - 2))


TAKEN_APART: Mapping[str, Callable[..., Any]] = {"convolution.default": other_convolution}
