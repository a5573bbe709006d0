"""Modules whose own way depends on data are imported in another, and compute what PyTorch does."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import npuflow
from npuflow.execute.jit import compile_function

pytestmark = pytest.mark.usefixtures("_torch")


def executed(module: Any, *given: Any) -> tuple[np.ndarray, ...]:  # noqa: ANN401
    program = npuflow.from_torch(copy.deepcopy(module), given)
    return compile_function(program.operation, "main").run([one.detach().numpy() for one in given]).results


@pytest.mark.parametrize("batches", [0, 3])
def test_batch_norms_without_a_momentum_average_all_batches(batches: int) -> None:
    import torch

    norm = torch.nn.BatchNorm2d(5, momentum=None).train()
    torch.manual_seed(0)
    for _ in range(batches):
        norm(torch.randn(4, 5, 3, 3) * 2 + 1)
    x = torch.randn(4, 5, 3, 3)
    kept = [one.clone() for one in (norm.running_mean, norm.running_var, norm.num_batches_tracked)]
    program = npuflow.from_torch(copy.deepcopy(norm), (x,))
    found = compile_function(program.operation, "main").run([one.numpy() for one in (x, *kept)]).results
    expected = [norm(x), norm.running_mean, norm.running_var, norm.num_batches_tracked]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert int(found[-1]) == batches + 1


def test_other_batch_norms_are_as_they_were() -> None:
    import torch

    norm = torch.nn.BatchNorm1d(5, momentum=None).eval()
    x = torch.randn(4, 5)
    np.testing.assert_allclose(executed(norm, x)[0], norm(x).detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("with_bias", [False, True])
def test_adaptive_softmax_takes_all_clusters(with_bias: bool) -> None:
    """Targets in each of them, and on their first and last numbers."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0, head_bias=with_bias)
    targets = torch.tensor([0, 4, 5, 9, 10, 19, 13])
    x = torch.randn(7, 8)
    for given in ((x, targets), (x[5], targets[5])):
        expected = module(*given)
        for one, other in zip(executed(module, *given), expected, strict=True):
            np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_adaptive_softmax_says_the_likeliest() -> None:
    import torch

    class Predicting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.softmax.predict(x)

    torch.manual_seed(0)
    module, x = Predicting(), 5 * torch.randn(40, 8)
    expected = module(x).numpy()
    assert min(expected) < 5 <= max(expected)
    np.testing.assert_array_equal(executed(module, x)[0], expected)


@pytest.mark.parametrize("is_causal", [None, True])
def test_transformers_take_masks_whatever_is_in_them(is_causal: bool | None) -> None:
    import torch

    class Masked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(12, 2, 17, batch_first=True), 1)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return self.layers(x, mask=mask, is_causal=is_causal)

    torch.manual_seed(0)
    module, x = Masked().eval(), torch.randn(2, 5, 12)
    causal = torch.nn.Transformer.generate_square_subsequent_mask(5)
    for mask in (causal, *([causal.T] if is_causal is None else [])):
        expected = module(x, mask).detach().numpy()
        np.testing.assert_allclose(executed(module, x, mask)[0], expected, rtol=1e-4, atol=1e-5)


def test_modules_are_left_as_they_were() -> None:
    import torch

    def ways() -> tuple[object, ...]:
        transformer = torch.nn.modules.transformer
        return norm.forward, adaptive.forward, adaptive.predict, transformer._detect_is_causal_mask

    norm, adaptive = torch.nn.modules.batchnorm._BatchNorm, torch.nn.AdaptiveLogSoftmaxWithLoss
    before = ways()
    executed(torch.nn.BatchNorm1d(5).eval(), torch.randn(4, 5))
    with pytest.raises(npuflow.NpuflowError):
        npuflow.from_torch(torch.nn.Linear(3, 4), (torch.randn(4, 5),))
    assert ways() == before
