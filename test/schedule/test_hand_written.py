"""A schedule by hand is timed, executed, and each fault put into it is caught and named."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from npuflow.schedule.ir.read_schedule import read_schedule, schedules_of
from npuflow.simulate.flatten import flatten
from npuflow.simulate.kernel_functions import compile_schedule_kernels
from npuflow.simulate.run import execute, simulate
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parent))

from hand_written import TEXT, changed, errors, parsed, without

TOY = load_device("toy")


def test_it_is_right() -> None:
    assert errors(TEXT) == []


def test_its_time_is_what_paper_says() -> None:
    # 256 bytes at 4 a cycle are 64 cycles a hop, and a link's latency is paid where a sender has been idle. The core,
    # with 100 cycles a tile, is the slowest: 8 of those, two hops before the first, two after the last.
    module = parsed()
    (schedule,) = schedules_of(module.operation)
    device = load_device("toy")
    hop = [64 + device.link(outer, inner).latency_cycles for outer, inner in ((3, 2), (2, 1))]
    results = simulate(flatten(read_schedule(schedule, device), device))
    assert results.cycles == sum(hop) + 8 * 100 + sum(hop)


def test_it_computes() -> None:
    module = parsed()
    (op,) = schedules_of(module.operation)
    program = flatten(read_schedule(op, TOY), TOY)
    kernels = compile_schedule_kernels(op, program)
    x = np.arange(-256, 256, dtype=np.int32)
    executed = execute(program, {"x": x}, kernels)
    np.testing.assert_array_equal(executed.memories["y"].view(np.int32), x * x)
    assert executed.results.hazards == ()


TWO_SLOTS = 'initial = 2 : i64, maximum = 2 : i64, cause = "space"'
FAULTS = {
    "a missing wait": (
        without("npu.acquire", "memory_out"),
        "semaphore 'x2_full[0]' is acquired 0 times and released 8 times",
    ),
    "nobody waits for data": (
        without("@x2_full", "memory_in", without("@x2_full", "memory_out")),
        "semaphore 'x2_empty[0]' can grow without a bound, above its maximum of 2",
    ),
    "nobody waits for anything": (
        without("semaphore =", "memory_in", without("semaphore =", "memory_out")),
        "race: 'send x2_to_x1[0]' of 'memory_out' (column 0) touches bytes 0 to 255 of 'L2 0'",
    ),
    "a lock that is never released": (
        without("npu.release", "memory_out"),
        "semaphore 'x2_empty[0]' is acquired 8 times and released 0 times (acquired by 'memory_in' (column 0)",
    ),
    "nobody waits for room": (
        without("@x2_empty", "memory_in", without("@x2_empty", "memory_out")),
        "semaphore 'x2_full[0]' can grow without a bound, above its maximum of 2",
    ),
    "nobody waits for room, of what has brackets in its name": (
        changed(
            ('"x2_full"', '"x2[full]"'),
            ("@x2_full", '@"x2[full]"'),
            text=without("@x2_empty", "memory_in", without("@x2_empty", "memory_out")),
        ),
        "semaphore 'x2[full][0]' can grow without a bound, above its maximum of 2",
    ),
    "more room than there is": (
        changed(
            (
                f'"x1_empty", span = ["row", "column"], {TWO_SLOTS}',
                '"x1_empty", span = ["row", "column"], initial = 3 : i64, maximum = 3 : i64, cause = "space"',
            )
        ),
        "semaphore 'x1_full[0,0]' can reach 3, above its maximum of 2",
    ),
    "a buffer used again too early": (
        changed(
            (
                '"x1_full", span = ["row", "column"], initial = 0 : i64, maximum = 2',
                '"x1_full", span = ["row", "column"], initial = 0 : i64, maximum = 3',
            ),
            (
                f'"x1_empty", span = ["row", "column"], {TWO_SLOTS}',
                '"x1_empty", span = ["row", "column"], initial = 3 : i64, maximum = 3 : i64, cause = "space"',
            ),
        ),
        "race: 'receive x2_to_x1[0]' of 'core_in' (row 0, column 0) touches bytes 0 to 255 of 'L1 (0,0)'",
    ),
    "a wrong address": (
        changed(
            ("address = affine_map<(d0, d1) -> (512)>", "address = affine_map<(d0, d1) -> (256)>"),
        ),
        "'x1' up to byte 512 and 'y1' from byte 256 overlap in core (0,0)",
    ),
    "an offset outside": (
        changed(("(d1 * 64)", "(d1 * 64 + 64)"), function="shim_in"),
        "'shim_in' reaches elements 64 to 575 of 'y', a slot of which has 512",
    ),
    "an offset inside, but wrong": (
        changed(("(d1 * 64)", "(0)"), function="shim_in"),
        "'receive y2_to_y3[0]' of 'shim_in' (column 0) overwrites bytes 0 to 255 of 'y'",
    ),
    "a wrong slot": (
        changed(
            ("slot = affine_map<(d0, d1, d2) -> (d2)>", "slot = affine_map<(d0, d1, d2) -> (d2 + 1)>"),
            function="core_in",
        ),
        "'elementwise' of 'core' (row 0, column 0) reads bytes 0 to 255 of 'L1 (0,0)'",
    ),
    "a cyclic wait": (
        changed(
            (
                f'"y1_empty", span = ["row", "column"], {TWO_SLOTS}',
                '"y1_empty", span = ["row", "column"], initial = 0 : i64, maximum = 2 : i64, cause = "space"',
            )
        ),
        "'core' (row 0, column 0) waits at 'acquire y1_empty[0,0]' for 1 of semaphore 'y1_empty[0,0]' (has 0)",
    ),
    "two engines at one semaphore": (
        changed(("@y1_empty", "@x1_empty"), function="core"),
        "is acquired by 'core_in' (row 0, column 0) and 'core' (row 0, column 0); who comes first",
    ),
    "fewer sends than receives": (
        changed(("%c8 = arith.constant 8", "%c8 = arith.constant 7"), function="shim_out"),
        "'memory_in' (column 0) waits at 'receive x3_to_x2[0]'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_and_named(fault: str) -> None:
    text, expected = FAULTS[fault]
    found = errors(text)
    assert any(expected in message for message in found), "\n".join(found)
    assert all(re.match(r"-:\d+:\d+: error: ", message) for message in found)
    assert all("; hint: " in message for message in found)
