"""What a model is to the programs of this folder, and what several of its lists use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Model:
    """A module and what it is called with; `make` is called with the random seed set."""

    name: str
    family: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        return self.function(*inputs)


def call(name: str, family: str, function: Callable[..., object], *shapes: tuple[int, ...]) -> Model:
    """A function of random tensors."""
    return Model(name, family, lambda: Call(function), lambda: randoms(*shapes))


def layer(name: str, family: str, make: Callable[[], nn.Module], *shapes: tuple[int, ...]) -> Model:
    """A module of random tensors."""
    return Model(name, family, make, lambda: randoms(*shapes))


def randoms(*shapes: tuple[int, ...]) -> tuple[Tensor, ...]:
    return tuple(torch.randn(shape) for shape in shapes)


def integers(high: int, *shape: int) -> Tensor:
    return torch.randint(0, high, shape)
