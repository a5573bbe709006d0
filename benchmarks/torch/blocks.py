"""Losses, attention, recurrent layers, state-space blocks, detection heads."""

from __future__ import annotations

import math

import torch
from model import Call, Model, call, integers, layer, randoms
from torch import Tensor, nn
from torch.nn import functional

LOSSES = (
    call("mean squared error", "loss", functional.mse_loss, (9, 50), (9, 50)),
    call("smooth L1", "loss", functional.smooth_l1_loss, (9, 50), (9, 50)),
    call("hinge", "loss", lambda x, y: torch.clamp(1 - x * y.sign(), min=0).mean(), (50,), (50,)),
    call("KL divergence", "loss",
         lambda x, y: functional.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
         (9, 50), (9, 50)),
    call("triplet margin", "loss", nn.TripletMarginLoss(), (9, 50), (9, 50), (9, 50)),
    call("cosine embedding", "loss", lambda x, y: (1 - functional.cosine_similarity(x, y, 1)).mean(), (9, 50), (9, 50)),
    call("binary cross entropy", "loss",
         lambda x, y: functional.binary_cross_entropy_with_logits(x, y.sigmoid()), (9, 5), (9, 5)),
    Model("cross entropy", "loss", nn.CrossEntropyLoss, lambda: (*randoms((9, 10)), integers(10, 9))),
    Model("negative log likelihood", "loss", lambda: Call(lambda x, y: functional.nll_loss(x.log_softmax(1), y)),
          lambda: (*randoms((9, 10)), integers(10, 9))),
)  # fmt: skip


class Attention(nn.Module):
    """Heads beside each other, from one linear layer; `causal` masks what comes later."""

    def __init__(self, width: int, heads: int, *, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.qkv(x).split(width, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        if self.causal:
            later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Rotary(nn.Module):
    """Rotary positions, the halves swapped."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(length), 1.0 / 10000 ** (torch.arange(0, width, 2) / width)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * self.cos + torch.cat((-second, first), -1) * self.sin


class GroupedAttention(nn.Module):
    """Llama's: rotary positions, queries in groups."""

    def __init__(self, width: int, heads: int, groups: int, length: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.rotary = Rotary(self.size, length)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q = self.rotary(self.q(x).view(batch, length, self.heads, self.size).transpose(1, 2))
        k = self.rotary(self.k(x).view(batch, length, self.groups, self.size).transpose(1, 2))
        v = self.v(x).view(batch, length, self.groups, self.size).transpose(1, 2)
        k, v = (each.repeat_interleave(self.heads // self.groups, dim=1) for each in (k, v))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).reshape(batch, length, width))


class WindowAttention(nn.Module):
    """Swin's: the image shifted, cut into windows, attended to, put together again."""

    def __init__(self, width: int, window: int, shift: int) -> None:
        super().__init__()
        self.window, self.shift = window, shift
        self.attention = Attention(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        w = self.window
        x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = (
            x.view(batch, height // w, w, width // w, w, channels)
            .permute(0, 1, 3, 2, 4, 5)
            .reshape(-1, w * w, channels)
        )
        x = self.attention(x).view(batch, height // w, width // w, w, w, channels)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(batch, height, width, channels)
        return torch.roll(x, (self.shift, self.shift), (1, 2))


class LinearAttention(nn.Module):
    """Keys and values summed up along the sequence."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = functional.elu(q) + 1, functional.elu(k) + 1
        sums = torch.cumsum(k.unsqueeze(-1) * v.unsqueeze(-2), 1)
        return torch.einsum("btd,btde->bte", q, sums)


ATTENTION = (
    layer("attention", "attention", lambda: Attention(32, 4), (2, 9, 32)),
    layer("causal attention", "attention", lambda: Attention(32, 4, causal=True), (2, 9, 32)),
    layer("multi-head attention", "attention",
         lambda: nn.MultiheadAttention(32, 4, batch_first=True).eval(), (2, 9, 32), (2, 9, 32), (2, 9, 32)),
    call("scaled dot product", "attention",
         functional.scaled_dot_product_attention, (2, 4, 9, 8), (2, 4, 9, 8), (2, 4, 9, 8)),
    layer("rotary positions", "attention", lambda: Rotary(16, 9), (2, 4, 9, 16)),
    layer("grouped attention", "attention", lambda: GroupedAttention(32, 4, 2, 9), (2, 9, 32)),
    layer("window attention", "attention", lambda: WindowAttention(16, 4, 2), (1, 8, 8, 16)),
    layer("linear attention", "attention", LinearAttention, (2, 9, 8), (2, 9, 8), (2, 9, 8)),
)  # fmt: skip


class Recurrent(nn.Module):
    """A recurrent layer of torch's, its last states dropped."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)[0]


class Cell(nn.Module):
    """An Elman cell by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(12 + 20, 20), nn.Linear(20, 5)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.tanh(self.inner(torch.cat((x, hidden), 1)))
        return self.out(hidden), hidden


class StateSpace(nn.Module):
    """Mamba-2's blocks in their quadratic form: decays between positions from sums of logarithms."""

    def forward(self, x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        sums = torch.cumsum(-a.abs(), -1)
        length = a.shape[-1]
        decay = (sums[..., :, None] - sums[..., None, :]).masked_fill(
            torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf")
        )
        return torch.einsum("bln,bsn,bls,bsp->blp", c, b, decay.exp(), x)


RECURRENT = (
    layer("rnn", "recurrent", lambda: Recurrent(nn.RNN(6, 8, batch_first=True)), (2, 4, 6)),
    layer("lstm", "recurrent", lambda: Recurrent(nn.LSTM(6, 8, batch_first=True)), (2, 4, 6)),
    layer("two-way lstm", "recurrent",
         lambda: Recurrent(nn.LSTM(6, 8, batch_first=True, bidirectional=True)), (2, 3, 6)),
    layer("gru", "recurrent", lambda: Recurrent(nn.GRU(6, 8, batch_first=True)), (2, 4, 6)),
    layer("cell by hand", "recurrent", Cell, (3, 12), (3, 20)),
    layer("state space", "recurrent", StateSpace, (2, 9, 4), (2, 9), (2, 9, 5), (2, 9, 5)),
)  # fmt: skip


class DetectionHead(nn.Module):
    """Classes and boxes of two scales, put into one list."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.classes = nn.ModuleList(nn.Conv2d(channels, classes, 3, padding=1) for _ in range(2))
        self.boxes = nn.ModuleList(nn.Conv2d(channels, 4, 3, padding=1) for _ in range(2))

    def forward(self, fine: Tensor, coarse: Tensor) -> tuple[Tensor, Tensor]:
        flat = [
            [head(x).flatten(2).transpose(1, 2) for head, x in zip(heads, (fine, coarse))]
            for heads in (self.classes, self.boxes)
        ]
        classes, boxes = (torch.cat(each, 1) for each in flat)
        centre, size = boxes.chunk(2, -1)
        return classes.sigmoid(), torch.cat((centre - size.exp() / 2, centre + size.exp() / 2), -1)


class Pyramid(nn.Module):
    """A feature pyramid's way down: coarse maps upsampled and added."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(6, 8, 1), nn.Conv2d(12, 8, 1)

    def forward(self, fine: Tensor, coarse: Tensor) -> Tensor:
        return self.fine(fine) + functional.interpolate(self.coarse(coarse), scale_factor=2, mode="nearest")


HEADS = (
    layer("detection head", "head", lambda: DetectionHead(8, 5), (1, 8, 8, 8), (1, 8, 4, 4)),
    layer("feature pyramid", "head", Pyramid, (1, 6, 8, 8), (1, 12, 4, 4)),
    call("boxes' overlaps", "head",
         lambda a, b: (a[:, None, 2:].minimum(b[:, 2:]) - a[:, None, :2].maximum(b[:, :2])).relu().prod(2),
         (9, 4), (7, 4)),
)  # fmt: skip

MODELS = (*LOSSES, *ATTENTION, *RECURRENT, *HEADS)
