"""Nothing is faster than what is said to be the least, and what that is made of can be counted."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

from npuflow.api.entry import compile as compile_program
from npuflow.strategy.least_time import least_time

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, matmul_group

TOY, NPU2 = DEVICES["toy"], DEVICES["npu2"]
MATMUL = """
func.func @product(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{m}x{n}xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %c = linalg.matmul {said} ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>)
    outs(%fill : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  return %c : tensor<{m}x{n}xi32>
}}
"""
SAID = (
    "",
    "{npu.strategy = #npu.strategy<{tile_l1 = [16, 16, 16]}>}",
    "{npu.strategy = #npu.strategy<{tile_l1 = [32, 64, 32], depth_l1 = 1}>}",
    "{npu.strategy = #npu.strategy<{grid = [1, 2], tile_l1 = [64, 64, 64]}>}",
)


@pytest.mark.parametrize(
    ("device", "sizes", "said"), list(product(("toy", "npu2"), ((128, 128, 256), (256, 64, 512), (100, 72, 40)), SAID))
)
def test_nothing_that_is_simulated_takes_less(device: str, sizes: tuple[int, int, int], said: str) -> None:
    m, n, k = sizes
    least = least_time(matmul_group(m, n, k), DEVICES[device])
    assert least is not None
    compiled = compile_program(MATMUL.format(m=m, n=n, k=k, said=said), device=device)
    (function,) = compiled.functions
    seconds = function.simulate().cycles / DEVICES[device].clock_hz - DEVICES[device].control.launch_seconds
    assert least.seconds <= seconds


def test_kernels_take_the_least_of_the_tiles_that_l1_has_room_for() -> None:
    """On toy: 64 multiplications a cycle on 2x2 cores, and each call loads and stores its sums, 32 bytes a cycle.

    K of 256 is the most that divides 1024 and leaves room for two slots of each operand with the 32x16 of a tile, in
    four calls; larger tiles take more of L1, and as long for their sums.
    """
    least = least_time(matmul_group(256, 256, 1024), TOY)
    assert least is not None
    multiplied, moved = 256 * 256 * 1024 // (64 * 4), 4 * (256 * 256 // 4) * 2 * 4 // 32
    assert least.core_seconds * TOY.clock_hz == pytest.approx(multiplied + moved)
    assert least.waiting_seconds == 0
    assert least.seconds == pytest.approx(least.before_seconds + least.core_seconds)


@pytest.mark.parametrize("sizes", [(8, 8, 4096), (64, 64, 1800), (200, 24, 640), (512, 512, 16)])
def test_the_least_is_the_longest_of_what_it_is_made_of(sizes: tuple[int, int, int]) -> None:
    least = least_time(matmul_group(*sizes), TOY)
    assert least is not None
    work = least.before_seconds + max(least.core_seconds + least.waiting_seconds, least.arrival_seconds)
    assert least.seconds == pytest.approx(max(work, least.dram_seconds, least.setting_up_seconds))


def test_more_tiles_than_steps_say_nothing() -> None:
    assert least_time(matmul_group(512, 512, 512), NPU2, most_steps=100) is None
