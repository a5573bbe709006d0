"""Programs that are timed in a copy of one like them take as long as those that are encoded anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

import npuflow
from npuflow.errors import InputError
from npuflow.report.losses import COSTS, WhatIf, without_launch
from npuflow.simulate.encode_alike import EncodedModel
from npuflow.simulate.program import FlatControl, Program
from npuflow.simulate.run import cycles_like, cycles_of_run, simulate
from npuflow.simulate.walk import with_steps

MATMUL = """
func.func @f(%a: tensor<64x96xbf16>, %b: tensor<96x200xbf16>) -> tensor<64x200xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x200xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x200xf32>) -> tensor<64x200xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x96xbf16>, tensor<96x200xbf16>)
                     outs(%f : tensor<64x200xf32>) -> tensor<64x200xf32>
  return %r : tensor<64x200xf32>
}
"""
FUNCTION = npuflow.compile(MATMUL, device="npu2").functions[0].compiled
PROGRAM = FUNCTION.program
MODEL = EncodedModel.of(PROGRAM)


def first_control(program: Program) -> Program:
    """The program with one more step in front of an engine's."""
    engine, *others = program.engines
    return replace(program, engines=(replace(engine, body=(FlatControl(100), *engine.body)), *others))


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: cost.name)
def test_programs_with_other_numbers_take_as_long(cost: WhatIf) -> None:
    program = cost.without(FUNCTION)
    assert cycles_like(MODEL, program) == simulate(program).cycles


def test_the_model_stays_as_it_is() -> None:
    known = simulate(PROGRAM).cycles
    assert cycles_like(MODEL, without_launch(PROGRAM)) < known
    assert cycles_like(MODEL, PROGRAM) == known


def test_other_numbers_are_written_over_those_of_all_that_is_alike() -> None:
    later = with_steps(PROGRAM, (FlatControl,), lambda step: replace(step, cycles=5000))
    assert cycles_like(MODEL, later) == simulate(later).cycles != simulate(PROGRAM).cycles


def test_programs_with_other_steps_are_encoded_anew() -> None:
    longer = first_control(PROGRAM)
    assert cycles_like(MODEL, longer) == simulate(longer).cycles
    fewer = replace(PROGRAM, memories=PROGRAM.memories[:1])
    with pytest.raises(InputError, match="unknown memory"):
        cycles_like(MODEL, fewer)


def test_numbers_that_are_wrong_are_told() -> None:
    first, *others = PROGRAM.resources
    with pytest.raises(InputError, match=first.name):
        cycles_like(MODEL, replace(PROGRAM, resources=(replace(first, bytes_per_cycle=-1.0), *others)))


def test_cycles_alone_are_those_of_a_run() -> None:
    assert cycles_of_run(PROGRAM) == simulate(PROGRAM).cycles


def test_steps_of_an_encoded_program_are_told_by_name() -> None:
    steps = MODEL.encoded.steps
    assert {step.kind for step in steps} >= {"loop", "acquire", "release", "send", "receive", "compute", "control"}
    assert all(step.name == "loop" for step in steps if step.kind == "loop")
    assert [step.engine for step in steps] == sorted(step.engine for step in steps)
