"""Lanes: those that spare descriptors beside memory tiles don't cost more of the control processor than others do."""

from __future__ import annotations

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status
from npuflow.schedule import build
from npuflow.schedule.assign.descriptors import descriptors_set_up

# A cache and what is appended to it, of another type: both and a table of places come into each block.
APPENDED = """
#each = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @append(%x: tensor<8x4096x64xf32>, %y: tensor<1x8x1x64xbf16>) -> tensor<1x8x4097x64xf32> {
  %v = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, 8, 4096, 64]
      : tensor<8x4096x64xf32> into tensor<1x8x4096x64xf32>
  %e = tensor.empty() : tensor<1x8x1x64xf32>
  %z = linalg.generic {indexing_maps = [#each, #each],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<1x8x1x64xbf16>) outs(%e : tensor<1x8x1x64xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %s = arith.extf %p : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<1x8x1x64xf32>
  %a = tensor.concat dim(2) %v, %z : (tensor<1x8x4096x64xf32>, tensor<1x8x1x64xf32>) -> tensor<1x8x4097x64xf32>
  return %a : tensor<1x8x4097x64xf32>
}
"""


def test_tensors_that_would_take_turns_on_a_lane_get_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = npuflow.compile(APPENDED, device="npu2").functions
    monkeypatch.setattr(build, "other_lanes", lambda *_: iter(()))
    (before,) = npuflow.compile(APPENDED, device="npu2").functions
    assert descriptors_set_up(found.compiled.schedule) < descriptors_set_up(before.compiled.schedule)
    assert found.simulate().cycles < before.simulate().cycles


# Two tensors come into each block, in pixels that are few; a factor and three rows come once.
SCALED_SUM = """
#x = affine_map<(a, b, c, d) -> (b, c, d)>
#w = affine_map<(a, b, c, d) -> (d, a)>
#r = affine_map<(a, b, c, d) -> (a, b, c)>
#each = affine_map<(a, b, c) -> (a, b, c)>
#row = affine_map<(a, b, c) -> (a)>
func.func @scaled(%x: tensor<56x56x384xi8>, %w: tensor<384x96xi8>, %y: tensor<96x56x56xi8>, %p: tensor<96xf32>,
    %q: tensor<96xf32>, %s: tensor<96xf32>) -> tensor<96x56x56xf32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<96x56x56xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<96x56x56xi32>) -> tensor<96x56x56xi32>
  %m = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<56x56x384xi8>, tensor<384x96xi8>) outs(%z : tensor<96x56x56xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %o, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<96x56x56xi32>
  %f = tensor.empty() : tensor<96x56x56xf32>
  %t = linalg.generic {indexing_maps = [#each, #row, #each, #row, #row, #each],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %p, %m, %q, %s : tensor<96x56x56xi8>, tensor<96xf32>, tensor<96x56x56xi32>, tensor<96xf32>,
          tensor<96xf32>) outs(%f : tensor<96x56x56xf32>) {
  ^bb0(%a: i8, %b: f32, %c: i32, %d: f32, %g: f32, %o: f32):
    %0 = arith.sitofp %c : i32 to f32
    %1 = arith.mulf %0, %d : f32
    %2 = arith.addf %1, %g : f32
    %3 = arith.mulf %b, %2 : f32
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.addf %4, %3 : f32
    linalg.yield %5 : f32
  } -> tensor<96x56x56xf32>
  return %t : tensor<96x56x56xf32>
}
"""


def test_what_comes_once_keeps_nothing_from_a_lane_of_its_own() -> None:
    (found,) = npuflow.compile(SCALED_SUM, device="npu2").functions
    assert descriptors_set_up(found.compiled.schedule) < 40  # two that take turns are 8 for each of 28 blocks


def test_results_are_right_by_these_lanes() -> None:
    (report,) = npuflow.compile(APPENDED, device="npu2").run(verify=True, judge=JUDGE).functions
    assert report.verified.status is Status.OK, report.verified.message


# Three tensors come into each block and a row of biases into few: what is set up one by one fits into the queues.
ADDED = """
#whole = affine_map<(a, b) -> (a, b)>
#row = affine_map<(a, b) -> (b)>
func.func @add(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>, %z: tensor<512x512xf32>, %b: tensor<512xf32>)
    -> tensor<512x512xf32> {
  %e = tensor.empty() : tensor<512x512xf32>
  %a = linalg.generic {
      indexing_maps = [#whole, #whole, #whole, #row, #whole], iterator_types = ["parallel", "parallel"],
      npu.strategy = #npu.strategy<{depth_l1 = 2 : i64, depth_l2 = 2 : i64, depth_result = 1 : i64, grid = [4, 4],
                                    order = [1, 0], spread = [1, 1], tile_l1 = [64, 32]}>}
      ins(%x, %y, %z, %b : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>)
      outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %s: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    %1 = arith.addf %0, %r : f32
    %2 = arith.addf %1, %s : f32
    linalg.yield %2 : f32
  } -> tensor<512x512xf32>
  return %a : tensor<512x512xf32>
}
"""


def test_what_no_phase_sets_up_ahead_takes_the_lanes_that_need_least() -> None:
    part = ADDED.replace(
        "-> tensor<512x512xf32> {\n  %e",
        "-> tensor<512x512xf32> attributes {npu.between = {arguments = array<i64: 0>, results = array<i64>}} {\n  %e",
    )
    alone, phase = (npuflow.compile(text, device="npu2").functions[0] for text in (ADDED, part))
    assert descriptors_set_up(alone.compiled.schedule) < 0.8 * descriptors_set_up(phase.compiled.schedule)
    assert alone.simulate().cycles < 0.9 * phase.simulate().cycles
