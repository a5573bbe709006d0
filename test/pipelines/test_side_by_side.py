"""Sums of products side by side, which one op reads, compute what they do apart, whatever their sizes and types are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges import JUDGE
from profiles import drawn

import npuflow
from npuflow.execute.verification import Status

IDENTITY = "affine_map<(i, j) -> (i, j)>"
TAILS = {
    "i32": ("%t = arith.addi %p, %q : i32", "%c = arith.maxsi %p, %z : i32\n    %t = arith.muli %c, %q : i32"),
    "f32": ("%t = arith.addf %p, %q : f32", "%c = arith.maximumf %p, %z : f32\n    %t = arith.mulf %c, %q : f32"),
}


@dataclass(frozen=True)
class SideBySide:
    """x A and y B, each of rows x columns, added up, or the second gated by the first; y may be x."""

    rows: int
    columns: int
    summed: tuple[int, int]
    element: str
    is_gate: bool
    shares: bool

    def text(self) -> str:
        (first, second), total = self.summed, "i32" if self.element == "i8" else "f32"
        left, right = (f"tensor<{self.rows}x{size}x{self.element}>" for size in self.summed)
        weights = [f"tensor<{size}x{self.columns}x{self.element}>" for size in self.summed]
        made, shared = f"tensor<{self.rows}x{self.columns}x{total}>", self.shares and first == second
        arguments = f"%x: {left}, %a: {weights[0]}, " + ("" if shared else f"%y: {right}, ") + f"%b: {weights[1]}"
        sums = "".join(
            f"  %{name} = linalg.matmul ins(%{lhs}, %{rhs} : {kind}, {weight}) outs(%f : {made}) -> {made}\n"
            for name, lhs, rhs, kind, weight in (
                ("s", "x", "a", left, weights[0]),
                ("r", "x" if shared else "y", "b", right, weights[1]),
            )
        )
        return f"""
func.func @f({arguments}) -> {made} {{
  %z = arith.constant {"0" if total == "i32" else "0.0"} : {total}
  %e = tensor.empty() : {made}
  %f = linalg.fill ins(%z : {total}) outs(%e : {made}) -> {made}
{sums}  %o = linalg.generic {{indexing_maps = [{IDENTITY}, {IDENTITY}, {IDENTITY}],
      iterator_types = ["parallel", "parallel"]}}
      ins(%s, %r : {made}, {made}) outs(%e : {made}) {{
  ^bb0(%p: {total}, %q: {total}, %u: {total}):
    {TAILS[total][self.is_gate]}
    linalg.yield %t : {total}
  }} -> {made}
  return %o : {made}
}}
"""


def compiled(pair: SideBySide, device: str) -> npuflow.Compiled:
    return npuflow.compile(pair.text(), device=device, split=False)


PAIRS = st.builds(
    SideBySide,
    rows=st.sampled_from((16, 49, 100, 128)),
    columns=st.sampled_from((32, 96, 130, 256)),
    summed=st.tuples(*[st.sampled_from((32, 64, 96, 200, 256))] * 2),
    element=st.sampled_from(("i8", "bf16", "f32")),
    is_gate=st.booleans(),
    shares=st.booleans(),
)


@drawn(few=3, many=100)
@given(PAIRS, st.sampled_from(("npu1", "npu2", "npu4.0")))
def test_pairs_are_right(pair: SideBySide, device: str) -> None:
    (function,) = compiled(pair, device).run(judge=JUDGE).functions
    assert function.verified.status is Status.OK


@pytest.mark.parametrize("device", ["npu1", "npu2", "npu4.0"])
def test_a_gate_is_one_part_that_hands_over_nothing(device: str) -> None:
    pair = SideBySide(128, 256, (256, 256), "bf16", is_gate=True, shares=True)
    (function,) = compiled(pair, device).run(judge=JUDGE).functions
    assert function.verified.status is Status.OK
    assert function.traffic[0].write_bytes == 4 * 128 * 256  # the result, and neither of the sums
