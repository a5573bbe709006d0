"""Every stage of every pipeline can be stopped after, leaves valid IR, and its passes run alone give the same."""

from __future__ import annotations

import pytest

import npuflow
import npuflow.pipelines  # registers them
from npuflow.bindings import ir
from npuflow.core.expansion import expand_stage
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.registry import PIPELINES
from npuflow.core.runner import Runner

NAMES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
OPTIONS = "{device=toy grid=2,2 tile-l2=16,32,32 tile-l1=8,16,16 pack=4,8,8}"
SOURCE = """
#same = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<30x70xi32>, %b: tensor<70x50xi32>, %c: tensor<30x50xi32>, %x: tensor<50xi32>)
    -> tensor<30x50xi32> {
  %e = tensor.empty() : tensor<30x50xi32>
  %r = linalg.matmul ins(%a, %b : tensor<30x70xi32>, tensor<70x50xi32>) outs(%c : tensor<30x50xi32>)
      -> tensor<30x50xi32>
  %t = linalg.generic {indexing_maps = [#same, affine_map<(m, n) -> (n)>, #same],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %x : tensor<30x50xi32>, tensor<50xi32>) outs(%e : tensor<30x50xi32>) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %s = arith.addi %p, %q : i32
    linalg.yield %s : i32
  } -> tensor<30x50xi32>
  return %t : tensor<30x50xi32>
}
"""
STAGES = [(name, stage.name) for name in NAMES for stage in PIPELINES[name]().stages()]


def stopped(name: str, stage: str) -> ir.Module:
    module = npuflow.parse(SOURCE, npuflow.new_context())
    Runner(parse_pipeline(name + OPTIONS), stop_after=stage).run(module)
    return module


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_the_ir_after_each_stage_prints_parses_and_verifies(name: str, stage: str) -> None:
    module = stopped(name, stage)
    again = npuflow.parse(str(module), npuflow.new_context())
    assert str(again) == str(module)


@pytest.mark.parametrize("name", NAMES)
def test_stages_one_by_one_give_what_the_pipeline_gives(name: str) -> None:
    """Each stage's passes are run on the printed IR of the one before, as a user does with npuflow-opt."""
    (pipeline,) = parse_pipeline(name + OPTIONS).elements
    text = SOURCE
    for stage in pipeline.instance.stages():
        module = npuflow.parse(text, npuflow.new_context())
        passes = ",".join(str(node) for node in expand_stage(stage))
        npuflow.run_pipeline(module, f"builtin.module({passes})")
        text = str(module)
    assert text == str(stopped(name, "check-memory"))
