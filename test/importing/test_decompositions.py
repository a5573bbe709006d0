"""What is taken apart before torch-mlir reads it computes what PyTorch does: single ops, and complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npuflow
from npuflow.errors import InputError

pytestmark = pytest.mark.usefixtures("_torch")

# An expression of tensors x and y, and their sizes.
REAL = {
    "averages of boxes": ("functional.adaptive_avg_pool3d(x, (2, 3, 4)) + y", (2, 3, 5, 6, 7), (4,)),
    "addmv": ("torch.addmv(x, y, x[:3], beta=2, alpha=0.5)", (5,), (5, 3)),
    "angle": ("torch.angle(x)", (5, 7), (1,)),
    "batch norms": ("functional.batch_norm(x, y, y.exp(), -y, y + 1)", (2, 5, 3, 4), (5,)),
    "batch norms of rows": ("functional.batch_norm(x, y, y.exp(), -y, y + 1)", (7, 5), (5,)),
    "batch norms of doubles": ("functional.batch_norm(*(e.double() for e in (x, y, y.exp(), y, y)))", (2, 5, 3), (5,)),
    "batch norms that shift nothing": ("functional.batch_norm(x, y, y.exp(), y)", (2, 5, 3, 4), (5,)),
    "batch norms of narrow floats": ("functional.batch_norm(x.half(), y, y.exp(), y, y).float()", (2, 5, 3), (5,)),
    "blocks on a diagonal": ("torch.block_diag(x, y, x[0])", (2, 3), (4, 1)),
    "signs of another": ("torch.copysign(x, y)", (5, 7), (5, 7)),
    "distances": ("torch.cdist(x, y)", (2, 5, 7), (2, 6, 7)),
    "sums of distances": ("torch.cdist(x, y, 1.0)", (5, 7), (6, 7)),
    "distances by products": ("torch.cdist(x, y)", (30, 7), (6, 7)),
    "distances to each other": ("functional.pdist(x)", (6, 7), (1,)),
    "roots as powers": ("(x.abs() + 1) ** 0.5 + torch.pow(y.abs() + 1, -0.5)", (5, 7), (5, 7)),
    "hypotenuse": ("torch.hypot(1e30 * x, 1e30 * y)", (5, 7), (5, 7)),
    "complement of the error function": ("torch.erfc(3 * x) + torch.erfc(y)", (5, 7), (7,)),
    "distance": ("torch.dist(x, y)", (5, 7), (7,)),
    "greatest and least so far": ("torch.cummax(x, 1)[1] + torch.cummin(x, 0)[0] + y", (5, 7), (7,)),
    "rolled in a line": ("torch.roll(x, 3) + torch.roll(y, 2, -1)", (5, 7), (5, 7)),
    "places counted from the end": (
        "x.scatter(-1, y.argsort(-1), y).scatter_add(-1, y.argsort(-1), y)",
        (4, 6),
        (4, 2),
    ),
    "kept in a row": ("x.scatter_reduce(-1, y.argsort(-1), y, 'amax').scatter(-1, y.argsort(-1), 1.5)", (4, 6), (4, 2)),
    "places among bounds": ("torch.searchsorted(x.sort(-1)[0], y, right=True)", (3, 8), (3, 5)),
    "smoothed": ("functional.interpolate(x, (4, 13), mode='bilinear', antialias=True) + y", (1, 2, 9, 7), (13,)),
    "transposed, a channel to a group": (
        "functional.conv_transpose2d(x, y, stride=(2, 3), padding=(1, 0), output_padding=1, dilation=2, groups=3)",
        (2, 3, 4, 5),
        (3, 2, 3, 2),
    ),
    "constants against whole numbers": (
        "torch.where(torch.ones(7) == 1, x, 0) + torch.where(torch.full((7,), 2.0) > 2, y, 1) + (torch.zeros(7) >= 0)",
        (5, 7),
        (7,),
    ),
    "bits": ("(((7 * x).int() ^ 5) | 2) + y", (5, 7), (7,)),
    "boxes, a channel to a group": (
        "functional.conv3d(x, y, None, (2, 1, 1), (1, 0, 2), 2, groups=3)",
        (2, 3, 6, 6, 4),
        (6, 1, 3, 2, 3),
    ),
    "diagonals that are written": ("torch.diagonal_scatter(x, y, -1, 2, 1)", (2, 3, 5), (2, 3)),
    "inverse of the error function": ("torch.erfinv(torch.tanh(x)) + torch.erfinv(y / 4)", (5, 7), (7,)),
    "gammas": ("torch.lgamma(5 * x) + torch.digamma(y.abs() + 0.1)", (5, 7), (7,)),
    "Bessel": ("torch.i0(3 * x) + torch.i0(20 + y)[:1] / 1e8", (5, 7), (7,)),
    "inverse": ("torch.linalg.inv(x) @ y", (2, 4, 4), (4, 3)),
    "equations": ("torch.linalg.solve(x, y)", (4, 4), (4, 3)),
    "determinants": ("torch.det(x) + torch.linalg.slogdet(x)[1] + torch.logdet(y @ y.T)", (2, 4, 4), (3, 5)),
    "roots of matrices": ("torch.cholesky_solve(y, torch.linalg.cholesky(x @ x.T + torch.eye(4)))", (4, 4), (4, 3)),
    "inverse of a root": ("torch.cholesky_inverse(x.tril() + 3 * torch.eye(4)) @ y", (4, 4), (4, 3)),
    "triangles": (
        "torch.linalg.solve_triangular(x.triu() + 3 * torch.eye(4), y, upper=True, left=False)",
        (4, 4),
        (2, 3, 4),
    ),
    "factors": ("torch.cat(torch.linalg.qr(x)) @ y", (5, 4), (4, 2)),
    "mirrors": ("torch.linalg.householder_product(x, y)", (5, 3), (3,)),
    "exponential of a matrix": ("torch.matrix_exp(3 * x) / 100 + y", (4, 4), (4,)),
    "most frequent": ("torch.mode(x.round(), 1)[0] + y", (5, 9), (5,)),
    "median of numbers": ("torch.nanmedian(torch.sqrt(x), 1)[0] + torch.nanmedian(y)", (5, 9), (5,)),
    "histogram": ("torch.histc(x, 7, -1, 1) + torch.histc(y, 7)", (99,), (12,)),
    "places that are set": ("torch.nonzero_static(x > y, size=9)", (4, 5), (5,)),
    "alike in their order": ("torch.argsort(x.round(), dim=-1, stable=True) + y", (3, 16), (16,)),
    "windows": ("x * torch.hamming_window(9) + y * torch.kaiser_window(9, False, 5.0)", (5, 9), (9,)),
    "places in a box": (
        "functional.grid_sample(x, y, padding_mode='border', align_corners=True)",
        (1, 2, 3, 4, 5),
        (1, 2, 2, 3, 3),
    ),
    "mirrored places": (
        "functional.grid_sample(x, 2 * y, padding_mode='reflection', align_corners=False)",
        (1, 2, 4, 5),
        (1, 3, 3, 2),
    ),
    "nearest places": ("functional.grid_sample(x, y, mode='nearest', align_corners=False)", (1, 2, 4, 5), (1, 3, 3, 2)),
    "smoothed cubically": (
        "functional.interpolate(x, (4, 13), mode='bicubic', antialias=True) + y",
        (1, 2, 9, 7),
        (13,),
    ),
    "channels that are rounded": (
        "torch.fake_quantize_per_channel_affine(x, y.abs() + 0.1, torch.zeros(3, dtype=torch.int32), 1, -8, 7)",
        (2, 3, 5),
        (3,),
    ),
    "means of rows": (
        "torch.ops.aten.index_reduce(x, 0, torch.tensor([1, 3, 1]), y, 'mean', include_self=False)",
        (5, 4),
        (3, 4),
    ),
    "places in a line": ("x.put(torch.tensor([1, -2, 1]), y, accumulate=True)", (5, 4), (3,)),
    "finite": ("torch.isfinite(1 / x.round()) | torch.isfinite(y)", (5, 7), (5, 7)),
    "median": ("torch.median(x, 1)[0] + torch.median(y)", (5, 8), (7,)),
    "median of what is no number": ("torch.median(torch.sqrt(x), 1)[0]", (5, 8), (1,)),
    "norm of a matrix": ("torch.linalg.norm(x, dim=(1, 2)) + torch.linalg.norm(y)", (3, 5, 8), (4, 5)),
    "sign bit": ("torch.signbit(x.round())", (5, 7), (1,)),
    "sums of bags": ("functional.embedding_bag(ROWS, y, mode='sum', padding_idx=3)", (1,), (7, 3)),
    "means of bags": ("functional.embedding_bag(ROWS[0], y, STARTS, mode='mean')", (1,), (7, 3)),
    "maxima of bags": ("functional.embedding_bag(ROWS, y, mode='max')", (1,), (7, 3)),
    "alignments": (
        "functional.ctc_loss(x.log_softmax(2), LABELS, (6, 5, 3), (2, 2, 1), reduction='none') + y",
        (6, 3, 5),
        (3,),
    ),
    "alignments in a row": (
        "functional.ctc_loss(x.log_softmax(2), LABELS.flatten()[:5], torch.tensor([6, 3]), torch.tensor([1, 4])) + y",
        (6, 2, 5),
        (1,),
    ),
    "alignments that are too long": (
        "functional.ctc_loss(x.log_softmax(1), LABELS[1], (2,), (2,), reduction='sum', zero_infinity=True) + y",
        (3, 5),
        (1,),
    ),
    "least squares": ("torch.linalg.lstsq(x, y)[0]", (2, 6, 3), (2, 6, 2)),
    "least solution": ("torch.linalg.lstsq(x, y).solution", (3, 6), (3, 2)),
    "inverses of what isn't square": ("torch.linalg.pinv(x) @ torch.pinverse(y)", (2, 3), (4, 2)),
    "normal distributions": (
        "functional.gaussian_nll_loss(x, y, y.abs(), full=True) + torch.nn.GaussianNLLLoss(reduction='sum')(y, x, x*x)",
        (5, 7),
        (5, 7),
    ),
    "covariances": ("torch.cov(x) + torch.corrcoef(x) + torch.cov(x, aweights=y.abs())", (3, 9), (9,)),
    "first derivative of gammas": ("torch.polygamma(1, 2 * x) / 100 + y", (5, 7), (1,)),
    "second derivative of gammas": ("torch.polygamma(2, x.abs() + 0.4) + y", (5, 7), (1,)),
    "means of segments": ("torch.segment_reduce(x, 'mean', lengths=SIZES, unsafe=True) * y", (6, 4), (4,)),
    "maxima of segments": ("torch.segment_reduce(x, 'max', offsets=PLACES, initial=-9) + y", (6, 4), (4,)),
    "sums of segments": ("torch.segment_reduce(x, 'sum', offsets=PLACES, initial=2) + y", (6, 4), (4,)),
    "products of segments": ("torch.segment_reduce(x, 'prod', lengths=SIZES) + y", (6, 4), (4,)),
    "margins of labels": (
        "functional.multilabel_margin_loss(x, torch.tensor([[3, 0, -1, 1], [1, -1, 0, 0]]), reduction='none') + y",
        (2, 4),
        (2,),
    ),
    "rows that are moved": (
        "functional.pad(x, (0, 0, 1, -1)) + functional.pad(x, (-2, 2), value=9) + functional.pad(y, (-1, -1))",
        (2, 5, 7),
        (9,),
    ),
    "rest by a number": ("torch.fmod(x, 0.7) + y", (5, 7), (7,)),
    "weighted bags": ("functional.embedding_bag(ROWS, y, mode='sum', per_sample_weights=x)", (2, 3), (7, 3)),
}
COMPLEX = {
    "rotations": (
        "torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones(6), y)).flatten(1)",
        (4, 6, 2),
        (6,),
    ),
    "transform of two dimensions": ("torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real + y", (2, 6, 5), (5,)),
    "convolution": (
        "torch.fft.irfft(torch.fft.rfft(x, n=16) * torch.fft.rfft(y, n=16), n=16)[..., :8]",
        (2, 3, 8),
        (3, 8),
    ),
    "odd sizes": ("torch.fft.irfft(torch.fft.rfft(x, norm='ortho') * 2, n=9, norm='ortho')", (3, 9), (1,)),
    "filter": (
        "torch.fft.irfft2(torch.fft.rfft2(x, dim=(1, 2)) * torch.view_as_complex(y), s=(6, 6), dim=(1, 2))",
        (2, 6, 6, 3),
        (6, 4, 3, 2),
    ),
    "lowest waves": (
        "torch.fft.irfft2(torch.fft.rfft2(x)[..., :4, :3] * torch.view_as_complex(y), s=(9, 11))",
        (2, 9, 11),
        (4, 3, 2),
    ),
    "shift": ("torch.fft.fftshift(torch.fft.fft2(x)).abs()", (2, 6, 6), (1,)),
    "spectrogram": (
        "torch.stft(x, 16, 8, window=torch.hann_window(16), return_complex=True).abs().pow(2)",
        (2, 64),
        (1,),
    ),
    "spectrogram of one signal": (
        "torch.view_as_real(torch.stft(x, 16, 8, window=y, return_complex=True))",
        (64,),
        (16,),
    ),
    "correlation": ("torch.fft.irfft(torch.fft.rfft(x).conj() * torch.fft.rfft(y))", (2, 8), (2, 8)),
    "product of matrices": (
        "torch.view_as_real(torch.complex(x, y) @ torch.complex(y, -x).transpose(0, 1))",
        (3, 4),
        (3, 4),
    ),
    "quotient": ("(torch.complex(x, y) / torch.complex(y, x + 2)).imag - (1j * x).imag", (3, 4), (3, 4)),
    "exponential": ("torch.exp(1j * x).real + torch.exp(torch.complex(x, y)).angle()", (3, 4), (3, 4)),
    "a part that is written": ("written(torch.fft.rfft(x), y)", (2, 8), (2, 3)),
    "all in all": (
        "torch.view_as_real(torch.cat([C.sum(0, keepdim=True), C[1:].flip(1) - C.mean(0)])[None].permute(2, 0, 1))",
        (3, 4),
        (3, 4),
    ),
}


def executed(module: Any, *given: Any, as_products: bool = False) -> Any:  # noqa: ANN401
    """The one result, through the simulated array, of a program that was written and read again."""
    text = str(npuflow.from_torch(module, given, as_products=as_products))
    compiled = npuflow.compile(npuflow.parse(text, npuflow.new_context()), device="npu2")
    (found,) = (compiled.sequences or compiled.functions)[0].execute(*(one.numpy() for one in given))
    return np.asarray(found)


def compute(text: str, x: Any, y: Any) -> Any:  # noqa: ANN401
    import torch
    from torch.nn import functional

    def written(spectrum: Any, values: Any) -> Any:  # noqa: ANN401
        made = torch.zeros(2, 5, dtype=torch.cfloat)
        made[:, 1:4] = spectrum[:, 1:4] * values
        return torch.fft.irfft(made, n=8)

    names = {"x": x, "y": y, "torch": torch, "functional": functional, "written": written}
    names |= {"ROWS": torch.tensor([[1, 3, 2], [0, 6, 3]]), "STARTS": torch.tensor([0, 0, 2])}
    names |= {"LABELS": torch.tensor([[1, 2], [3, 3], [4, 1]])}
    names |= {"SIZES": torch.tensor([2, 1, 3]), "PLACES": torch.tensor([0, 2, 2, 6])}
    if "C" in text.split("(") or "C[" in text:
        names["C"] = torch.complex(x, y)
    return eval(text, names)


def computed(text: str) -> Any:  # noqa: ANN401
    """A module that computes that of two tensors."""
    from torch import Tensor, nn

    class Computed(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Any:  # noqa: ANN401
            return compute(text, x, y)

    return Computed()


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", [*REAL, *COMPLEX])
def test_pytorch_computes_the_same(name: str) -> None:
    import torch

    text, *sizes = (REAL | COMPLEX)[name]
    torch.manual_seed(1)
    x, y = (torch.randn(size) for size in sizes)
    module = computed(text)
    expected = module(x, y).numpy()
    found = executed(module, x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("by", ["size=[5, 13, 1]", "scale_factor=[2, 1.7, 0.6]"])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
def test_images_are_scaled(mode: str, aligned: bool, by: str) -> None:
    import torch

    dims = {"linear": 1, "trilinear": 3}.get(mode, 2)
    left = by.index("[")
    text = f"functional.interpolate(x, {by[:left]}{by[left:]}[:{dims}], mode='{mode}', align_corners={aligned}) + y"
    torch.manual_seed(1)
    x, y = torch.randn(2, 3, *(7, 4, 6)[:dims]), torch.randn(1)
    for as_products in (False, True):
        found = executed(computed(text), x, y, as_products=as_products)
        np.testing.assert_allclose(found, computed(text)(x, y).numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_scaled_images_have_infinities_where_pytorch_has_them(mode: str) -> None:
    import torch

    text = f"functional.interpolate(x, (9, 6), mode='{mode}') + y"
    torch.manual_seed(1)
    x, y = torch.randn(1, 2, 7, 4), torch.randn(1)
    x.flatten()[5] = torch.inf
    np.testing.assert_allclose(executed(computed(text), x, y), computed(text)(x, y).numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
def test_images_are_scaled_by_one_op_that_reads_for_each_dimension(mode: str) -> None:
    import torch

    dims = {"linear": 1, "trilinear": 3}.get(mode, 2)
    text = f"functional.interpolate(x, {(9, 6, 5)[:dims]}, mode='{mode}') + y"
    module = npuflow.from_torch(computed(text), (torch.randn(1, 2, *(7, 4, 6)[:dims]), torch.randn(1)))
    assert str(module).count("tensor.extract %") == dims


def test_constants_and_weights_may_be_complex() -> None:
    import torch
    from torch import Tensor, nn

    class Rotated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.waves = torch.polar(torch.ones(6, 4), torch.arange(24.0).reshape(6, 4))
            self.register_buffer("last", torch.randn(4, dtype=torch.cfloat))

        def forward(self, x: Tensor) -> Tensor:
            pairs = torch.view_as_complex(x.reshape(2, 6, 4, 2))
            return torch.view_as_real(pairs * self.waves + self.last).flatten(2)

    torch.manual_seed(1)
    x, module = torch.randn(2, 6, 8), Rotated()
    np.testing.assert_allclose(executed(module, x), module(x).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "torch.linalg.eigvals(x @ y.T).abs()",
            "error: linalg_eig of complex numbers is not supported; hint: supported",
        ),
        (
            "torch.complex(x, y)",
            "error: a result is complex, which no function of npuflow returns; hint: return torch.view_as",
        ),
        (
            "torch.tanh(torch.complex(x, y)).real",
            "error: tanh of complex numbers is not supported; hint: supported are _conj,",
        ),
    ],
)
def test_what_has_no_pairs_is_refused(text: str, said: str) -> None:
    import torch

    with pytest.raises(InputError) as caught:
        npuflow.from_torch(computed(text), (torch.randn(2, 3), torch.randn(2, 3)))
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["x[x > 0].sum()", "x[:, torch.tensor([True, False, True])]", "y.nonzero()"])
def test_sizes_that_are_data_are_refused(text: str) -> None:
    """torch-mlir crashes where such a size comes from what is known, and takes all memory where it doesn't."""
    import torch

    with pytest.raises(InputError, match=r"how large '.*' is depends on data; hint: keep all elements"):
        npuflow.from_torch(computed(text), (torch.randn(2, 3), torch.randn(2, 3)))


@pytest.mark.parametrize("text", ["x + torch.rand_like(y)", "functional.dropout(x)", "torch.multinomial(x.abs(), 1)"])
def test_random_numbers_are_refused(text: str) -> None:
    import torch

    with pytest.raises(InputError, match=r"'.*' draws random numbers; hint: give them as an input"):
        npuflow.from_torch(computed(text), (torch.randn(2, 3), torch.randn(2, 3)))


def test_complex_inputs_are_refused() -> None:
    import torch
    from torch import Tensor, nn

    class Real(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.real

    with pytest.raises(InputError, match=r"an input is complex, .*; hint: take pairs of reals"):
        npuflow.from_torch(Real(), torch.randn(2, 3, dtype=torch.cfloat))


def test_weights_stand_in_lists_beside_what_is_computed() -> None:
    """As a transformer's biases of queries, keys that have none, and values."""
    import torch
    from torch import Tensor, nn

    class Biased(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.queries, self.values = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))

        def forward(self, x: Tensor) -> Tensor:
            return x + torch.cat((self.queries, torch.zeros_like(self.values), self.values))

    x, module = torch.randn(3, 12), Biased()
    np.testing.assert_array_equal(executed(module, x), module(x).detach().numpy())


def test_parameters_without_elements_are_imported() -> None:
    import torch
    from torch import Tensor, nn

    class Narrow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Parameter(torch.empty(8, 0)), nn.Parameter(torch.empty(0, 5))

        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(x @ self.first @ self.second + 1)

    x, module = torch.randn(3, 8), Narrow()
    np.testing.assert_array_equal(executed(module, x), module(x).detach().numpy())
