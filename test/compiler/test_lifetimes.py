"""Functions whose buffers fit in each other's place only: what check-memory accepts has room, and waits for it."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

import npuflow
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.compiler.verify_function import verify_function
from npuflow.core.parsing import parse
from npuflow.dialect.context import new_context
from npuflow.execute.arrays import functions_of
from npuflow.execute.data import arrays_for
from npuflow.execute.references import make_reference
from npuflow.execute.verification import Status
from npuflow.schedule.check.capacity import capacity_violations
from npuflow.schedule.data.addresses import assign_addresses
from npuflow.schedule.data.model import Acquire, Buffer, Each, Release, Repeat, Schedule, Step
from npuflow.schedule.data.order import Order
from npuflow.simulate.faults import faults
from npuflow.simulate.flatten import flatten
from npuflow.simulate.results import HazardKind
from npuflow.target import Device
from npuflow.testing.operator_rows import Centre, Norm
from npuflow.testing.operator_steps import ElementwiseStep
from npuflow.testing.programs import Types

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program


def two_matmuls(size: int) -> str:
    p = Program("two_matmuls")
    value = p.matmul(p.argument(size, size), p.argument(size, size))
    return p.text(p.matmul(value, p.argument(size, size)))


def side_by_side(size: int) -> str:
    """Two matmuls of which neither reads what the other writes."""
    p = Program("side_by_side")
    results = [p.matmul(p.argument(size, size), p.argument(size, size)) for _ in range(2)]
    return p.text(*results)


def softmax_and_matmul(rows: int, columns: int) -> str:
    p = Program("softmax_and_matmul")
    return p.text(p.matmul(p.softmax(p.argument(rows, columns)), p.argument(columns, rows)))


def conv_and_pool(size: int, channels: int) -> str:
    p = Program("conv_and_pool")
    value = p.conv(p.argument(1, size, size, channels), p.argument(3, 3, channels, channels))
    return p.text(p.pool(p.padded(value, 1), 3))


# All refused before buffers took each other's place: L1 of toy's cores has 32 KiB.
CROWDED = {
    "two matmuls": two_matmuls(128),
    "two matmuls side by side": side_by_side(128),
    "softmax and matmul": softmax_and_matmul(192, 384),
    "conv and pool": conv_and_pool(40, 32),
}


@cache
def whole(text: str) -> CompiledFunction:
    """The one function of a program, which must not come apart."""
    compiled = npuflow.compile(text, "npuflow-stream-k", device="toy", split=False).functions[0].compiled
    assert isinstance(compiled, CompiledFunction)
    return compiled


def hazards(function: CompiledFunction) -> list[HazardKind]:
    """Those in L1."""
    inputs = arrays_for(function.op, function.signature.inputs, 0)
    return [h.kind for h in faults(execute_function(function, inputs).results) if h.memory.startswith("L1")]


def end(buffer: Buffer) -> int:
    return buffer.address.base + buffer.slot_bytes * buffer.depth


def in_one_place(schedule: Schedule) -> list[tuple[str, str]]:
    """The pairs of buffers in L1 that have bytes in common."""
    buffers = [buffer for buffer in schedule.buffers.values() if buffer.level == 1]
    pairs = [pair for pair in combinations(buffers, 2) if min(map(end, pair)) > max(b.address.base for b in pair)]
    return [(one.name, other.name) for one, other in pairs]


def waits(steps: Sequence[Step]) -> list[int]:
    """Where the control processor waits for results and goes on: it takes and gives back, and sets nothing up."""
    return [n for n, step in enumerate(steps) if {type(inner) for inner in leaves(step)} == {Acquire, Release}]


def leaves(step: Step) -> list[Step]:
    return [leaf for one in step.body for leaf in leaves(one)] if isinstance(step, (Repeat, Each)) else [step]


def without_waits(function: CompiledFunction) -> CompiledFunction:
    """The control processor sets everything up at once."""
    schedule = function.schedule
    control = schedule.engines["control"]
    assert waits(control.program), "no wait to leave out"
    program = tuple(s for number, s in enumerate(control.program) if number not in waits(control.program))
    broken = replace(schedule, engines={**schedule.engines, "control": replace(control, program=program)})
    return replace(function, schedule=broken, program=flatten(broken, function.device))


@pytest.mark.parametrize("name", CROWDED)
def test_groups_that_follow_each_other_share_room(name: str) -> None:
    function = whole(CROWDED[name])
    assert in_one_place(function.schedule), "fits apart: no case for this test"
    module = parse(CROWDED[name], new_context())
    reference = make_reference(module.operation, next(functions_of(module.operation)), 0)
    verified = verify_function(function, reference)
    assert (verified.status, verified.hazards) == (Status.OK, ()), verified
    assert hazards(function) == []


@pytest.mark.parametrize(
    ("device", "length", "tails"),
    [
        ("toy", 2048, (ElementwiseStep.SILU, ElementwiseStep.TRUNCATE)),
        ("toy", 1700, ()),
        ("npu1", 4099, (ElementwiseStep.SILU, ElementwiseStep.TRUNCATE)),
    ],
)
def test_cores_that_get_nothing_wait_for_nobody(device: str, length: int, tails: tuple[ElementwiseStep, ...]) -> None:
    """One row for several cores: all but one of them have zeros sent, which come before anything else is done."""
    text = Norm((length,), Centre.LAYER, Types("f32", "f32"), tails=tails).text()
    compiled = npuflow.compile(text, device=device)
    assert [hazards(function.compiled) for function in compiled.functions] == [[]] * len(compiled.functions)


@pytest.mark.parametrize("name", CROWDED)
def test_a_wait_that_is_left_out_is_noticed(name: str) -> None:
    """By the check of memories, from the schedule alone, and by the run."""
    function = whole(CROWDED[name])
    assert capacity_violations(function.schedule, function.device, CodeBytes()) == []
    broken = without_waits(function)
    found = capacity_violations(broken.schedule, broken.device, CodeBytes())
    assert found
    assert all("overlap in core (0,0)" in violation.what for violation in found), found
    assert HazardKind.RACE in hazards(broken)


def without(name: str, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps but those that take or give of a semaphore, and loops with nothing else."""
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, (Repeat, Each)):
            body = without(name, step.body)
            kept += [replace(step, body=body)] if body else []
        elif not isinstance(step, (Acquire, Release)) or step.semaphore.name != name:
            kept.append(step)
    return tuple(kept)


def races(function: CompiledFunction, schedule: Schedule, device: Device) -> bool | None:
    """Whether a run of the schedule has a race in L1; None where it comes to no end."""
    try:
        program = flatten(schedule, device)
        return HazardKind.RACE in hazards(replace(function, schedule=schedule, device=device, program=program))
    except npuflow.InputError:
        return None


@pytest.mark.parametrize("name", ["two matmuls side by side", "softmax and matmul"])
def test_places_overlap_in_order_just_where_runs_have_no_races_for_it(name: str) -> None:
    """Without one semaphore or another: races that are none where all buffers lie apart are those of shared places."""
    function = whole(CROWDED[name])
    roomy = with_l1(function.device, 1 << 20)
    told = []
    for semaphore in function.schedule.semaphores:
        engines = {
            key: replace(engine, program=without(semaphore, engine.program))
            for key, engine in function.schedule.engines.items()
        }
        broken = replace(function.schedule, engines=engines, buffers=dict(function.schedule.buffers))
        apart = replace(broken, buffers=dict(broken.buffers))
        assert assign_addresses(apart, roomy)
        outcome = races(function, broken, function.device)
        if outcome is not None and not races(function, apart, roomy):
            violations = capacity_violations(broken, function.device, CodeBytes())
            told.append(any("overlap" in violation.what for violation in violations))
            assert told[-1] == outcome, semaphore
    assert set(told) == {False, True}, "no semaphore that decides, or none that doesn't"


class CodeBytes(dict[str, int]):
    """Kernels whose size doesn't matter."""

    def __missing__(self, key: str) -> int:
        return 0


def test_what_fits_apart_lies_apart_and_waits_for_nothing_else() -> None:
    function = whole(side_by_side(64))
    assert in_one_place(function.schedule) == []
    assert waits(function.schedule.engines["control"].program) == []


def with_l1(device: Device, size: int) -> Device:
    levels = tuple(replace(level, bytes=size) if level.number == 1 else level for level in device.levels)
    return replace(device, levels=levels)


def test_what_has_no_room_in_turn_either_is_said_with_who_is_there_together() -> None:
    """Apart, two matmuls take 64 KiB; each of the two 32."""
    function = whole(CROWDED["two matmuls"])
    schedule = replace(function.schedule, buffers=dict(function.schedule.buffers))
    small = with_l1(function.device, 20 << 10)
    assert not assign_addresses(schedule, small)
    (found,) = capacity_violations(schedule, small, CodeBytes())
    order = Order(schedule)
    in_l1 = [buffer for buffer in schedule.buffers.values() if buffer.level == 1]
    need = max(map(end, in_l1))
    assert found.what.startswith(f"L1 of core (0,0) needs {need} bytes, has {20 << 10} (")
    tops = [buffer for buffer in in_l1 if end(buffer) == need]
    there = [[b.name for b in in_l1 if not order.is_ordered(b.name, top.name)] for top in tops]
    assert any(all(name in found.what for name in names[:3]) for names in there)
    assert need < sum(b.slot_bytes * b.depth for b in in_l1)


def drawn(seed: int) -> str:
    """Two groups of ops, or three, of which some read what others write."""
    draw = random.Random(seed)
    p = Program("drawn")
    rows = draw.choice([64, 96, 128])
    value = p.argument(rows, draw.choice([64, 128, 200]))
    for _ in range(2):
        columns = draw.choice([64, 96, 128])
        kind = draw.choice(["chained", "beside", "softmax"])
        read = p.argument(*p.shapes[value]) if kind == "beside" else value
        product = p.matmul(read, p.argument(p.shapes[read][1], columns))
        value = p.softmax(product) if kind == "softmax" else product
    return p.text(value)


@pytest.mark.parametrize("seed", range(12))
def test_what_check_memory_accepts_has_room(seed: int) -> None:
    """No group of these needs more than its own room; and what shares a place does so in order."""
    assert hazards(whole(drawn(seed))) == []
