"""Matrix and vector engines side by side: programs stay right, engines turn as said, and nobody waits in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Acquire, Compute, Ref, Repeat, Step
from npuflow.schedule.nest.nest import Loop
from npuflow.schedule.project.side_by_side import skewed
from npuflow.target.load import device_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LAYERS = (EXAMPLES / "two_layers.mlir").read_text()


def three_layers(depth_l1: int) -> str:
    """z + max(max(x A, y) B, y) C of 16 columns, one bundle in tiles of 16 rows, with so many slots of what comes."""
    said = (
        f"npu.bundle = 0, npu.strategy = #npu.strategy<{{grid = [1, 1], spread = [0, 0], tile_l1 = [16], order = [0], \
depth_l2 = 2, depth_l1 = {depth_l1}, depth_result = 2, depth_between = 2}}>"
    )
    made, body = "%x", []
    for name, does, other in (("a", "maximumf", "y"), ("b", "maximumf", "y"), ("c", "addf", "z")):
        body.append(f"""
  %s{name} = linalg.generic {{indexing_maps = [#l, #r, #o], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins({made}, %{name} : tensor<160x16xbf16>, tensor<16x16xbf16>) outs(%f : tensor<160x16xf32>) attrs = {{{said}}} {{
  ^bb0(%p: bf16, %q: bf16, %t: f32):
    %pw = arith.extf %p : bf16 to f32
    %qw = arith.extf %q : bf16 to f32
    %m = arith.mulf %pw, %qw : f32
    %n = arith.addf %t, %m : f32
    linalg.yield %n : f32
  }} -> tensor<160x16xf32>
  %t{name} = linalg.generic {{indexing_maps = [#e, #e, #e], iterator_types = ["parallel", "parallel"]}}
      ins(%s{name}, %{other} : tensor<160x16xf32>, tensor<160x16xf32>) outs(%i : tensor<160x16xbf16>)
      attrs = {{{said}}} {{
  ^bb0(%p: f32, %q: f32, %t: bf16):
    %m = arith.{does} %p, %q : f32
    %n = arith.truncf %m : f32 to bf16
    linalg.yield %n : bf16
  }} -> tensor<160x16xbf16>""")
        made = f"%t{name}"
    weights = ", ".join(f"%{name}: tensor<16x16xbf16>" for name in "abc")
    return f"""
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
func.func @f(%x: tensor<160x16xbf16>, {weights}, %y: tensor<160x16xf32>, %z: tensor<160x16xf32>)
    -> tensor<160x16xbf16> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<160x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<160x16xf32>) -> tensor<160x16xf32>
  %i = tensor.empty() : tensor<160x16xbf16>{"".join(body)}
  return {made} : tensor<160x16xbf16>
}}
"""


def calls(steps: tuple[Step, ...]) -> list[object]:
    """The kernels of a program, loops as (trips, kernels)."""
    found: list[object] = []
    for step in steps:
        if isinstance(step, Repeat) and (inside := calls(step.body)):
            found.append((step.trips, inside))
        found += [step.kernel] if isinstance(step, Compute) else []
    return found


def test_the_second_part_is_a_turn_behind() -> None:
    def wait(name: str, turn: Affine) -> Acquire:
        return Acquire(Ref(name, (turn,)))

    here, next_ = Affine.counter("i"), Affine.counter("i", constant=1)
    steps = skewed(Loop("i", 4), [[wait("first", here)], [wait("second", here)]])
    steady = Repeat("i", 3, (wait("first", next_), wait("second", here)))
    assert steps == [wait("first", Affine()), steady, wait("second", Affine(3))]
    assert skewed(Loop("i", 1), [[wait("first", here)], []]) == [wait("first", Affine())]


@pytest.mark.parametrize("trips", [1, 2, 3, 5])
def test_every_part_does_every_tile_a_turn_behind_the_one_before(trips: int) -> None:
    here = Affine.counter("i")
    parts = [[Acquire(Ref(name, (here,)))] for name in "abc"]
    done: list[tuple[str, int]] = []
    for step in skewed(Loop("i", trips), parts):
        turns = range(step.trips) if isinstance(step, Repeat) else (0,)
        for turn in turns:
            for one in step.body if isinstance(step, Repeat) else (step,):
                assert isinstance(one, Acquire)
                done.append((one.semaphore.name, one.semaphore.at[0].constant + turn * isinstance(step, Repeat)))
    wanted = [(name, turn - n) for turn in range(trips + 2) for n, name in enumerate("abc") if 0 <= turn - n < trips]
    assert done == wanted


def test_an_engine_turns_to_the_next_tile_while_another_works() -> None:
    (function,) = npuflow.compile(LAYERS, device="npu4.0:1x1").functions
    engines = function.compiled.schedule.engines
    first, *others = calls(engines["matrix"].program)
    steady = next(each for each in others if isinstance(each, tuple))
    assert first in steady[1]
    assert len(steady[1]) > 2  # both sums, and a fill or two
    assert len(calls(engines["vector"].program)) == 1
    (reported,) = npuflow.compile(LAYERS, device="npu4.0:1x1").run(judge=JUDGE).functions
    assert reported.verified.status is Status.OK, reported.verified


@pytest.mark.parametrize("example", ["linear_relu.mlir", "two_layers.mlir"])
def test_side_by_side_takes_less_time(example: str, tmp_path: Path) -> None:
    """Much less with one vector engine, which then has about as much to do as the matrix engine; less with both."""
    text, shipped = (EXAMPLES / example).read_text(), device_file("npu4.0").read_text()
    assert shipped.count("count = 2") == 1
    (one := tmp_path / "one.toml").write_text(shipped.replace("count = 2", "count = 1"))
    for device, most in ((f"{one}:1x1", 0.8), ("npu4.0:1x1", 0.9)):
        times = []
        for disable in ((), ("engines",)):
            (function,) = npuflow.compile(text, device=device, disable=disable, split=False).functions
            assert (function.strategy.get("depth_between", 1) == 2) == (not disable)
            times.append(function.simulate().cycles)
        assert times[0] < most * times[1]


def test_tiles_of_any_size_are_right() -> None:
    text = LAYERS.replace("8192", "333").replace("128", "72")
    for device in ("npu4.0", "npu2.7:1x1", "toy-scratchpad"):
        (reported,) = npuflow.compile(text, device=device, split=False).run(judge=JUDGE).functions
        assert reported.verified.status is Status.OK, reported.verified


@pytest.mark.parametrize("depth_l1", [1, 2, 3])
def test_a_lane_brings_what_earlier_parts_need_while_a_later_one_waits_for_them(depth_l1: int) -> None:
    """Of three layers the last part is two turns behind: a single slot of what it reads would hold up the lane."""
    (reported,) = npuflow.compile(three_layers(depth_l1), device="npu4.0:1x1").run(judge=JUDGE).functions
    assert reported.verified.status is Status.OK, reported.verified
