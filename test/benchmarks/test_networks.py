"""The layers of networks are what they say, and what the table shows of one is measured and verified."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from npuflow.api.entry import compile as compile_text
from npuflow.target import load_device

NETWORKS = Path(__file__).resolve().parents[2] / "benchmarks" / "networks"
sys.path.insert(0, str(NETWORKS))

import layers  # noqa: E402
import measure  # noqa: E402
import table  # noqa: E402
from layers import Layer  # noqa: E402
from operators import Contraction, Convolution, Operator  # noqa: E402
from rows import RmsNorm, SiluProduct, Softmax, Sum  # noqa: E402

NPU2 = load_device("npu2")


def test_resnet_has_the_multiplications_that_are_known_of_it() -> None:
    """4.09 G multiply-accumulates at 224x224, of which 2.05 M are in the classifier; stages repeat their blocks."""
    repeats = {"conv2": 3, "conv3": 4, "conv4": 6, "conv5": 3}
    total = 0
    for layer in (layer for layer in layers.resnet50() if layer.network == "ResNet-50"):
        stage, _, role = layer.name.partition(" ")
        once = role.endswith(("first", "shortcut")) or not role
        twice = role in ("reduce", "3x3") and stage != "conv2"
        total += layer.operator.macs * (
            1 if once else repeats[stage] - 1 if twice or role == "reduce" else repeats[stage]
        )
    # The first stage's shortcut is of the shape of its expansion.
    total += Convolution(56, 64, 256).macs
    assert total == pytest.approx(4.09e9 - 2.05e6, rel=0.005)


def test_a_llama_block_has_as_many_weights_as_the_model_says() -> None:
    """1.24 G parameters, of which 128256 x 2048 are embeddings, in 16 blocks."""
    matmuls = {layer.name: layer.operator for layer in layers.llama_block(1)}
    names = ("query, output", "key, value", "gate, up")
    weights = 2 * sum(matmuls[name].macs for name in names) + matmuls["down"].macs
    assert 16 * weights + 128256 * 2048 == pytest.approx(1.236e9, rel=0.001)


SMALL: tuple[tuple[Operator, str], ...] = (
    (Convolution(14, 8, 16, 3), "bit-exact"),
    (Convolution(14, 8, 16, 3, 2, batch=2, is_relu=False), "bit-exact"),
    (Convolution(13, 16, 24), "bit-exact"),
    (Convolution(12, 24, 24, 3, depthwise=True), "bit-exact"),
    (Contraction(24, 40, 48), "within bounds"),
    (Contraction(1, 64, 32, batch=3, is_transposed=False), "within bounds"),
    (RmsNorm(8, 64), "within bounds"),
    (Softmax(8, 64), "within bounds"),
    (SiluProduct(8, 64), "within bounds"),
    (Sum(8, 64), "within bounds"),
)


@pytest.mark.parametrize(("operator", "how"), SMALL, ids=lambda value: type(value).__name__)
def test_small_layers_are_right_and_above_their_roofline(operator: Operator, how: str) -> None:
    row = measure.measure(Layer("a network", "a layer", operator), "npu2", verify=True)
    assert isinstance(row, measure.Measured)
    assert row.verified == f"whole, {how}"
    # Nothing is faster than its roofline, and no operand moves less than once where all of it is read.
    assert 0 < row.share <= 1
    assert row.moved_bytes >= row.compulsory_bytes or isinstance(operator, Convolution)
    assert row.launch_seconds <= NPU2.control.launch_seconds
    assert len(table.cells(row)) == len(table.HEAD)


def test_compulsory_is_each_operand_and_result_once() -> None:
    row = measure.measure(Layer("a network", "a layer", Convolution(14, 8, 16, 3)), "npu2", verify=False)
    assert isinstance(row, measure.Measured)
    assert row.compulsory_bytes == 14 * 14 * 8 + 3 * 3 * 8 * 16 + 16 * 4 + 14 * 14 * 16
    assert row.verified == "no"


def test_large_layers_are_verified_on_a_part_with_the_same_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "WHOLE_MACS", 1 << 16)
    monkeypatch.setattr(measure, "WHOLE_ELEMENTS", 1 << 12)
    tiles = {"grid": (2, 2), "tile_l2": (32, 32, 32), "tile_l1": (16, 16, 32)}
    choice = measure.Choice("matmul", tiles, "")
    # One block and the last one: 32 + 8 of 104, and 32 + 32 of 128.
    assert measure.part_of(Contraction(104, 128, 32, 4), choice) == Contraction(40, 64, 32, 2)
    assert measure.part_of(Contraction(32, 32, 32), choice) == Contraction(32, 32, 32)
    rows = measure.Choice("direct", {"grid": (4, 8), "spread": (0, 0), "tile_l1": (1,)}, "")
    assert measure.part_of(Softmax(100, 64), rows) == Softmax(36, 64)


def test_a_part_keeps_the_tiles() -> None:
    whole, part = Contraction(512, 512, 256), Contraction(128, 128, 64)
    choice = measure.choice_of(whole.text(), "npu2")
    assert measure.choice_of(part.text(choice.text), "npu2").fields == choice.fields


class Dynamic(Sum):
    """Nothing that can be compiled."""

    def text(self, strategy: str = "") -> str:
        return super().text(strategy).replace("tensor<8x8x", "tensor<?x8x")


def test_what_cannot_be_compiled_is_a_row_that_says_why() -> None:
    row = measure.measure(Layer("a network", "a layer", Dynamic(8, 8)), "npu2", verify=False)
    assert isinstance(row, measure.Failed)
    assert "dynamic" in row.why
    assert row.why in table.markdown([row])


def test_random_convolutions_are_neither_all_clamped_nor_all_zero() -> None:
    """Otherwise bit-exact would say little: at least a tenth of the results lie between the limits."""
    function = compile_text(Convolution(14, 64, 64, 3).text(), device="npu2").functions[0]
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, s.shape).astype(s.dtype) for s in function.compiled.signature.inputs]
    (result,) = function.execute(*inputs)
    assert np.mean((result > 0) & (result < 127)) > 0.1


def test_a_page_is_compared_but_for_how_long_compiling_took() -> None:
    page = "before\n<!-- table: npu2 -->\n\n| a | 1.0 us | 0.05 s | whole |\n\n<!-- end of table -->\nafter\n"
    slower, other = (table.with_tables(page, "npu2", text) for text in ("| a | 1.0 us | 0.61 s | whole |", "| b |"))
    assert slower != page
    assert table.difference(page, slower) == ""
    assert "-| a | 1.0 us | … s | whole |\n+| b |\n" in table.difference(page, other)
