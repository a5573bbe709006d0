"""What blocks need alike: it comes into L1 once, or is held in L2, and what is computed stays right."""

from __future__ import annotations

import pytest
from judges import JUDGE

import npuflow
from npuflow.api.compiled import Compiled
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import simulate

# 4 images of 10x10 pixels, of which each of two columns reads 6 for its half of a row, and weights of 3x3 taps.
PIXELS, WEIGHTS = 4 * 10 * (2 * 6) * 16, 3 * 3 * 16 * 16
CONVOLUTION = """
func.func @conv(%x: tensor<4x10x10x16xi8>, %w: tensor<3x3x16x16xi8>, %b: tensor<16xi32>) -> tensor<4x8x8x16xi32> {{
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8x8x16xi32>
  %init = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8x8x16xi32>) -> tensor<4x8x8x16xi32>
  %sum = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<4x10x10x16xi8>, tensor<3x3x16x16xi8>)
      outs(%init : tensor<4x8x8x16xi32>) -> tensor<4x8x8x16xi32>
  %r = linalg.generic {{indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>,
                                        affine_map<(n, h, w, c) -> (n, h, w, c)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%sum, %b : tensor<4x8x8x16xi32>, tensor<16xi32>) outs(%e : tensor<4x8x8x16xi32>)
      attrs = {{npu.strategy = #npu.strategy<{{grid = [2, 2], spread = [1, 2], tile_l1 = {tile}, order = {order},
                                            stream = {stream}, gather = 0 : i64, hold = {hold} : i64}}>}} {{
  ^bb0(%s: i32, %v: i32, %o: i32):
    %t = arith.addi %s, %v : i32
    linalg.yield %t : i32
  }} -> tensor<4x8x8x16xi32>
  return %r : tensor<4x8x8x16xi32>
}}
"""


def compiled(tile: list[int], order: list[int], piece: int, *, hold: bool) -> Compiled:
    text = CONVOLUTION.format(tile=tile, order=order, stream=[3, 3, piece], hold=int(hold))
    return npuflow.compile(text, device="toy")


def run(program: Compiled) -> RunResults:
    (function,) = program.run(verify=True, judge=JUDGE).functions
    assert function.verified.status.value == "ok"
    return simulate(program.functions[0].compiled.program)


def test_weights_that_fit_l1_come_once() -> None:
    # Four blocks, an image each, over 2x2 cores: all of them need all weights, which both memory tiles have.
    results = run(program := compiled([1, 4, 4, 16], [0, 1, 2, 3], 16, hold=False))
    assert results.traffic["arg1"].read_bytes == 2 * WEIGHTS
    buffers = program.functions[0].compiled.schedule.buffers
    (weights,) = [b for b in buffers.values() if b.level == 1 and b.shape == (3, 3, 16, 16)]
    (pixels,) = [b for b in buffers.values() if b.level == 1 and b.shape == (1, 6, 6, 16)]
    assert (weights.depth, pixels.depth) == (1, 2)
    # Each memory tile hands them out once, to both cores of its column.
    (held,) = [b for b in buffers.values() if b.level == 2 and b.shape == (3, 3, 16, 16)]
    assert [results.traffic[f"{held.name}[{column}]"].read_bytes for column in range(2)] == [WEIGHTS, WEIGHTS]


@pytest.mark.parametrize(("hold", "times"), [(False, 4), (True, 1)])
def test_weights_in_pieces_come_from_l3_once_where_they_are_held(hold: bool, times: int) -> None:
    # Pieces of 4 channels go through L1, block after block; held, only from L2.
    results = run(compiled([1, 4, 4, 16], [0, 1, 2, 3], 4, hold=hold))
    assert results.traffic["arg1"].read_bytes == times * 2 * WEIGHTS
    assert results.traffic["arg0"].read_bytes == PIXELS


@pytest.mark.parametrize(("hold", "times"), [(False, 2), (True, 1)])
def test_pixels_are_held_while_channels_step(hold: bool, times: int) -> None:
    # Two blocks of channels for every image, the innermost: the image stays, the weights change.
    results = run(compiled([1, 4, 4, 8], [0, 1, 2, 3], 4, hold=hold))
    assert results.traffic["arg0"].read_bytes == times * PIXELS
    assert results.traffic["arg1"].read_bytes == 4 * 2 * WEIGHTS
