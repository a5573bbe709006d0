"""Networks that write to what they keep, in the ways that PyTorch has for that."""

from __future__ import annotations

import torch
from torch import Tensor, nn

PLACE = 6


class Cached(nn.Module):
    """What is read of a cache behind a row that is written to it, by `write` of those below."""

    kind = torch.float32

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 8, bias=False)
        self.register_buffer("cache", torch.zeros(1, 2, 8, 4, dtype=self.kind), persistent=False)

    def row(self, x: Tensor) -> Tensor:
        return self.layer(x).view(1, 1, 2, 4).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        self.write(self.row(x))
        return (self.cache.float() * 2).sum(2)

    def write(self, row: Tensor) -> None:
        raise NotImplementedError


class Setitem(Cached):
    def write(self, row: Tensor) -> None:
        self.cache[:, :, PLACE : PLACE + 1] = row


class Selected(Cached):
    def write(self, row: Tensor) -> None:
        self.cache[:, :, PLACE] = row[:, :, 0]


class IndexCopy(Cached):
    def write(self, row: Tensor) -> None:
        self.cache.index_copy_(2, torch.tensor([PLACE]), row)


class IndexPut(Cached):
    def write(self, row: Tensor) -> None:
        self.cache[:, :, torch.tensor([PLACE - 8])] = row


class Range(Cached):
    def write(self, row: Tensor) -> None:
        self.cache.index_copy_(2, torch.arange(1) + PLACE, row)


class SliceScatter(Cached):
    def write(self, row: Tensor) -> None:
        self.cache.copy_(torch.slice_scatter(self.cache, row, 2, PLACE, PLACE + 1))


class Narrow(Cached):
    def write(self, row: Tensor) -> None:
        self.cache.narrow(2, PLACE, 1).copy_(row)


class Narrow16(Setitem):
    kind = torch.bfloat16


class Dynamic(Cached):
    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        self.cache.index_copy_(2, place, self.row(x))
        return (self.cache * 2).sum(2)


class Returned(Cached):
    def forward(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        cache[:, :, PLACE : PLACE + 1] = self.row(x)
        return (cache * 2).sum(2), cache


class NotSaved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("factors", torch.randn(16), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factors
