"""Networks to import, and what cannot be."""

import torch
from torch import Tensor, nn


def perceptron() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval(), (torch.randn(3, 16),)


def convolution() -> nn.Module:
    return nn.Conv2d(3, 8, 3).eval()


def product(x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(x @ y)


class Tied(nn.Module):
    """Its output layer has the weights of its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.output = nn.Linear(32, 100, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.output(self.embedding(tokens))


def branching(x: Tensor) -> Tensor:
    return x if x.sum() > 0 else -x


class Zetas(nn.Module):
    """What torch-mlir has no lowering of."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.special.zeta(x, 2.0)


def failing() -> nn.Module:
    raise ValueError("no such weights")


def number() -> int:
    return 3


constant = 7


def miscalling(x: Tensor) -> Tensor:
    return product(x) + 1


def learning() -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(4))
