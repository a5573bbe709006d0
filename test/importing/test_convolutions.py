"""Transposed convolutions whose steps divide their weights are plain ones, of the same numbers and no numbers."""

from __future__ import annotations

import random

import pytest

import npuflow
from npuflow.importing.convolutions import other_convolution

pytestmark = pytest.mark.usefixtures("_torch")

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("seed", range(40))
def test_it_is_as_pytorch_has_it(seed: int) -> None:
    """Infinite elements and what is no number reach no further either."""
    import torch

    torch.manual_seed(seed)
    draw = random.Random(seed)
    rank, groups = seed % 3 + 1, draw.choice((1, 2))
    steps = [2, *(draw.choice((1, 2, 3)) for _ in range(rank - 1))]
    reach = [step * draw.choice((1, 2)) for step in steps]
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
    ("reach", "step", "edge", "dilation"), [(3, 2, 1, 1), (4, 1, 1, 1), (4, 2, 1, 2), (2, 2, 3, 1)]
)
def test_what_would_need_zeros_among_weights_or_less_than_there_is_stays(
    reach: int, step: int, edge: int, dilation: int
) -> None:
    import torch

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
