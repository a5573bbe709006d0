"""Convolutions that torch-mlir doesn't lower, wrongly, or to what computes much in vain, in terms of other ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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


def other_convolution(
    x: Tensor,
    weights: Tensor,
    bias: Tensor | None,
    *shape: Any,  # noqa: ANN401
    products_are_fast: bool = False,
) -> Tensor:
    """The convolution, if it has one channel to a group and is transposed or of three dimensions, or steps apart.

    Where products are fast, some with zeros take less than to join results: so where they are bf16's.
    """
    window = _ConvolutionShape(*shape)
    channels = weights.shape[0] // window.groups if window.transposed else weights.shape[1]
    if window.groups == 1 or channels != 1:
        if not window.transposed:
            return NotImplemented
        return _between_steps(x, weights, bias, window, products_are_fast or x.dtype == loaded_torch().bfloat16)
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


class _ResultsOfTaps(NamedTuple):
    """Results between two steps that as many taps meet: so many, from one on. Zeros go around what they are made of."""

    first: int
    results: int
    taps: int
    around: tuple[int, int]


class _ResultsBySteps(NamedTuple):
    """Along one dimension, what a transposed convolution makes `step` results of at a time, `lines` times.

    Of what is made, so many come before the first result. Where the step doesn't divide the weights, the first results
    behind each step meet one of them more than the others.
    """

    step: int
    lines: int
    before: int
    made: int
    kinds: tuple[_ResultsOfTaps, ...]

    @classmethod
    def of(cls, size: int, weights: int, step: int, padding: int, more: int) -> _ResultsBySteps:
        made = (size - 1) * step - 2 * padding + weights + more
        (left_out, before), (taps, longer) = divmod(padding, step), divmod(weights, step)
        lines = -(-(made + before) // step)
        kinds = [(0, longer, taps + 1), (longer, step - longer, taps)]
        right = lines + left_out - size
        each = (_ResultsOfTaps(first, count, met, (met - 1 - left_out, right)) for first, count, met in kinds if count)
        return cls(step, lines, before, made, tuple(each))

    @property
    def is_padded(self) -> bool:
        """Whether nothing is cut off of what results are made of, and all meet something."""
        return all(kind.taps and min(kind.around) >= 0 for kind in self.kinds)


# From how many products with zeros on results are joined rather than made of these. In f32 that many take an npu2 some
# 0.25 ms and an npu1 1 ms: as long as it takes to join them, if each core is loaded anew for each convolution.
_MANY_PRODUCTS = 1 << 24


def _between_steps(
    x: Tensor, weights: Tensor, bias: Tensor | None, window: _ConvolutionShape, products_are_fast: bool
) -> Tensor:
    """A transposed convolution whose results between two steps are channels of plain ones.

    With zeros between the elements of its input, all but one in `step` products of each dimension were with zeros. It
    is one convolution if the steps divide the weights. Else there is one for each number of weights that results meet,
    and what they make is joined: with zeros among the weights, infinite elements would become no numbers further away.
    That moves more, so it isn't done where products are few, or fast.
    """
    if max(window.stride) == 1 or max(window.dilation) > 1:
        return NotImplemented
    given = zip(x.shape[2:], weights.shape[2:], window.stride, window.padding, window.output_padding, strict=True)
    dims = [_ResultsBySteps.of(*each) for each in given]
    if not all(one.is_padded for one in dims):
        return NotImplemented
    products = weights.numel() * x.numel() // x.shape[1]
    in_vain = products * (prod(window.stride) - 1)
    if any(len(one.kinds) > 1 for one in dims) and (products_are_fast or in_vain < _MANY_PRODUCTS):
        return NotImplemented
    by_groups = weights.unflatten(0, (window.groups, -1))
    joined = _JoinedConvolutions(x, by_groups, dims).joined()
    lines = [one.lines * one.step for one in dims]
    found = _begun_at(bias, joined.reshape(x.shape[0], -1, *lines)).to(x.dtype)
    for dim, one in enumerate(dims):
        found = found.narrow(2 + dim, one.before, one.made)
    return found


class _JoinedConvolutions(NamedTuple):
    """Plain convolutions of an input, by the weights that results between two steps meet."""

    x: Tensor
    weights: Tensor
    dims: Sequence[_ResultsBySteps]

    def joined(self, *chosen: _ResultsOfTaps) -> Tensor:
        """Images, channels, and of each dimension lines and what lies between two of them."""
        if len(chosen) == len(self.dims):
            return self._convolved(chosen)
        found = [self.joined(*chosen, kind) for kind in self.dims[len(chosen)].kinds]
        return loaded_torch().cat(found, 3 + 2 * len(chosen)) if len(found) > 1 else found[0]

    def _convolved(self, kinds: Sequence[_ResultsOfTaps]) -> Tensor:
        torch = loaded_torch()
        count, wide = len(kinds), _type_of_sums(self.x)
        groups, inputs, outputs = self.weights.shape[:3]
        met = self.weights
        for dim, kind in enumerate(kinds):
            step, axis = self.dims[dim].step, 3 + 2 * dim
            length = (kind.taps - 1) * step + kind.results
            windows = met.narrow(axis, kind.first, length).unfold(axis, kind.results, step)
            met = windows.movedim(-1, axis + 1)
        along_taps, along_steps = range(3, 3 + 2 * count, 2), range(4, 4 + 2 * count, 2)
        turned = met.flip(tuple(along_taps)).permute(0, 2, *along_steps, 1, *along_taps)
        steps, channels = [kind.results for kind in kinds], groups * outputs
        factors = turned.reshape(channels * prod(steps), inputs, *(kind.taps for kind in kinds)).to(wide)
        padded = torch.nn.functional.pad(self.x, [end for kind in reversed(kinds) for end in kind.around]).to(wide)
        ones, none = [1] * count, [0] * count
        sums = torch.ops.aten.convolution(padded, factors, None, ones, none, ones, False, none, groups)
        in_order = (each for dim in range(count) for each in (2 + count + dim, 2 + dim))
        return sums.reshape(self.x.shape[0], channels, *steps, *sums.shape[2:]).permute(0, 1, *in_order)


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
# Where numbers are rounded anyway, and what multiplies narrow ones is fast.
AS_PRODUCTS = {"convolution.default": partial(other_convolution, products_are_fast=True)}
