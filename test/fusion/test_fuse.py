"""Fusing what somebody names: a pattern of a user's own, groups by name, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.core.parsing import parse
from npuflow.core.runner import run_pipeline
from npuflow.dialect.context import new_context
from npuflow.errors import InputError
from npuflow.execute.verification import Status

EXAMPLE = Path(__file__).parents[2] / "examples" / "fuse_a_pattern.py"
SUMS = "tensor<1x{0}x{0}x8xi32>"
WINDOW = "linalg.conv_2d_nhwc_hwcf ins({0}, %w : {1}, tensor<3x3x8x8xi32>) outs({2} : {3}) -> {3}"
FIRST, SECOND = SUMS.format(18), SUMS.format(16)
TWO = f"""
func.func @two(%x: {SUMS.format(20)}, %w: tensor<3x3x8x8xi32>) -> {SECOND} {{
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : {FIRST}
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : {FIRST}) -> {FIRST}
  %a = {WINDOW.format("%x", SUMS.format(20), "%f0", FIRST)}
  %e1 = tensor.empty() : {SECOND}
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : {SECOND}) -> {SECOND}
  %b = {WINDOW.format("%a", FIRST, "%f1", SECOND)}
  return %b : {SECOND}
}}
"""


def test_a_pattern_of_a_users_own() -> None:
    npuflow.load_plugin(str(EXAMPLE))
    pipeline = "npuflow-normalize-linalg,my-fuse-windows{tiles=4,8},npuflow-stream-k"
    (function,) = npuflow.compile(TWO, device="npu2", pipeline=pipeline).run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    tiles, taps = 4 * 2, 9 * 8 * 8
    assert function.ops[0].macs == tiles * (6 * 10 + 4 * 8) * taps


def test_tiles_that_do_not_divide_are_refused() -> None:
    npuflow.load_plugin(str(EXAMPLE))
    with pytest.raises(InputError, match="tiles of 5x8 don't divide 16x16"):
        npuflow.compile(
            TWO, device="npu2", pipeline="npuflow-normalize-linalg,my-fuse-windows{tiles=5,8},npuflow-stream-k"
        )


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("two_0,two_7", "unknown group 'two_7'"),
        ("two_7", "unknown group 'two_7'; hint: did you mean two_1, two_0"),
        ("other_0", "unknown function of group 'other'"),
    ],
)
def test_names_that_are_no_groups_are_refused(groups: str, message: str) -> None:
    module = parse(TWO, new_context())
    with pytest.raises(InputError, match=message):
        run_pipeline(module, f"npuflow-normalize-linalg,npuflow-fuse-windows{{device=npu2 groups={groups}}}")


def test_groups_of_one_of_several_functions() -> None:
    """Functions are compiled each by itself: what is asked for is of one of them."""
    both = TWO + TWO.replace("@two", "@other")
    compiled = npuflow.compile(both, "npuflow-stream-k{fuse-groups=other_0,other_1}", device="npu2", split=True)
    assert [function.name for function in compiled.functions if not function.part_of] == ["two", "other"]
    with pytest.raises(InputError, match="unknown function of group 'third'"):
        npuflow.compile(both, "npuflow-stream-k{fuse-groups=third_0}", device="npu2")
