"""Networks of images in plain PyTorch, with random weights: `npuflow import benchmarks/networks/vision.py:resnet18`.

Each function gives a module and its inputs, one image of the size that its publication uses.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

Network = tuple[nn.Module, tuple[Tensor, ...]]


def resnet18() -> Network:
    return settled(ResNet(BasicBlock, (2, 2, 2, 2)), torch.randn(1, 3, 224, 224))


def resnet50() -> Network:
    return settled(ResNet(Bottleneck, (3, 4, 6, 3)), torch.randn(1, 3, 224, 224))


def mobilenet_v2() -> Network:
    return settled(MobileNetV2(), torch.randn(1, 3, 224, 224))


def settled(network: nn.Module, image: Tensor) -> Network:
    """A network whose batch norms have seen an image, as trained ones have: else what random weights make fades."""
    norms = [one for one in network.modules() if isinstance(one, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        network.train()(image)
    for norm in norms:
        norm.momentum = 0.1
    return network.eval(), (image,)


def vit_block() -> Network:
    """A block of ViT-B/16: 196 patches and the class token."""
    return TransformerBlock(768, 12, 3072).eval(), (torch.randn(1, 197, 768),)


def unet_block() -> Network:
    """The second level of Stable Diffusion's encoder: 320 to 640 channels at 32x32 pixels, attending to 77 tokens."""
    return UNetBlock(320, 640, 8, 768, 1280).eval(), (
        torch.randn(1, 320, 32, 32),
        torch.randn(1, 1280),
        torch.randn(1, 77, 768),
    )


def convolution(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution and its norm."""
    held = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(held, nn.BatchNorm2d(outputs))


class Shortcut(nn.Module):
    """What is computed of x, plus x."""

    expansion = 1

    def __init__(self, body: nn.Module, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = body
        self.skip = nn.Identity() if (inputs, stride) == (outputs, 1) else convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.body(x) + self.skip(x))


class BasicBlock(Shortcut):
    """Two convolutions of 3x3."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        body = nn.Sequential(convolution(inputs, width, 3, stride), nn.ReLU(), convolution(width, width, 3))
        super().__init__(body, inputs, width, stride)


class Bottleneck(Shortcut):
    """Fewer channels, a convolution of 3x3, four times as many channels."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        body = nn.Sequential(
            *(convolution(inputs, width, 1), nn.ReLU()),
            *(convolution(width, width, 3, stride), nn.ReLU()),
            convolution(width, 4 * width, 1),
        )
        super().__init__(body, inputs, 4 * width, stride)


class ResNet(nn.Module):
    """Four stages of blocks, each but the first with half the pixels and twice the channels."""

    def __init__(self, block: type[BasicBlock] | type[Bottleneck], depths: Sequence[int]) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks: list[nn.Module] = []
        inputs = 64
        for stage, depth in enumerate(depths):
            width = 64 << stage
            for index in range(depth):
                blocks.append(block(inputs, width, 2 if stage and not index else 1))
                inputs = width * block.expansion
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class InvertedResidual(nn.Module):
    """More channels, a convolution of each by itself, fewer channels."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        width = inputs * expansion
        widen = [] if expansion == 1 else [convolution(inputs, width, 1), nn.ReLU6()]
        depthwise = [convolution(width, width, 3, stride, groups=width), nn.ReLU6()]
        self.body = nn.Sequential(*widen, *depthwise, convolution(width, outputs, 1))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.adds else self.body(x)


class MobileNetV2(nn.Module):
    """The network of width 1."""

    # Expansion, channels, how many, the stride of the first.
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self) -> None:
        super().__init__()
        blocks: list[nn.Module] = [convolution(3, 32, 3, 2), nn.ReLU6()]
        inputs = 32
        for expansion, outputs, count, stride in self.STAGES:
            for index in range(count):
                blocks.append(InvertedResidual(inputs, outputs, 1 if index else stride, expansion))
                inputs = outputs
        self.features = nn.Sequential(*blocks, convolution(320, 1280, 1), nn.ReLU6())
        self.head = nn.Linear(1280, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean((2, 3)))


class Attention(nn.Module):
    """Queries of one sequence to keys and values of another; a tensor of rank 3 each."""

    def __init__(self, width: int, heads: int, context: int, has_bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=has_bias)
        self.k = nn.Linear(context, width, bias=has_bias)
        self.v = nn.Linear(context, width, bias=has_bias)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        q, k, v = (self.split(one) for one in (self.q(x), self.k(context), self.v(context)))
        mixed = functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class TransformerBlock(nn.Module):
    """Norm, attention, norm, two layers with GELU."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(width)
        self.attention = Attention(width, heads, width, has_bias=True)
        self.between = nn.LayerNorm(width)
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x: Tensor) -> Tensor:
        given = self.before(x)
        x = x + self.attention(given, given)
        return x + self.layers(self.between(x))


class UNetBlock(nn.Module):
    """A residual block that a time is added in, then a transformer block that attends to pixels and to a text."""

    def __init__(self, inputs: int, width: int, heads: int, context: int, time: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, width, 3, 1, 1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time, width))
        self.second = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, width, 3, 1, 1))
        self.skip = nn.Conv2d(inputs, width, 1)
        self.enter = nn.Sequential(nn.GroupNorm(32, width), nn.Conv2d(width, width, 1))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.pixels = Attention(width, heads, width, has_bias=False)
        self.text = Attention(width, heads, context, has_bias=False)
        self.widen = nn.Linear(width, 8 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.leave = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        mixed = self.first(x) + self.time(time)[:, :, None, None]
        image = self.second(mixed) + self.skip(x)
        tokens = self.enter(image).flatten(2).transpose(1, 2)
        given = self.norms[0](tokens)
        tokens = tokens + self.pixels(given, given)
        tokens = tokens + self.text(self.norms[1](tokens), text)
        value, gate = self.widen(self.norms[2](tokens)).chunk(2, dim=-1)
        tokens = tokens + self.narrow(value * functional.gelu(gate))
        return image + self.leave(tokens.transpose(1, 2).unflatten(2, image.shape[2:]))
