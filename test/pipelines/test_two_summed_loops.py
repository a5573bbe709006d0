"""A product that sums over two loops, which no matmul spells, is cut into pieces in L2 and L1 as a matmul's K is."""

from __future__ import annotations

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status
from npuflow.report.losses import without_launch
from npuflow.simulate.run import simulate

# How the left and the right operand lie: k is two loops that are nowhere next to each other in both.
SPELLINGS = {
    "blocks of k outermost": ("i, m, j", "i, j, n"),
    "k in another order on the right": ("i, m, j", "j, i, n"),
    "k in another order on the left": ("m, j, i", "i, j, n"),
}
MATMUL = """
func.func @f(%a: tensor<{m}x{k}xbf16>, %b: tensor<{k}x{n}xbf16>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}xbf16>, tensor<{k}x{n}xbf16>) outs(%f : tensor<{m}x{n}xf32>)
      -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}
"""


def product(spelling: str, sizes: dict[str, int], said: str = "") -> str:
    """The sum over i and j; `said` is of its strategy."""
    lhs, rhs = SPELLINGS[spelling]
    a, b = ("x".join(str(sizes[loop]) for loop in dims.split(", ")) + "xbf16" for dims in (lhs, rhs))
    result = f"tensor<{sizes['m']}x{sizes['n']}xf32>"
    maps = ", ".join(f"affine_map<(m, n, i, j) -> ({dims})>" for dims in (lhs, rhs, "m, n"))
    strategy = f" attrs = {{npu.strategy = #npu.strategy<{{{said}}}>}}" if said else ""
    return f"""
func.func @f(%a: tensor<{a}>, %b: tensor<{b}>) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%zero : f32) outs(%e : {result}) -> {result}
  %r = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%a, %b : tensor<{a}>, tensor<{b}>) outs(%f : {result}){strategy} {{
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  }} -> {result}
  return %r : {result}
}}
"""


@pytest.mark.parametrize(
    "said",
    [
        "stream = [1, 8], stream_l2 = [2, 24]",
        "stream = [2, 8], stream_l2 = [6, 8]",
        "stream = [1, 8], stream_l2 = [4, 24], hold = 1",
    ],
)
@pytest.mark.parametrize("spelling", list(SPELLINGS))
def test_pieces_in_l2_are_summed_rightly(spelling: str, said: str) -> None:
    """5 x 20 steps of k, of which zeros fill up the last pieces, and 40 x 24 elements, of which the last blocks."""
    text = product(spelling, {"m": 40, "n": 24, "i": 5, "j": 20}, f"grid = [2, 2], tile_l1 = [16, 8], {said}")
    (function,) = npuflow.compile(text, device="npu1").run(judge=JUDGE).functions
    assert function.verified.status is Status.OK


def own_seconds(text: str) -> float:
    (function,) = npuflow.compile(text, device="npu1").functions
    return simulate(without_launch(function.compiled.program)).seconds


@pytest.mark.parametrize(("i", "j"), [(16, 128), (512, 4)])
def test_it_takes_no_longer_than_the_matmul(i: int, j: int) -> None:
    matmul = own_seconds(MATMUL.format(m=1024, n=512, k=2048))
    sizes = {"m": 1024, "n": 512, "i": i, "j": j}
    assert own_seconds(product("blocks of k outermost", sizes)) <= 1.03 * matmul
