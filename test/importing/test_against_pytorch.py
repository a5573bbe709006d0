"""What is imported computes what PyTorch does, to the last sign: of numbers at which importers are often wrong."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from torch_arrays import in_numpy

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
    *("torch.fmin(x, y[3])", "torch.where(x > y, x, y)", "torch.relu(x)", "functional.rrelu(n / 8, 0.1, 0.5)"),
    # Orders, in which what is no number is greater than all, and where it is; more of these than one.
    *("x.sort()[0]", "x.sort()[1]", "x.argsort(descending=True)", "MANY.sort()[1]", "MANY.sort(descending=True)[1]"),
    *(
        "MANY.topk(4)[0]",
        "MANY.topk(4, largest=False)[0]",
        "x.topk(2)[1]",
        "MANY.kthvalue(3)[0]",
        "MANY.kthvalue(9)[0]",
    ),
    *("MANY.nanmedian()", "MANY.median(0)[1]", "MANY.msort()", "x.kthvalue(2)[1]", "y[0].kthvalue(1)[0]"),
    *("x.view(2, 5).max(1)[1]", "x.flip(0).argmin()", "MANY.view(2, 5).argmax(1)", "MANY.view(2, 5).min(1)[1]"),
    "functional.max_pool2d(MANY.view(1, 2, 5), 2, 1, return_indices=True)[1]",
    "functional.max_pool3d(MANY.view(1, 1, 2, 5), (1, 2, 2), 1, return_indices=True)[1]",
    "functional.adaptive_max_pool1d(MANY[None], 3, True)[1]",
    # Shifts by more bits than there are, or by fewer than none.
    *("n << n", "n >> n", "n << n * 13", "n.int() << n.int()", "n.char() >> n.char()", "n << 70", "n >> -1", "-7 >> n"),
    # Places in images: at what is no number, at infinity, and beyond what is infinite; not at minus infinity, where
    # PyTorch reads a pixel of bf16, and none of f32.
    *(
        f"functional.grid_sample({image}, {places}, '{kind}', '{padding}', False)"
        for image, places in (
            ("n.view(1, 1, 2, 5).to(x)", "x.clamp_min(-9).view(1, 1, 5, 2)"),
            ("x.view(1, 1, 2, 5)", "n.view(1, 1, 5, 2).to(x) / 8"),
            ("n.view(1, 1, 1, 2, 5).to(x)", "x[:9].view(1, 1, 1, 3, 3)"),
        )
        for kind in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
    ),
    # Cubes of distances, which PyTorch has in bf16 with few digits.
    *(
        f"functional.grid_sample(({image}).float(), ({places}).float(), 'bicubic', '{padding}', {is_aligned})"
        for image, places in (
            ("n.view(1, 1, 2, 5)", "x.view(1, 1, 5, 2)"),
            ("x.view(1, 1, 2, 5)", "n.view(1, 1, 5, 2) / 8"),
        )
        for padding in ("zeros", "border", "reflection")
        for is_aligned in (False, True)
    ),
    "(n.to(x) * nan).mode()[1]",
    # Bounds of other types, and numbers before tensors.
    *("torch.clamp(n, 0.5, 3)", "torch.clamp(n, x, y)", "n.int().clamp_min(n)", "torch.clamp(n, True)"),
    *("7 % n.clamp_min(1)", "-2.5 % y", "torch.copysign(x, -1)", "torch.copysign(n, -0.0)"),
    # Bools are 0 and 1, and sums of them say whether any is 1.
    *(
        "(n > 1).sort()[0]",
        "(n > 1).sort(descending=True)[1]",
        "(n > 1).msort()",
        "(n > 1).view(2, 5).argsort(0, True)",
    ),
    *("torch.clamp_min(n > 1, x > 0)", "torch.clamp_max(n > 1, x > 0)", "(n > 1) >= n.int()", "(n > 1) < n[0].float()"),
    *("(n > 1).scatter_add(0, n.abs() % 5, n > 0)", "(n > 1).index_add(0, n.abs() % 3, n > 0)", "(n > 1) + (n > 0)"),
    *("(n > 1).index_put((n.abs() % 3,), n > 0, True)", "(n > 1) | 4", "(n > 1) ^ 0", "(n > 1) & 1", "1 | (n > 1)"),
    *(
        f"(n > 1).scatter_reduce(0, n.abs() % 4, n > 0, '{how}', include_self={is_with})"
        for how in ("sum", "amin", "amax", "prod")
        for is_with in (False, True)
    ),
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
    *("x[:0].var()", "torch.std_mean(y[:0].reshape(0, 2), 0)[0]", "x[:0].mean() + x"),
    # Elements at places.
    *("n.index_put((n > 1,), torch.tensor(9), True)", "n.take(torch.tensor(-2))", "n.as_strided((2, 3), (1, 2), 1)"),
    *("n.scatter(0, torch.tensor([0, 2]), torch.tensor([3, 4]), reduce='add')", "n.median(0)[0]", "n.kthvalue(3)[0]"),
    *("n.index_fill(0, torch.tensor([-1, 2]), 9)", "torch.angle(n)"),
    "n.view(2, 5).scatter_reduce(1, n.view(2, 5) % 3, n.view(2, 5), 'mean')",
    *(
        f"torch.ops.aten.index_put(n[:8].view(2, 2, 2), [n[3:5] * 0, None, n[2:4].clamp(0, 1)], {values}, {adds})"
        for values in ("n[6:8]", "n[4:8].view(2, 2)")
        for adds in (False, True)
    ),
    *("n.masked_scatter(n > 1, n + 10)", "torch.searchsorted(n.sort()[0], n[0])", "torch.unbind_copy(n)[1]"),
    "functional.embedding_bag(n[:4].abs() % 5, x.view(5, 2), torch.tensor([0, 2]), mode='sum')",
    "functional.embedding_bag(n[:4].abs() % 5, x.view(5, 2), torch.tensor([0, 1, 1, 3]), mode='mean')",
    "functional.embedding_bag(n.abs() % 5, MANY.view(5, 2), torch.tensor([0, 2, 4, 4, 7]), mode='max')",
    "functional.embedding_bag(n[:4].abs() % 5, n.to(x).view(5, 2), torch.tensor([0, 2]), mode='max', padding_idx=-1)",
    *("n[0].amax(0)", "n[0].argmin()", "x[0].argmax(0)", "n[0].any(0)", "torch.permute_copy(n.view(2, 5), (1, 0))"),
    "torch.searchsorted(n.sort()[0], 2.5)",
    # Pools.
    *(
        f"functional.fractional_max_pool2d(({image}).expand(2, 3, 7, 7), 2, (3, 4), None, True, DRAWN)[{which}]"
        for image in ("n[:7].float() * n[:7].view(7, 1)", "MANY[:7].float() + MANY[:7].view(7, 1)")
        for which in (0, 1)
    ),
    "functional.fractional_max_pool3d(n[:7].float().expand(3, 5, 6, 7), 2, (2, 1, 4), None, True, DRAWN_BOXES)[1]",
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
        "n.int().sum(dtype=torch.int32)",
    ),
    *("torch.addmv(n[:2], n.view(2, 5), n[:5], alpha=0.5)", "torch.addbmm(n[:2], n.view(1, 2, 5), n.view(1, 5, 2))"),
    *(
        "torch.view_as_real(n.cdouble())",
        "torch.view_as_real(torch.complex(n[1:3, None].float(), n[5:].float()))",
        "n >> torch.ones_like(n)",
    ),
    *(
        "torch.tensordot(n.int(), n.int(), ([0], [0]))",
        "n[0].int().logsumexp(0)",
        "torch.addcmul(n, n.int(), n, value=2.0)",
    ),
    # What f32 has no place for.
    *(
        "-(2**40 * n + 1)",
        "-(2**24 * n + 1).int()",
        "-n.short()",
        "(-n.to(torch.uint8)).int()",
        "-(2**30 * n.int() * 2)",
    ),
    *("torch.bitwise_left_shift(n, 33)", "torch.bitwise_right_shift(2**40 * n - 1, 3)"),
    # Formulas.
    *("torch.polygamma(1, n / 2 + 0.25)", "torch.polygamma(2, n[1:7])", "torch.polygamma(3, -n / 3.0 - 9)"),
    "torch.polygamma(2, -n * 1.25 - 20)",
    *(
        f"torch.special.{name}(x.float())"
        for name in ("bessel_j0", "bessel_j1", "i0e", "i1", "i1e", "spherical_bessel_j0")
    ),
    *(f"torch.special.bessel_{name}(n.float() / 3)" for name in ("j0", "j1", "y0", "y1")),
    *(
        f"torch.special.{scaled}modified_bessel_{kind}(n.float() / 5)"
        for scaled, kind in (("", "i0"), ("", "i1"), ("", "k0"), ("", "k1"), ("scaled_", "k0"), ("scaled_", "k1"))
    ),
    *(
        "torch.special.erfcx(x.float())",
        "torch.special.erfcx(n / 10)",
        "torch.special.log_ndtr(x.float())",
        "torch.special.ndtri(x.float())",
    ),
    *("torch.special.ndtri(n / 100)", "torch.special.ndtri(1e-20 * y.float())", "torch.special.ndtr(n / 3)"),
    *(
        f"torch.{name}({given})"
        for name in ("igamma", "igammac")
        for given in ("x.float(), y.float()", "n.float(), n.flip(0) / 2", "100 + 3.0 * n, 101 + n.flip(0).float()")
    ),
    # Parts of floats, and one beside another.
    *(
        "torch.frexp(x)[0]",
        "torch.frexp(x * 1e-39)[1]",
        "torch.nextafter(x, y)",
        "torch.nextafter(1e-39 * x.float(), -y.float())",
    ),
    # Powers of whole numbers.
    "torch.ones_like(n) ** n",
    *("n ** 3", "n.int() ** 6", "n.char().square()", "n ** n", "n.int() ** n.flip(0).int()", "3 ** n", "n ** 2.0"),
    *("functional.gelu(n / 10, approximate='tanh')", "(1000 * n).float().logcumsumexp(0)"),
    "functional.cosine_embedding_loss(n.float().view(2, 5), n.float().view(2, 5).roll(1, 1), torch.ones(2))",
)


def computed(expression: str) -> Any:  # noqa: ANN401
    import torch

    class Computed(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, n: torch.Tensor) -> Any:  # noqa: ANN401
            names = {"torch": torch, "functional": torch.nn.functional, "x": x, "y": y, "n": n, "nan": nan}
            names["MANY"] = torch.where(n > 1, nan, x)
            names["DRAWN"] = torch.arange(12).view(2, 3, 2) * 0.37 % 1
            names["DRAWN_BOXES"] = names["DRAWN"][:1, :, [0, 0, 1]]
            names["WHOLE_BOXES"] = 2**40 + torch.arange(16).view(1, 2, 2, 2, 2)
            return eval(expression, names)

    return Computed()


@pytest.mark.filterwarnings("ignore:The reduce argument", r"ignore:.*degrees of freedom")
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
        ("torch.special.zeta(x, y)", "torch-mlir has no op for 'prims.zeta'; hint: "),
        ("n.as_strided_scatter(n[:1], (1,), (1,), 1)", "torch-mlir cannot lower 'aten.as_strided_scatter'; hint: "),
        ("functional.max_pool3d(n.view(1, 1, 2, 5), (1, 2, 2))", "'max_pool3d' of int64; hint: convert it to floats"),
    ],
)
def test_what_is_missing_is_named(expression: str, said: str) -> None:
    import torch

    with pytest.raises(InputError) as caught:
        npuflow.from_torch(computed(expression), (torch.tensor(X), torch.tensor(Y), torch.tensor(WHOLE)))
    assert said in str(caught.value)
