"""Single layers: convolutions of all kinds, norms, pools, resampling, activations, products, moves."""

from __future__ import annotations

import torch
from model import Call, Model, call, integers, layer, randoms
from torch import nn
from torch.nn import functional

CONVOLUTIONS = (
    layer("conv1d", "convolution", lambda: nn.Conv1d(6, 10, 3, padding=1), (2, 6, 37)),
    layer("conv2d", "convolution", lambda: nn.Conv2d(3, 8, 3, stride=2, padding=1), (2, 3, 17, 19)),
    layer("conv2d, grouped", "convolution", lambda: nn.Conv2d(8, 12, 3, padding=1, groups=4), (1, 8, 13, 13)),
    layer("conv2d, dilated", "convolution", lambda: nn.Conv2d(4, 8, 3, padding=2, dilation=2), (1, 4, 15, 15)),
    layer("conv2d, depthwise", "convolution", lambda: nn.Conv2d(16, 16, 5, padding=2, groups=16), (1, 16, 14, 14)),
    layer("conv2d, circular", "convolution",
         lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), (1, 3, 9, 9)),
    layer("conv3d", "convolution", lambda: nn.Conv3d(3, 6, 3, padding=1), (1, 3, 6, 9, 9)),
    layer("transposed conv1d", "convolution", lambda: nn.ConvTranspose1d(6, 4, 3, stride=2), (2, 6, 11)),
    layer("transposed conv2d", "convolution", lambda: nn.ConvTranspose2d(8, 4, 3), (1, 8, 9, 9)),
    layer("transposed conv2d, strided", "convolution",
          lambda: nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1), (2, 8, 7, 9)),
    layer("transposed conv2d, grouped", "convolution",
         lambda: nn.ConvTranspose2d(8, 4, 3, stride=2, groups=2), (1, 8, 7, 7)),
    layer("transposed conv2d, dilated", "convolution",
          lambda: nn.ConvTranspose2d(4, 6, 3, stride=3, padding=1, dilation=2), (1, 4, 8, 8)),
    layer("transposed conv3d", "convolution", lambda: nn.ConvTranspose3d(4, 3, 3, stride=2), (1, 4, 4, 5, 5)),
)  # fmt: skip

NORMS = (
    layer("batch norm", "norm", lambda: nn.BatchNorm2d(6).eval(), (2, 6, 9, 9)),
    layer("batch norm of the batch", "norm", lambda: nn.BatchNorm2d(6), (2, 6, 9, 9)),
    layer("instance norm", "norm", lambda: nn.InstanceNorm2d(5), (2, 5, 9, 11)),
    layer("group norm", "norm", lambda: nn.GroupNorm(3, 12), (2, 12, 7, 9)),
    layer("layer norm", "norm", lambda: nn.LayerNorm(50), (7, 50)),
    layer("layer norm of images", "norm", lambda: nn.LayerNorm((4, 9, 9)), (2, 4, 9, 9)),
    layer("rms norm", "norm", lambda: nn.RMSNorm(48), (9, 48)),
    call("L1 norm", "norm", lambda x: x / x.abs().mean(1, keepdim=True), (9, 100)),
    call("L2 norm", "norm", lambda x: functional.normalize(x, p=2, dim=1), (9, 100)),
    call("Frobenius norm", "norm", lambda x: x / torch.linalg.norm(x), (3, 20, 20)),
    layer("local response norm", "norm", lambda: nn.LocalResponseNorm(3), (1, 8, 9, 9)),
)  # fmt: skip

POOLS = (
    layer("max pool 1-D", "pool", lambda: nn.MaxPool1d(3, 2, 1, 1), (2, 5, 31)),
    layer("max pool", "pool", lambda: nn.MaxPool2d(3, 2, 1), (2, 5, 15, 15)),
    layer("max pool, dilated", "pool", lambda: nn.MaxPool2d(3, 1, 1, dilation=2), (1, 4, 15, 15)),
    layer("max pool 3-D", "pool", lambda: nn.MaxPool3d(2, 2), (1, 3, 6, 8, 8)),
    layer("average pool", "pool", lambda: nn.AvgPool2d(3, 2, 1), (2, 5, 15, 15)),
    layer("average pool 3-D", "pool", lambda: nn.AvgPool3d(2, 2), (1, 3, 6, 8, 8)),
    layer("adaptive average pool", "pool", lambda: nn.AdaptiveAvgPool2d(1), (2, 7, 9, 9)),
    layer("adaptive average pool to 7", "pool", lambda: nn.AdaptiveAvgPool2d(7), (1, 3, 14, 14)),
    layer("adaptive average pool, uneven", "pool", lambda: nn.AdaptiveAvgPool2d(3), (1, 3, 8, 8)),
)  # fmt: skip

RESAMPLING = (
    layer("nearest upsampling", "resampling", lambda: nn.Upsample(scale_factor=2), (1, 3, 7, 9)),
    layer("nearest upsampling to a size", "resampling", lambda: nn.Upsample(size=(11, 13)), (1, 3, 7, 9)),
    layer("bilinear upsampling", "resampling", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 3, 7, 9)),
    layer("bilinear upsampling, aligned", "resampling",
          lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), (1, 3, 7, 9)),
    layer("pixel shuffle", "resampling", lambda: nn.PixelShuffle(2), (1, 12, 5, 7)),
    layer("pixel unshuffle", "resampling", lambda: nn.PixelUnshuffle(2), (1, 3, 8, 6)),
    layer("reflection padding", "resampling", lambda: nn.ReflectionPad2d(2), (1, 3, 7, 7)),
    layer("replication padding", "resampling", lambda: nn.ReplicationPad2d((1, 2, 3, 0)), (1, 3, 7, 7)),
    call("grid sample", "resampling",
         lambda x, g: functional.grid_sample(x, g.tanh(), align_corners=False), (1, 3, 6, 7), (1, 5, 4, 2)),
)  # fmt: skip

ACTIVATIONS = tuple(
    layer(name, "activation", make, (6, 77))
    for name, make in {
        "relu6": nn.ReLU6, "gelu": nn.GELU, "tanh gelu": lambda: nn.GELU("tanh"), "silu": nn.SiLU, "mish": nn.Mish,
        "softplus": nn.Softplus, "selu": nn.SELU, "hard swish": nn.Hardswish, "softmax": lambda: nn.Softmax(-1),
        "log softmax": lambda: nn.LogSoftmax(-1), "glu": lambda: nn.GLU(0), "prelu": nn.PReLU,
    }.items()
)  # fmt: skip

PRODUCTS = (
    layer("linear", "product", lambda: nn.Linear(40, 30), (7, 40)),
    layer("linear of sequences", "product", lambda: nn.Linear(40, 30), (2, 5, 40)),
    layer("bilinear", "product", lambda: nn.Bilinear(6, 7, 5), (4, 6), (4, 7)),
    call("matmul", "product", torch.matmul, (17, 33), (33, 21)),
    call("matmul, both transposed", "product", lambda a, b: a.T @ b.T, (33, 17), (21, 33)),
    call("matrix times vector", "product", torch.mv, (17, 33), (33,)),
    call("matmul of 4-D by 2-D", "product", lambda a, b: torch.einsum("bijl,lk->bijk", a, b), (2, 3, 4, 12), (12, 9)),
    call("upper triangle times upper triangle", "product", lambda a, b: torch.triu(a.triu() @ b.triu()),
         (19, 19), (19, 19)),
    call("diagonal times matrix", "product", lambda a, b: torch.diag(a) @ b, (19,), (19, 13)),
    call("outer product", "product", torch.outer, (19,), (13,)),
    call("baddbmm", "product", torch.baddbmm, (3, 5, 7), (3, 5, 6), (3, 6, 7)),
    Model("matmul of bytes", "product", lambda: Call(torch.matmul),
          lambda: tuple((integers(256, *shape) - 128).to(torch.int8) for shape in ((17, 33), (33, 21)))),
)  # fmt: skip

MOVES = (
    call("chunk and gate", "move", lambda x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1].sigmoid(), (4, 9, 64)),
    call("slices with steps", "move", lambda x: x[:, 1:-1:2] + x[:, 2::2], (5, 40)),
    call("concatenation", "move", lambda a, b, c: torch.cat([a, b, c], 1), (2, 3, 8, 8), (2, 5, 8, 8), (2, 1, 8, 8)),
    call("stack", "move", lambda a, b: torch.stack([a, b], 1), (5, 7), (5, 7)),
    call("roll", "move", lambda x: torch.roll(x, (2, -3), (1, 2)), (2, 8, 9, 3)),
    call("flip", "move", lambda x: torch.flip(x, (1,)), (5, 9)),
    call("triangles", "move", lambda x: torch.tril(x) - torch.triu(x, 1), (17, 17)),
    call("split in three", "move", lambda x: torch.split(x, [3, 4, 5], 1), (6, 12)),
    call("repeat interleave", "move", lambda x: x[:, :, None].expand(-1, -1, 3, -1).reshape(2, 12, 5), (2, 4, 5)),
    call("unfold", "move", lambda x: functional.unfold(x, 3, padding=1), (1, 3, 7, 8)),
    call("slice written", "move", lambda x, y: torch.slice_scatter(x, y, 1, 2, 6), (5, 9), (5, 4)),
    call("tensor returned", "move", lambda x: (x, x.reshape(10, 6)), (5, 12)),
)  # fmt: skip

LOOKUPS = (
    Model("embedding", "lookup", lambda: nn.Embedding(50, 12), lambda: (integers(50, 3, 7),)),
    Model("gather", "lookup", lambda: Call(lambda x, i: torch.gather(x, 1, i)),
          lambda: (*randoms((5, 9)), integers(9, 5, 4))),
    Model("index select", "lookup", lambda: Call(lambda x, i: torch.index_select(x, 0, i)),
          lambda: (*randoms((11, 6)), integers(11, 5))),
    Model("one hot", "lookup", lambda: Call(lambda i: functional.one_hot(i, 10).float()), lambda: (integers(10, 7),)),
    Model("embedding bag", "lookup", lambda: nn.EmbeddingBag(50, 12), lambda: (integers(50, 3, 7),)),
)  # fmt: skip

SCANS = (
    call("cumulative sum", "scan", lambda x: torch.cumsum(x, 1), (5, 100)),
    call("cumulative product", "scan", lambda x: torch.cumprod(x * 0.1 + 1, 1), (5, 60)),
    call("reverse cumulative sum", "scan", lambda x: torch.cumsum(x.flip(1), 1).flip(1), (5, 100)),
    call("exclusive cumulative sum", "scan",
         lambda x: torch.cumsum(torch.cat((torch.zeros_like(x[:, :1]), x), 1), 1)[:, :-1], (5, 100)),
    call("masked cumulative sum", "scan", lambda x, m: torch.cumsum(x * (m > 0), 1), (5, 100), (5, 100)),
    call("cumulative sum of all", "scan", lambda x: torch.cumsum(x, 0), (1000,)),
    call("sums of segments", "scan",
         lambda x: torch.exp(torch.cumsum(x, 1)[:, :, None] - torch.cumsum(x, 1)[:, None, :]).tril(), (3, 12)),
)  # fmt: skip

REDUCTIONS = (
    call("mean of a dimension", "reduction", lambda x: x.mean(1), (4, 17, 9)),
    call("argmax", "reduction", lambda x: x.argmax(1), (4, 17, 9)),
    call("maximum and place", "reduction", lambda x: x.max(1), (4, 17, 9)),
    call("product of a dimension", "reduction", lambda x: x.prod(1), (4, 17, 9)),
    call("logsumexp", "reduction", lambda x: torch.logsumexp(x, 1), (4, 170)),
    call("variance", "reduction", lambda x: x.var(1), (4, 170)),
    call("any and all", "reduction", lambda x: ((x > 1).any(1), (x > -3).all(1)), (4, 17)),
    call("small sort", "reduction", lambda x: torch.sort(x, 1)[0], (4, 16)),
    call("top k", "reduction", lambda x: torch.topk(x, 3, 1)[0], (4, 16)),
    call("median", "reduction", lambda x: torch.median(x, 1)[0], (4, 17)),
    call("distances", "reduction", torch.cdist, (9, 13), (7, 13)),
)  # fmt: skip

# In f32, whatever the type: PyTorch has no complex numbers of bf16.
COMPLEX = (
    call("rotations by complex numbers", "complex",
         lambda x, a: torch.view_as_real(torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
                                         * torch.polar(torch.ones(9, 8), a.float())).flatten(-2),
         (2, 4, 9, 16), (9, 8)),
    call("Fourier mixing", "complex",
         lambda x: torch.fft.fft(torch.fft.fft(x.float(), dim=-1), dim=-2).real, (2, 9, 16)),
    call("convolution by Fourier", "complex",
         lambda x, k: torch.fft.irfft(torch.fft.rfft(x.float(), 32) * torch.fft.rfft(k.float(), 32), 32)[..., :16],
         (2, 5, 16), (5, 16)),
)  # fmt: skip

MODELS = (
    *CONVOLUTIONS,
    *NORMS,
    *POOLS,
    *RESAMPLING,
    *ACTIVATIONS,
    *PRODUCTS,
    *MOVES,
    *LOOKUPS,
    *SCANS,
    *REDUCTIONS,
    *COMPLEX,
)
