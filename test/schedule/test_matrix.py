"""Every pipeline on types, awkward shapes, layouts and tails, through the functional simulator.

Each program on two devices by one pipeline each, compared with numpy; at night on all by all, compared with IREE.
"""

from __future__ import annotations

from functools import cache

import pytest
from profiles import NIGHTLY, spread

import npuflow
from npuflow.compiler.compiled_function import compile_schedule
from npuflow.compiler.verify_function import verify_function
from npuflow.execute.references import Judge, Reference, make_references
from npuflow.execute.verification import Status
from npuflow.schedule.ir.read_schedule import schedules_of
from npuflow.target import load_device
from npuflow.testing.numpy_reference import numpy_reference
from npuflow.testing.programs import TYPES, MatmulProgram, Tail, Transposed, Types

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
# Many blocks, cores and steps along K on the small device; what npuflow chooses on the others.
OPTIONS = {
    "toy": "{device=toy grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16}",
    "npu1": "{device=npu1}",
    "npu2": "{device=npu2}",
}
EVERYTHING = (Tail.BIAS, Tail.SCALE, Tail.RELU, Tail.TRUNCATE)


def programs_of(types: Types) -> list[MatmulProgram]:
    return [
        MatmulProgram(1, 1, 1, types),
        MatmulProgram(1, 40, 56, types),
        MatmulProgram(40, 1, 1, types),
        MatmulProgram(37, 41, 43, types),
        MatmulProgram(33, 65, 65, types, tails=(Tail.BIAS,)),
        MatmulProgram(24, 40, 56, types, batch=3),
        MatmulProgram(23, 39, 51, types, transposed=Transposed.LHS_BY_OP),
        MatmulProgram(23, 39, 51, types, batch=2, transposed=Transposed.RHS_BY_MAP),
        MatmulProgram(23, 39, 51, types, tails=EVERYTHING, one_op_per_tail=True),
        MatmulProgram(23, 39, 51, types, accumulate=True, tails=EVERYTHING),
    ]


# Types and rows are numbered so that a row meets another pipeline with the next type.
PROGRAMS = [(program, t + row) for t, types in enumerate(TYPES) for row, program in enumerate(programs_of(types))]


@cache
def reference_of(program: MatmulProgram) -> Reference:
    if not NIGHTLY:
        return numpy_reference(program)
    module = npuflow.parse(program.text(), npuflow.new_context())
    (reference,) = make_references(module.operation, "", 0, Judge.IREE)
    return reference


def wrong(program: MatmulProgram, pipeline: str, device: str) -> str | None:
    """What is wrong with the functional run; None if nothing is."""
    module = npuflow.parse(program.text(), npuflow.new_context())
    npuflow.run_pipeline(module, f"{pipeline}{OPTIONS[device]},npuflow-project-engines")
    (schedule,) = schedules_of(module.operation)
    function = compile_schedule(module, schedule, load_device(device), program.signature)
    verified = verify_function(function, reference_of(program))
    return (
        None if verified.status is Status.OK else f"{pipeline} on {device}: {verified.message} {verified.hazards[:1]}"
    )


@pytest.mark.parametrize(("program", "number"), PROGRAMS, ids=str)
def test_the_array_computes_the_same(program: MatmulProgram, number: int) -> None:
    small, *others = OPTIONS
    # A program meets each of the others with half of the types, by pipelines that differ from type to type.
    devices = [small, *spread(number, others)]
    runs = [(pipeline, name) for shift, name in enumerate(devices) for pipeline in spread(number + shift, PIPELINES)]
    found = [wrong(program, pipeline, name) for pipeline, name in runs]
    assert [text for text in found if text] == []
