"""What is imported computes what PyTorch does, to the last sign: of numbers at which importers are often wrong."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import npuflow
from npuflow.errors import InputError
from npuflow.execute.jit import compile_function

pytestmark = pytest.mark.usefixtures("_torch")

X = [nan, 1.0, -3.0, inf, -inf, 0.0, 7.0, 1.0, 2.5, -0.5]
Y = [1.0, nan, 2.0, inf, 2.0, 0.0, 0.0, 0.1, -0.5, -0.5]
WHOLE = [5, -5, 1, 0, 100, -7, 2, 2, -1, 3]

# Expressions of x and y, floats with infinities and what is no number among them, and n, whole numbers.
EXPRESSIONS = (
    # The greater or smaller of two.
    *("torch.maximum(x, y)", "torch.minimum(x, y)", "torch.clamp(x, 0, 1)", "torch.clamp(x, y, y + 1)"),
    *("torch.clamp_max(x, y)", "functional.relu6(x)", "functional.hardsigmoid(x)", "torch.fmax(x[:2, None], y)"),
    *("torch.fmin(x, y[3])", "torch.where(x > y, x, y)", "torch.relu(x)"),
    # Divisions.
    *("x // y", "x // 0.1", "7 // y", "n // 2", "torch.div(x, y, rounding_mode='floor')", "torch.fmod(x, y)"),
    *("torch.fmod(n, 2)", "torch.fmod(n, 2.5)", "x % y", "n % 3", "torch.fmod(n.to(torch.int8), 3)"),
    # Comparisons of numbers of two types, and of constants.
    *("n == 1.5", "torch.full((3,), 2) == 2.5", "torch.full((3,), 2) != nan", "torch.ones(3, dtype=torch.bool) == 2"),
    *("x == x", "x != x", "torch.isfinite(x)", "torch.isinf(x)", "n != n"),
    *("torch.isclose(x, y)", "torch.isclose(x, x, equal_nan=True)", "torch.sign(torch.full((3,), 2.0)) + x[:3]"),
    *("torch.trunc(torch.full((3,), -501.5))", "torch.softmax(torch.full((), 2.0), 0)", "torch.log_softmax(y[0], 0)"),
    *("torch.full((3, 9), 3).chunk(3, -1)[2].sum()", "torch.zeros_like(x).exp() > 0", "torch.tensor([2.0, 2.0]) == 2"),
    # Tensors of one number, and without any.
    *("y[0].median(0)[0]", "y[0].cummax(0)[0]", "y[0].max(0)[0]", "y[0].mode()[0]", "y[0].logsumexp(0)"),
    *("y[0].scatter(0, torch.tensor(0), 2.5)", "torch.matmul(x[:0].reshape(5, 5, 0), y[:0].reshape(0, 5))"),
    *("functional.group_norm(x[:0].reshape(0, 2), 1)", "torch.logdet(n[:0].float().reshape(0, 0))", "x[:0].argwhere()"),
    # Elements at places.
    *("n.index_put((n > 1,), torch.tensor(9), True)", "n.take(torch.tensor(-2))", "n.as_strided((2, 3), (1, 2), 1)"),
    *("n.scatter(0, torch.tensor([0, 2]), torch.tensor([3, 4]), reduce='add')", "n.median(0)[0]", "n.kthvalue(3)[0]"),
    *("n.index_fill(0, torch.tensor([-1, 2]), 9)", "torch.angle(n)"),
    "n.view(2, 5).scatter_reduce(1, n.view(2, 5) % 3, n.view(2, 5), 'mean')",
    *("n.masked_scatter(n > 1, n + 10)", "torch.searchsorted(n.sort()[0], n[0])", "torch.unbind_copy(n)[1]"),
    # Pools.
    *(
        "functional.adaptive_max_pool1d(n.float()[None], 3, True)[1]",
        "functional.max_pool2d(n.float().view(1, 2, 5), 2)",
    ),
    *("functional.adaptive_max_pool2d(n.float().view(1, 2, 5), (2, 3))", "functional.avg_pool2d(x.view(1, 2, 5), 2)"),
    "functional.conv3d(WHOLE_BOXES + n[0], torch.ones(2, 1, 2, 1, 1, dtype=torch.int64), groups=2)",
    # Types of results.
    *(
        "torch.copysign(n, y)",
        "torch.cov(n.reshape(2, 5))",
        "n.cumprod(0, dtype=torch.float32)",
        "n.sum(dtype=torch.int32)",
    ),
    *("torch.addmv(n[:2], n.view(2, 5), n[:5], alpha=0.5)", "torch.addbmm(n[:2], n.view(1, 2, 5), n.view(1, 5, 2))"),
    *(
        "torch.view_as_real(n.cdouble())",
        "torch.view_as_real(torch.complex(n[1:3, None].float(), n[5:].float()))",
        "n >> torch.ones_like(n)",
    ),
    # Formulas.
    *("functional.gelu(n / 10, approximate='tanh')", "(1000 * n).float().logcumsumexp(0)"),
    "functional.cosine_embedding_loss(n.float().view(2, 5), n.float().view(2, 5).roll(1, 1), torch.ones(2))",
)


def in_numpy(x: Any) -> np.ndarray:  # noqa: ANN401
    import torch

    x = x.contiguous()
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()


def computed(expression: str) -> Any:  # noqa: ANN401
    import torch

    class Computed(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, n: torch.Tensor) -> Any:  # noqa: ANN401
            names = {"torch": torch, "functional": torch.nn.functional, "x": x, "y": y, "n": n, "nan": nan}
            names["WHOLE_BOXES"] = 2**40 + torch.arange(16).view(1, 2, 2, 2, 2)
            return eval(expression, names)

    return Computed()


@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_pytorch_says_the_same(expression: str, kind: str) -> None:
    import torch

    floats = getattr(torch, kind)
    given = (torch.tensor(X, dtype=floats), torch.tensor(Y, dtype=floats), torch.tensor(WHOLE))
    module = computed(expression)
    expected = module(*given)
    program = npuflow.from_torch(module, given)
    (found,) = compile_function(program.operation, "main").run([in_numpy(one) for one in given]).results
    assert (str(found.dtype), found.shape) == (str(expected.dtype).removeprefix("torch."), tuple(expected.shape))
    exact = expected.dtype not in (torch.float32, torch.bfloat16)
    shares = {} if exact else {"rtol": 1e-5 if expected.dtype == torch.float32 else 2**-7}
    compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
    compare(found.astype(np.float64), expected.double().numpy(), **shares)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("torch.frexp(x)[0]", "torch-mlir has no op for 'prims.frexp'; hint: "),
        ("n.as_strided_scatter(n[:1], (1,), (1,), 1)", "torch-mlir cannot lower 'aten.as_strided_scatter'; hint: "),
        ("functional.max_pool3d(n.view(1, 1, 2, 5), (1, 2, 2))", "'max_pool3d' of int64; hint: convert it to floats"),
    ],
)
def test_what_is_missing_is_named(expression: str, said: str) -> None:
    import torch

    with pytest.raises(InputError) as caught:
        npuflow.from_torch(computed(expression), (torch.tensor(X), torch.tensor(Y), torch.tensor(WHOLE)))
    assert said in str(caught.value)
