"""The networks in plain PyTorch have the sizes that their publications give; skipped without PyTorch."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "networks"


@pytest.fixture(scope="module")
def torch() -> Any:  # noqa: ANN401
    sys.path.insert(0, str(FOLDER))
    yield pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
    sys.path.remove(str(FOLDER))


@pytest.mark.parametrize(
    ("file", "name", "parameters", "shape"),
    [
        ("vision", "resnet18", 11_689_512, [1, 1000]),
        ("vision", "resnet50", 25_557_032, [1, 1000]),
        ("vision", "mobilenet_v2", 3_504_872, [1, 1000]),
        ("vision", "vit_block", 7_087_872, [1, 197, 768]),
        ("language", "bert_block", 7_087_872, [1, 128, 768]),
        ("language", "gpt2_block", 7_087_872, [1, 256, 768]),
        ("language", "llama_prefill", 60_821_504, [1, 2048, 2048]),
        ("language", "llama_decode", 60_821_504, [1, 1, 2048]),
        ("language", "llama_decode_cat", 60_821_504, [1, 1, 2048]),
        # 4 gates of 256 x (128 + 256) and two biases each.
        ("language", "lstm", 4 * 256 * (128 + 256 + 2), [1, 32, 256]),
        # 6,558,080 of the residual block (its two 3x3 convolutions have 1,843,840 and 3,687,040), 411,520 and 410,240
        # around the transformer block, 8,366,720 in it (1,639,040 and 1,802,880 of attention, 4,920,960 behind it).
        ("vision", "unet_block", 6_558_080 + 411_520 + 410_240 + 8_366_720, [1, 640, 32, 32]),
    ],
)
def test_sizes_are_as_published(torch: Any, file: str, name: str, parameters: int, shape: list[int]) -> None:  # noqa: ANN401
    with torch.device("meta"):
        module, inputs = getattr(import_module(file), name)()
        result = module(*inputs)
    result = result[0] if isinstance(result, tuple) else result
    assert sum(one.numel() for one in module.parameters()) == parameters
    assert list(result.shape) == shape
    assert not module.training
