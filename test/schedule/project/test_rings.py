"""Buffers of a core have two semaphores each while locks last, and are handed over together when there are too few."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status
from npuflow.schedule.check.capacity import lacks_locks
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Acquire, Each, Engine, Receive, Release, Repeat, Schedule, Step
from npuflow.schedule.nest.nest import (
    L1,
    L3,
    Allocate,
    BufferInfo,
    Dimension,
    End,
    Factor,
    Kernel,
    Nest,
    Statement,
    Transfer,
)
from npuflow.schedule.project.lanes import lanes_from_l3
from npuflow.schedule.project.rings import Rings
from npuflow.schedule.project.routes import Routes
from npuflow.target import KernelClass, load_device
from npuflow.testing.operator_rows import Elementwise, Pairwise
from npuflow.testing.programs import Types

DEVICE = load_device("npu1")


def schedule_of(inputs: int, rows: int = 32) -> Schedule:
    program = Elementwise((rows, 48), ((0, 1),) * inputs, Pairwise.ADD, Types("i32", "i32"))
    (function,) = npuflow.compile(program.text(), device=DEVICE.name, split=False).functions
    return function.compiled.schedule


def steps_of(steps: Sequence[Step]) -> list[Step]:
    """All steps but loops, in order."""
    return [inner for step in steps for inner in (steps_of(step.body) if isinstance(step, (Each, Repeat)) else [step])]


def engines(schedule: Schedule, stage: str) -> list[Engine]:
    return [engine for engine in schedule.engines.values() if engine.stage.name == stage]


@pytest.mark.parametrize("inputs", [2, 7])
def test_buffers_have_semaphores_of_their_own(inputs: int) -> None:
    schedule = schedule_of(inputs)
    (core,) = engines(schedule, "core")
    assert sum(isinstance(step, Acquire) for step in steps_of(core.program)) == inputs + 1
    assert sum(isinstance(step, Release) for step in steps_of(core.program)) == inputs + 1


@pytest.mark.parametrize("inputs", [8, 11])
def test_a_lane_hands_over_all_of_its_buffers_at_once(inputs: int) -> None:
    schedule = schedule_of(inputs)
    assert not lacks_locks(schedule, DEVICE)
    (core,) = engines(schedule, "core")
    lanes = engines(schedule, "core_in")
    assert len(lanes) == 2
    assert sum(isinstance(step, Acquire) for step in steps_of(core.program)) == len(lanes) + 1
    for lane in lanes:
        kinds = [type(step) for step in steps_of(lane.program)]
        assert kinds == [Acquire, *[Receive] * (len(kinds) - 2), Release]
    assert sum(isinstance(step, Receive) for lane in lanes for step in steps_of(lane.program)) == inputs


def test_what_one_op_makes_for_the_next_is_not_handed_over_with_its_result() -> None:
    """Two ops in one schedule, their results filled by one engine right after each other: together they would wait."""
    schedule = schedule_of(13, rows=8)
    (results,) = engines(schedule, "result_out")
    acquired = [step.semaphore.name for step in steps_of(results.program) if isinstance(step, Acquire)]
    of_buffers = [name for name in acquired if schedule.semaphores[name].cause == "data"]
    assert len(set(of_buffers)) == 2


def test_what_one_engine_empties_meanwhile_is_not_handed_over_with_more() -> None:
    """A matrix engine is through with its first weights before others come, which a vector engine knows nothing of."""
    one = Dimension((Factor(8, 1, 1, 1),))
    outside = [BufferInfo(f"arg{number}", L3, (8,), "i8", 1, None) for number in range(3)]
    inside = [BufferInfo(f"l1_{number}", L1, (8,), "i8", 1, None) for number in range(3)]
    body: list[Statement] = []
    for number, (there, here) in enumerate(zip(outside, inside)):
        fill = Transfer(End(there, Affine()), End(here, Affine()), (one,), False, None, key=number)
        body += [Allocate(here), fill, Kernel(number, "matmul", "", (here,), (), None)]
    nest = Nest("f", body=body)
    classes = dict(enumerate((KernelClass.MATRIX, KernelClass.MATRIX, KernelClass.VECTOR)))
    routes = Routes(nest, load_device("toy-scratchpad"), classes, given=lanes_from_l3(nest, 1))
    assert Rings(nest, routes, {}, are_shared=True).groups == {}


BEGUN = """
#read = affine_map<(h, w, o, i, j, c) -> (h + i, w + j, c)>
#weights = affine_map<(h, w, o, i, j, c) -> (i, j, c, o)>
#sum = affine_map<(h, w, o, i, j, c) -> (h, w, o)>
#along = affine_map<(h, w, o) -> (o)>
#id = affine_map<(h, w, o) -> (h, w, o)>
func.func @begun(%x: tensor<18x18x32xbf16>, %w: tensor<3x3x32x64xbf16>, %bias: tensor<64xf32>, %y: tensor<16x16x64xf32>)
    -> tensor<16x16x64xf32> {
  %empty = tensor.empty() : tensor<16x16x64xf32>
  %start = linalg.generic {indexing_maps = [#along, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%bias : tensor<64xf32>) outs(%empty : tensor<16x16x64xf32>) {
  ^bb0(%b: f32, %out: f32):
    %size = math.absf %b : f32
    linalg.yield %size : f32
  } -> tensor<16x16x64xf32>
  %sum = linalg.generic {indexing_maps = [#read, #weights, #sum],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<18x18x32xbf16>, tensor<3x3x32x64xbf16>) outs(%start : tensor<16x16x64xf32>) {
  ^bb0(%p: bf16, %q: bf16, %acc: f32):
    %left = arith.extf %p : bf16 to f32
    %right = arith.extf %q : bf16 to f32
    %product = arith.mulf %left, %right : f32
    %more = arith.addf %acc, %product : f32
    linalg.yield %more : f32
  } -> tensor<16x16x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sum, %y : tensor<16x16x64xf32>, tensor<16x16x64xf32>) outs(%empty : tensor<16x16x64xf32>) {
  ^bb0(%s: f32, %o: f32, %out: f32):
    %both = arith.addf %s, %o : f32
    linalg.yield %both : f32
  } -> tensor<16x16x64xf32>
  return %r : tensor<16x16x64xf32>
}
"""


@pytest.mark.parametrize("disable", [(), ("engines",)])
def test_an_engine_comes_back_to_a_sum_that_it_began(disable: tuple[str, ...]) -> None:
    """From the vector engine to the matrix engine and back; that it may begin anew, the vector engine knows itself."""
    compiled = npuflow.compile(BEGUN, device="npu4.0:1x1", disable=disable)
    (function,) = compiled.functions
    schedule = function.compiled.schedule
    handed = [s for s in schedule.semaphores if "vector_to_matrix" in s or "matrix_to_vector" in s]
    assert len(handed) == 2
    assert len({name.split("_vector")[0].split("_matrix")[0] for name in handed}) == 1
    (reported,) = compiled.run(judge=JUDGE).functions
    assert reported.verified.status is Status.OK, reported.verified


def test_engines_read_a_mask_side_by_side() -> None:
    """A tail and the pool behind it, in a loop over columns: in turn, each would wait for the other to be through."""
    text = (Path(__file__).parents[1] / "Inputs" / "read_by_both.mlir").read_text()
    compiled = npuflow.compile(text, "npuflow-stream-k{window-tiles=16,4}", device="npu4.0:1x1")
    (function,) = compiled.functions
    schedule = function.compiled.schedule
    masks = [b.name for b in schedule.buffers.values() if b.level == 1 and b.element_type == "i8" and b.shape == (33,)]
    (mask,) = masks
    handed = {name for name in schedule.semaphores if name.startswith(f"{mask}_")}
    reading = {f"{mask}_scratchpad_in0_to_{engine}" for engine in ("matrix", "vector")}
    assert handed == reading | {f"{mask}_{engine}_to_scratchpad_in0" for engine in ("matrix", "vector")}
    (reported,) = compiled.run(judge=JUDGE).functions
    assert reported.verified.status is Status.OK, reported.verified
