"""What functions say of their work: noted with the strategies, still there on the schedule, refused where malformed."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.bounds.sizes import BundleSizes, MatmulSizes
from npuflow.schedule.ir.read_schedule import schedules_of
from npuflow.strategy.work import WORK, work_of

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
# A matmul of 48x32x40, and sums over the rows of another tensor.
SOURCE = """
func.func @both(%a: tensor<48x40xi8>, %b: tensor<40x32xi8>, %x: tensor<16x64xf32>)
    -> (tensor<48x32xi32>, tensor<16xf32>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<48x32xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<48x32xi32>) -> tensor<48x32xi32>
  %r = linalg.matmul ins(%a, %b : tensor<48x40xi8>, tensor<40x32xi8>) outs(%f : tensor<48x32xi32>) -> tensor<48x32xi32>
  %nought = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<16xf32>
  %h = linalg.fill ins(%nought : f32) outs(%g : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<16x64xf32>) outs(%h : tensor<16xf32>) dimensions = [1]
  return %r, %s : tensor<48x32xi32>, tensor<16xf32>
}
"""
SIZES = [MatmulSizes(48, 32, 40, 1, 1, 1, 4, 4), BundleSizes(0, 16 * 64 * 4 + 16 * 4)]
MAPPED = "strategy = #npu.strategy<{grid = [1, 1]}>"


def scheduled(pipeline: str) -> ir.Operation:
    module = npuflow.parse(SOURCE, npuflow.new_context())
    npuflow.run_pipeline(module, pipeline)
    (schedule,) = schedules_of(module.operation)
    return schedule


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_schedule_says_what_its_function_did(pipeline: str) -> None:
    schedule = scheduled(f"{pipeline}{{device=toy grid=1,2}},npuflow-project-engines")
    work = work_of(schedule)
    assert [one.sizes for one in work] == SIZES
    assert [one.strategy["grid"] for one in work] == [(1, 2), (1, 2)]


def test_strategies_that_are_assigned_again_are_noted_once() -> None:
    module = npuflow.parse(SOURCE, npuflow.new_context())
    assign = "npuflow-assign-strategy{device=toy grid=1,2}"
    npuflow.run_pipeline(module, f"npuflow-normalize-linalg,{assign}")
    once = str(module)
    npuflow.run_pipeline(module, assign)
    (function,) = npuflow.ops_of(module.operation, "func.func")
    assert [one.sizes for one in work_of(function)] == SIZES
    assert str(module) == once


def test_who_has_no_work_says_nothing() -> None:
    text = f"func.func @f(%a: tensor<4xi8>) -> tensor<4xi8> attributes {{{WORK} = 1}} {{ return %a : tensor<4xi8> }}"
    module = npuflow.parse(text, npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-assign-strategy{device=toy}")
    assert WORK not in str(module)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("7", r"7 : i64 is no list of dictionaries"),
        ("[1]", r"\[1\] is no list of dictionaries"),
        (f"[{{{MAPPED}}}]", "must have m, n, k, batch, lhs_bytes, rhs_bytes, acc_bytes, result_bytes and strategy"),
        ("[{macs = 1, needed_bytes = 1}]", "must have macs, needed_bytes and strategy"),
        (f"[{{macs = -1, needed_bytes = 1, {MAPPED}}}]", "macs is -1 : i64"),
        (f"[{{lost_in_dram_ns = -1, macs = 1, needed_bytes = 1, {MAPPED}}}]", "lost_in_dram_ns is -1 : i64"),
        (f'[{{macs = "1", needed_bytes = 1, {MAPPED}}}]', 'macs is "1"'),
        ("[{macs = 1, needed_bytes = 1, strategy = 2}]", "expected #npu.strategy<{...}>, got 2 : i64"),
    ],
)
def test_malformed_work_is_refused_where_it_stands(said: str, why: str) -> None:
    text = f"func.func @f() attributes {{{WORK} = {said}}} {{ return }}"
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = npuflow.ops_of(module.operation, "func.func")
    with pytest.raises(npuflow.InputError, match=f"{WORK} is malformed: .*{why}") as refused:
        work_of(function)
    place = refused.value.diagnostics[0].location
    assert place is not None
    assert place.line == 1
