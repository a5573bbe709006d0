"""Whole networks and their blocks, small."""

from __future__ import annotations

import torch
from blocks import Attention, GroupedAttention
from model import Model, integers, layer
from torch import Tensor, nn
from torch.nn import functional


def conv(inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution, a norm, an activation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class Residual(nn.Module):
    """ResNet's basic block."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.first = conv(inputs, outputs, 3, stride)
        self.second = nn.Sequential(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.skip = (
            nn.Identity()
            if inputs == outputs and stride == 1
            else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.second(self.first(x)) + self.skip(x))


class Inception(nn.Module):
    """Branches beside each other, concatenated."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            [
                nn.Conv2d(inputs, 6, 1),
                nn.Sequential(nn.Conv2d(inputs, 4, 1), nn.Conv2d(4, 8, 3, padding=1)),
                nn.Sequential(nn.Conv2d(inputs, 2, 1), nn.Conv2d(2, 4, 5, padding=2)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(inputs, 4, 1)),
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Dense(nn.Module):
    """DenseNet's block: every layer reads all before it."""

    def __init__(self, inputs: int, growth: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(conv(inputs + i * growth, growth) for i in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for each in self.layers:
            found.append(each(torch.cat(found, 1)))
        return torch.cat(found, 1)


class Shuffle(nn.Module):
    """ShuffleNet's unit: half of the channels pass, then all are shuffled."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(conv(half, half, 1), conv(half, half, 3, groups=half), conv(half, half, 1))

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x.chunk(2, 1)
        x = torch.cat((kept, self.branch(changed)), 1)
        batch, channels, height, width = x.shape
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)


class SqueezeExcite(nn.Module):
    """EfficientNet's block: widened, depthwise, gated by channel, narrowed."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = channels * 4
        self.widen, self.depthwise = conv(channels, wide, 1), conv(wide, wide, 3, groups=wide)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 4, 1), nn.SiLU(), nn.Conv2d(4, wide, 1), nn.Sigmoid()
        )
        self.narrow = nn.Sequential(nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        y = self.depthwise(self.widen(x))
        return x + self.narrow(y * self.gate(y))


class UNet(nn.Module):
    """Down, up with a transposed convolution, and the skip concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = conv(3, 6), conv(6, 12)
        self.up, self.out = nn.ConvTranspose2d(12, 6, 2, stride=2), conv(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        kept = self.down(x)
        return self.out(torch.cat((kept, self.up(self.middle(functional.max_pool2d(kept, 2)))), 1))


class Generator(nn.Module):
    """DCGAN's: transposed convolutions up from a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(10, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
            nn.ConvTranspose2d(4, 3, 4, 2, 1, bias=False), nn.Tanh(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Encoder(nn.Module):
    """A transformer's layer, norms first; the GELU of its feed-forward network is exact."""

    def __init__(self, width: int, *, causal: bool = False) -> None:
        super().__init__()
        self.attention = Attention(width, 4, causal=causal)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.forward_net = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        return x + self.forward_net(self.second(x))


class VisionTransformer(nn.Module):
    """Patches, a class token, positions, a layer and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 4, 4)
        self.token, self.positions = nn.Parameter(torch.randn(1, 1, 32)), nn.Parameter(torch.randn(1, 17, 32))
        self.encoder, self.norm, self.head = Encoder(32), nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        return self.head(self.norm(self.encoder(x))[:, 0])


class Language(nn.Module):
    """GPT-2's way: words, positions, a causal layer, and the words' matrix again."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(60, 32), nn.Embedding(16, 32)
        self.layer, self.norm = Encoder(32, causal=True), nn.LayerNorm(32)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.norm(self.layer(x)) @ self.words.weight.T


class Llama(nn.Module):
    """A layer of Llama's: RMS norms, grouped queries, a gated feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = GroupedAttention(32, 4, 2, 9)
        self.first, self.second = nn.RMSNorm(32), nn.RMSNorm(32)
        self.gate, self.up, self.down = nn.Linear(32, 80, False), nn.Linear(32, 80, False), nn.Linear(80, 32, False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Mixer(nn.Module):
    """MLP-Mixer's layer: along the patches, then along the channels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(24), nn.LayerNorm(24)
        self.patches = nn.Sequential(nn.Linear(16, 20), nn.GELU(), nn.Linear(20, 16))
        self.channels = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.patches(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.second(x))


def mlp(depth: int, width: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers)


MODELS = (
    layer("mlp of 3", "network", lambda: mlp(3, 32), (6, 32)),
    layer("mlp of 16", "network", lambda: mlp(16, 32), (6, 32)),
    layer("LeNet", "network", lambda: nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)), (1, 1, 28, 28)),
    layer("residual block", "network", lambda: Residual(8, 8).eval(), (1, 8, 9, 9)),
    layer("residual block, strided", "network", lambda: Residual(8, 12, 2).eval(), (1, 8, 10, 10)),
    layer("inception block", "network", lambda: Inception(6), (1, 6, 9, 9)),
    layer("dense block", "network", lambda: Dense(4, 3, 3).eval(), (1, 4, 8, 8)),
    layer("shuffle unit", "network", lambda: Shuffle(12).eval(), (1, 12, 8, 8)),
    layer("squeeze and excite", "network", lambda: SqueezeExcite(6).eval(), (1, 6, 8, 8)),
    layer("U-Net", "network", lambda: UNet().eval(), (1, 3, 12, 12)),
    layer("generator", "network", lambda: Generator().eval(), (1, 10, 1, 1)),
    layer("transformer layer", "network", lambda: Encoder(32), (2, 9, 32)),
    layer("torch's transformer layer", "network",
          lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval(), (2, 9, 32)),
    layer("vision transformer", "network", VisionTransformer, (1, 3, 16, 16)),
    Model("language model", "network", Language, lambda: (integers(60, 2, 9),)),
    layer("Llama layer", "network", Llama, (1, 9, 32)),
    layer("mixer layer", "network", Mixer, (2, 16, 24)),
)  # fmt: skip
