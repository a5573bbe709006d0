"""Transposed convolutions as plain ones, of the same numbers and no numbers."""

from __future__ import annotations

import random

import pytest

import npuflow
from npuflow.importing import convolutions
from npuflow.importing.convolutions import other_convolution

pytestmark = pytest.mark.usefixtures("_torch")

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("seed", range(80))
def test_it_is_as_pytorch_has_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Infinite elements and what is no number reach no further either. Half of the steps divide the weights."""
    import torch

    monkeypatch.setattr(convolutions, "_MANY_PRODUCTS", 0)
    torch.manual_seed(seed)
    draw = random.Random(seed)
    rank, groups = seed % 3 + 1, draw.choice((1, 2))
    steps = [2, *(draw.choice((1, 2, 3)) for _ in range(rank - 1))]
    reach = [step * draw.choice((1, 2)) + (draw.randrange(step) if seed >= 40 else 0) for step in steps]
    edges = [draw.randrange((size + 1) // 2) for size in reach]
    more = [draw.randrange(step) for step in steps]
    x = torch.randn(2, 2 * groups, *(draw.choice((3, 4, 5)) for _ in range(rank)))
    weights, bias = torch.randn(2 * groups, 3, *reach), torch.randn(3 * groups)
    if seed % 2:
        x.view(-1)[draw.randrange(x.numel())] = draw.choice((INF, -INF, NAN))
    found = other_convolution(x, weights, bias, steps, edges, [1] * rank, True, more, groups)
    wanted = torch.ops.aten.convolution(x, weights, bias, steps, edges, [1] * rank, True, more, groups)
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4, equal_nan=True)


@pytest.mark.parametrize(
    ("reach", "step", "edge", "dilation"), [(1, 2, 0, 1), (4, 1, 1, 1), (4, 2, 1, 2), (2, 2, 3, 1)]
)
def test_what_would_need_less_than_there_is_stays(
    reach: int, step: int, edge: int, dilation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(convolutions, "_MANY_PRODUCTS", 0)
    x, weights = torch.randn(1, 4, 7), torch.randn(4, 2, reach)
    assert other_convolution(x, weights, None, [step], [edge], [dilation], True, [0], 1) is NotImplemented


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_no_product_is_with_zeros_between_elements(kind: str) -> None:
    """8 x 10 pixels, each of which meets all 16 weights of 3 and 5 channels."""
    import torch

    layer = torch.nn.ConvTranspose2d(3, 5, 4, 2, 1).to(getattr(torch, kind))
    x = torch.randn(1, 3, 8, 10).to(getattr(torch, kind))
    compiled = npuflow.compile(npuflow.from_torch(layer, (x,)), device="npu2")
    report = compiled.run(verify=True)
    shown = (*report.sequences, *report.functions)[0]
    assert shown.verified.status.value == "ok"
    assert sum(function.macs or 0 for function in compiled.functions) == 9 * 11 * 16 * 3 * 5


def test_results_are_joined_where_many_slow_products_would_be_with_zeros() -> None:
    import torch

    def is_joined(kind: str, sizes: tuple[int, int], are_fast: bool = False) -> bool:
        x = torch.ones(1, sizes[0], sizes[1], sizes[1], dtype=getattr(torch, kind))
        weights = torch.ones(sizes[0], 64, 3, 3, dtype=x.dtype)
        window = ([2, 2], [1, 1], [1, 1], True, [1, 1], 1)
        return other_convolution(x, weights, None, *window, products_are_fast=are_fast) is not NotImplemented

    assert is_joined("float32", (64, 28))
    assert not is_joined("float32", (64, 28), are_fast=True)
    assert not is_joined("bfloat16", (64, 28))
    assert not is_joined("float32", (4, 8))


def test_steps_that_do_not_divide_the_weights_leave_few_products_with_zeros() -> None:
    """Of 24x24 pixels with 9 weights each; what is beside the image for the longer rows are zeros."""
    import torch

    layer = torch.nn.ConvTranspose2d(32, 48, 3, 2, 1, 1)
    compiled = npuflow.compile(npuflow.from_torch(layer, (torch.randn(1, 32, 24, 24),)), device="npu2")
    (shown,) = compiled.run(verify=True).sequences
    assert shown.verified.status.value == "ok"
    macs = sum(function.macs or 0 for function in compiled.functions)
    assert 24 * 24 * 9 * 32 * 48 <= macs <= 25 * 25 * 9 * 32 * 48
