"""The layers of three networks, by the sizes that their publications give.

ResNet-50 has the stride of a stage in its 3x3 convolution. Its 23 convolutions that differ are all here, as are
MobileNetV2's depthwise and pointwise ones; both at 224x224 pixels and batch 1. No convolution of batch 1 is bound by
compute on a device whose matrix engines are much faster than its DRAM, so four stand here with a batch of 16 as well.
Of Llama-3.2-1B a block stands here, without rotary embedding: prefilling 2048 tokens, and decoding one after 2048.
"""

from __future__ import annotations

from dataclasses import dataclass

from operators import Contraction, Convolution, Operator
from rows import RmsNorm, SiluProduct, Softmax, Sum


@dataclass(frozen=True)
class Layer:
    """A layer of a network under a name of its own."""

    network: str
    name: str
    operator: Operator


# Pixels, channels in and out, kernel, stride; ReLU follows all of them but each block's last convolutions.
_RESNET = (
    ("conv1", 224, 3, 64, 7, 2),
    ("conv2 reduce first", 56, 64, 64, 1, 1),
    ("conv2 reduce", 56, 256, 64, 1, 1),
    ("conv2 3x3", 56, 64, 64, 3, 1),
    ("conv2 expand", 56, 64, 256, 1, 1),
    ("conv3 reduce first", 56, 256, 128, 1, 1),
    ("conv3 reduce", 28, 512, 128, 1, 1),
    ("conv3 3x3 first", 56, 128, 128, 3, 2),
    ("conv3 3x3", 28, 128, 128, 3, 1),
    ("conv3 expand", 28, 128, 512, 1, 1),
    ("conv3 shortcut", 56, 256, 512, 1, 2),
    ("conv4 reduce first", 28, 512, 256, 1, 1),
    ("conv4 reduce", 14, 1024, 256, 1, 1),
    ("conv4 3x3 first", 28, 256, 256, 3, 2),
    ("conv4 3x3", 14, 256, 256, 3, 1),
    ("conv4 expand", 14, 256, 1024, 1, 1),
    ("conv4 shortcut", 28, 512, 1024, 1, 2),
    ("conv5 reduce first", 14, 1024, 512, 1, 1),
    ("conv5 reduce", 7, 2048, 512, 1, 1),
    ("conv5 3x3 first", 14, 512, 512, 3, 2),
    ("conv5 3x3", 7, 512, 512, 3, 1),
    ("conv5 expand", 7, 512, 2048, 1, 1),
    ("conv5 shortcut", 14, 1024, 2048, 1, 2),
)
_BATCHED = ("conv1", "conv3 3x3", "conv4 3x3", "conv5 3x3")
_BATCH = 16

# Pixels, channels, stride of each depthwise convolution; pixels, channels in and out of each pointwise one.
_DEPTHWISE = (
    (112, 32, 1), (112, 96, 2), (56, 144, 1), (56, 144, 2), (28, 192, 1),
    (28, 192, 2), (14, 384, 1), (14, 576, 1), (14, 576, 2), (7, 960, 1),
)  # fmt: skip
_EXPANDING = (
    (112, 16, 96), (56, 24, 144), (28, 32, 192), (14, 64, 384), (14, 96, 576), (7, 160, 960), (7, 320, 1280),
)  # fmt: skip
_PROJECTING = (
    (112, 32, 16), (56, 96, 24), (56, 144, 24), (28, 144, 32), (28, 192, 32), (14, 192, 64),
    (14, 384, 64), (14, 384, 96), (14, 576, 96), (7, 576, 160), (7, 960, 160), (7, 960, 320),
)  # fmt: skip

_HIDDEN, _HEADS, _KEY_HEADS, _HEAD, _INNER, _CONTEXT = 2048, 32, 8, 64, 8192, 2048


def resnet50() -> list[Layer]:
    found = []
    for name, size, inputs, outputs, kernel, stride in _RESNET:
        is_relu = not name.endswith(("expand", "shortcut"))
        found.append(Layer("ResNet-50", name, Convolution(size, inputs, outputs, kernel, stride, is_relu=is_relu)))
    for name, size, inputs, outputs, kernel, stride in _RESNET:
        if name in _BATCHED:
            operator = Convolution(size, inputs, outputs, kernel, stride, _BATCH)
            found.append(Layer(f"ResNet-50, batch {_BATCH}", name, operator))
    return found


def mobilenet_v2() -> list[Layer]:
    deep = [("depthwise", Convolution(s, c, c, 3, stride, depthwise=True)) for s, c, stride in _DEPTHWISE]
    wide = [("expand", Convolution(size, inputs, outputs)) for size, inputs, outputs in _EXPANDING]
    narrow = [("project", Convolution(size, inputs, outputs, is_relu=False)) for size, inputs, outputs in _PROJECTING]
    return [Layer("MobileNetV2", name, operator) for name, operator in (*deep, *wide, *narrow)]


def llama_block(tokens: int) -> list[Layer]:
    """A block's operators for `tokens` new tokens of a context of 2048; heads that share keys are one matmul."""
    shared = _HEADS // _KEY_HEADS * tokens
    operators: tuple[tuple[str, Operator], ...] = (
        ("norm", RmsNorm(tokens, _HIDDEN)),
        ("query, output", Contraction(tokens, _HIDDEN, _HIDDEN)),
        ("key, value", Contraction(tokens, _KEY_HEADS * _HEAD, _HIDDEN)),
        ("scores", Contraction(shared, _CONTEXT, _HEAD, _KEY_HEADS)),
        ("softmax", Softmax(_HEADS * tokens, _CONTEXT)),
        ("mix", Contraction(shared, _HEAD, _CONTEXT, _KEY_HEADS, is_transposed=False)),
        ("residual", Sum(tokens, _HIDDEN)),
        ("gate, up", Contraction(tokens, _INNER, _HIDDEN)),
        ("silu product", SiluProduct(tokens, _INNER)),
        ("down", Contraction(tokens, _HIDDEN, _INNER)),
    )
    return [
        Layer(f"Llama-3.2-1B, {tokens} tokens" if tokens > 1 else "Llama-3.2-1B, 1 token", n, o) for n, o in operators
    ]


def all_layers() -> list[Layer]:
    return [*resnet50(), *mobilenet_v2(), *llama_block(1), *llama_block(_CONTEXT)]
