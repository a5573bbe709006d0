"""16-bit floats are summed up in f32, as in PyTorch, whatever sums them up: their own type stalls or overflows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch_arrays import in_numpy

import npuflow

pytestmark = pytest.mark.usefixtures("_torch")

# Of x, 4 rows of 2048 numbers near 25.
EXPRESSIONS = {
    "mean": "x.mean(1)",
    "mean of all": "x.mean()",
    "sum": "(x / 16).sum(1)",
    "sum in f32": "x.sum(1, dtype=torch.float32)",
    "norm": "torch.linalg.vector_norm(x, 2, 1)",
    "Frobenius norm": "torch.norm(x)",
    "distance": "torch.dist(x, -x / 2)",
    "distances": "functional.pairwise_distance(x, -x / 2)",
    "variance with mean": "torch.stack(torch.var_mean(x, 1))",
    "deviation with mean of all": "torch.stack(torch.std_mean(x))",
    "normalised": "functional.normalize(x, dim=1)",
    "RMS norm": "functional.rms_norm(x, (2048,), x[0], 1e-6)",
    "cosines": "functional.cosine_similarity(x, x + 1, 1)",
    "loss": "functional.l1_loss(x, -x)",
    "average pool": "functional.avg_pool1d(400 * x[None], 64)",
    "adaptive average pool": "functional.adaptive_avg_pool2d(x.reshape(4, 1, 32, 64), 1)",
    "cumulative sum": "torch.cumsum(x / 32, 1)[:, ::256]",
}


def network(expression: str) -> Any:  # noqa: ANN401
    """A network that computes an expression of a tensor."""
    import torch

    class Computed(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:  # noqa: ANN401
            return eval(expression, {"torch": torch, "functional": torch.nn.functional, "x": x})

    return Computed()


def executed(expression: str, x: Any) -> tuple[np.ndarray, np.ndarray]:  # noqa: ANN401
    """What an expression of a tensor is, compiled and in PyTorch."""
    compiled = npuflow.compile(npuflow.from_torch(network(expression), (x,)), device="toy", jobs=1)
    (found,) = (compiled.sequences or compiled.functions)[0].execute(in_numpy(x))
    wanted = network(expression)(x)
    assert str(found.dtype) == str(wanted.dtype).removeprefix("torch.")
    return found.astype(np.float32), wanted.float().numpy()


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_sums_are_as_pytorch_has_them(name: str, kind: str) -> None:
    import torch

    torch.manual_seed(0)
    x = (5 * torch.randn(4, 2048) + 25).to(getattr(torch, kind))
    found, wanted = executed(EXPRESSIONS[name], x)
    np.testing.assert_allclose(found, wanted, rtol=2**-7 if kind == "bfloat16" else 2**-9)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64"])
def test_rows_of_zeros_are_normalised_to_zeros(kind: str) -> None:
    """And small ones as if something had been added to their squares, which PyTorch takes of f32 or f64."""
    import torch

    x = torch.tensor([[0.0, 0.0, 0.0], [3e-4, -2e-4, 1e-4]], dtype=getattr(torch, kind))
    found, wanted = executed("functional.rms_norm(x, (3,))", x)
    np.testing.assert_allclose(found, wanted, rtol=2**-7 if kind == "bfloat16" else 2**-9)


@pytest.mark.parametrize("expression", ["x.var(1)", "functional.layer_norm(x, (2048,))", "torch.std_mean(x)[0]"])
def test_variances_are_summed_up_in_f32(expression: str) -> None:
    """A mean of 100 costs no digits: 1e-5 is what is left of f32's 1e-7 by sums of 2048 numbers."""
    import torch

    torch.manual_seed(0)
    x = torch.randn(4, 2048) + 100
    assert "xf64>" not in str(npuflow.from_torch(network(expression), (x,)))
    found, wanted = executed(expression, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
