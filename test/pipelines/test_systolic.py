"""A systolic array: matmuls of words of 16 bits through the ordinary pipelines, verified and timed on `systolic16`."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.errors import InputError
from npuflow.execute.verification import Status
from npuflow.target import load_device

DEVICE = "systolic16"


def matmul(m: int, k: int, n: int, result: str = "i16", word: str = "i16", zero: str = "0") -> str:
    sums = f"tensor<{m}x{n}x{result}>"
    factors = f"tensor<{m}x{k}x{word}>, tensor<{k}x{n}x{word}>"
    return f"""
func.func @matmul(%a: tensor<{m}x{k}x{word}>, %b: tensor<{k}x{n}x{word}>) -> {sums} {{
  %zero = arith.constant {zero} : {result}
  %empty = tensor.empty() : {sums}
  %fill = linalg.fill ins(%zero : {result}) outs(%empty : {sums}) -> {sums}
  %sums = linalg.matmul ins(%a, %b : {factors}) outs(%fill : {sums}) -> {sums}
  return %sums : {sums}
}}
"""


def test_the_file_says_what_the_rtl_is() -> None:
    device = load_device(DEVICE)
    (shape, *_) = device.matmul_shapes("i16", "i16", "i16")
    assert (shape.m, shape.n, shape.macs_per_cycle) == (16, 16, 256)
    assert [level.number for level in device.levels] == [1, 3]


@pytest.mark.parametrize(("m", "k", "n"), [(64, 64, 128), (40, 50, 70)])
def test_a_matmul_is_verified_and_timed(m: int, k: int, n: int) -> None:
    (function,) = npuflow.compile(matmul(m, k, n), device=DEVICE).run().functions
    assert function.verified.status is Status.OK, function.verified.message
    # Neither the units nor DRAM, 4 words a cycle, can do with less.
    assert function.cycles >= max(m * k * n / 256, (m * k + k * n) / 4)


def test_it_multiplies_words_of_16_bits_only() -> None:
    with pytest.raises(InputError, match="i16 x i16"):
        npuflow.compile(matmul(64, 64, 64, "f32", "f32", "0.0"), device=DEVICE)
