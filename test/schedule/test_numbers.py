"""Channels, descriptors and locks are assigned once for all like places, kept where said, and checked."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from npuflow.schedule.assign.assign_numbers import numbered, transfers_of
from npuflow.schedule.data.model import Descriptors, Schedule
from npuflow.schedule.ir.read_schedule import read_schedule, schedules_of
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parent))

from hand_written import TEXT, changed, errors, parsed

TOY = load_device("toy")


def schedule(text: str = TEXT) -> Schedule:
    (op,) = schedules_of(parsed(text).operation)
    return read_schedule(op, TOY)


def descriptors(whole: Schedule, engine: str) -> list[Descriptors | None]:
    return [transfer.descriptors for transfer in transfers_of(whole.engines[engine].program)]


def with_channels(numbers: str, engine: str, text: str = TEXT) -> str:
    return changed(('span = ["', f'channels = {numbers}, span = ["'), function=engine, text=text)


def with_descriptors(first: str, count: int, engine: str, text: str = TEXT) -> str:
    said = f"npu.descriptors = {{first = {first}, count = {count} : i64}}"
    return changed(("zeros = false", f"zeros = false, {said}"), function=engine, text=text)


def with_locks(numbers: str, semaphore: str, text: str = TEXT) -> str:
    name = f'sym_name = "{semaphore}"'
    return changed((name, f"{name}, npu.locks = {numbers}"), text=text)


def test_what_nobody_says_is_assigned() -> None:
    whole = numbered(schedule(), TOY)
    # A lane's number is its channel's; behind the two lanes come a row's results, and they leave behind lane 1.
    assert {name: engine.channels for name, engine in whole.engines.items()} == {
        "shim_out": (1,),
        "memory_in": (1,),
        "memory_out": (0,),
        "core_in": (1,),
        "core": (),
        "core_out": (0,),
        "result_in": (2,),
        "result_out": (1,),
        "shim_in": (0,),
    }
    # Two slots take two descriptors: of the memory tile's 48, even channels have 0 to 23, odd ones 24 to 47.
    assert descriptors(whole, "memory_out") == [Descriptors((0,), 2)]
    assert descriptors(whole, "result_in") == [Descriptors((2,), 2)]
    assert descriptors(whole, "memory_in") == [Descriptors((24,), 2)]
    assert descriptors(whole, "result_out") == [Descriptors((26,), 2)]
    # A core's 16 are for all of its channels, as a shim's are.
    assert descriptors(whole, "core_in") + descriptors(whole, "core_out") == [
        Descriptors((0,), 2),
        Descriptors((2,), 2),
    ]
    assert {name: semaphore.locks for name, semaphore in whole.semaphores.items()} == {
        "x2_full": (0,),
        "x2_empty": (1,),
        "y2_full": (2,),
        "y2_empty": (3,),
        "x1_full": (0,),
        "x1_empty": (1,),
        "y1_full": (2,),
        "y1_empty": (3,),
    }


def test_what_is_said_stays_and_others_go_around_it() -> None:
    text = with_locks("[1]", "x2_full", with_descriptors("[1]", 2, "result_in", with_channels("[4]", "result_in")))
    assert errors(text) == []
    whole = numbered(schedule(text), TOY)
    assert whole.engines["result_in"].channels == (4,)
    assert descriptors(whole, "result_in") == [Descriptors((1,), 2)]
    assert descriptors(whole, "memory_out") == [Descriptors((3,), 2)]
    locks = {name: semaphore.locks for name, semaphore in whole.semaphores.items()}
    assert (locks["x2_full"], locks["x2_empty"], locks["y2_full"]) == ((1,), (0,), (2,))


def test_assigning_again_changes_nothing() -> None:
    whole = numbered(schedule(), TOY)
    assert numbered(whole, TOY) == whole


def test_rows_beside_one_memory_have_a_number_each() -> None:
    rows = replace(schedule(), extents={"row": 2, "column": 1, "tile": 1, "part": 2})
    whole = numbered(rows, TOY)
    assert whole.engines["result_in"].channels == (2, 3)
    assert whole.engines["core_in"].channels == (1,)
    # The second row's channel is odd, and so are its descriptors.
    assert descriptors(whole, "result_in") == [Descriptors((2, 26), 2)]
    # A row's results have a lock of their own; behind the two of x2, which all rows share.
    assert whole.semaphores["y2_full"].locks == (2, 3)


WRONG = {
    "a channel that is another's": (
        with_channels("[1]", "result_in"),
        "in-channel 1 of memory tile 0 is both 'memory_in' and 'result_in'",
    ),
    "a channel that isn't there": (
        with_channels("[6]", "result_in"),
        "memory tile 0 needs 7 in-channels for 'result_in', has 6",
    ),
    "too many channels": (
        with_channels("[2, 3]", "result_in"),
        "'result_in' has 2 channels, and 1 of it are beside one memory",
    ),
    "a channel of a core": (with_channels("[0]", "core"), "'core' of stage core has channels [0]"),
    "channels that are no numbers": (with_channels('["a"]', "result_in"), 'channels of npu.engine is ["a"]'),
    "a negative channel": (with_channels("[-1]", "result_in"), "channels of npu.engine is [-1]"),
    "descriptors of the other parity": (
        with_descriptors("[24]", 2, "result_in"),
        "'result_in' takes descriptors 24 to 25 of memory tile 0; hint: channel 2 can have 0 to 23",
    ),
    "descriptors beyond the last": (
        with_descriptors("[15]", 2, "core_in"),
        "'core_in' takes descriptors 15 to 16 of core (0,0); hint: channel 1 can have 0 to 15",
    ),
    "descriptors of another transfer": (
        with_descriptors("[3]", 2, "core_out", with_descriptors("[2]", 2, "core_in")),
        "transfer 0 of 'core_in' and transfer 0 of 'core_out' both take descriptor 3 of core (0,0)",
    ),
    "too few descriptors": (
        with_descriptors("[0]", 1, "core_in"),
        "'core_in' has 1 descriptors for 'x1', which takes 2",
    ),
    "descriptors for channels that it hasn't": (
        with_descriptors("[0, 2]", 2, "core_in"),
        "a transfer of 'core_in' has 2 first descriptors for 1 channels of a memory",
    ),
    "descriptors that are no numbers": (with_descriptors('"a"', 2, "core_in"), "first of npu.descriptors is"),
    "no descriptors": (with_descriptors("[0]", 0, "core_in"), "npu.descriptors is"),
    "a lock that is another's": (
        with_locks("[3]", "x2_full", with_locks("[3]", "y2_empty")),
        "'x2_full' and 'y2_empty' both take lock 3 of memory tile 0; hint: number them apart",
    ),
    "a lock that isn't there": (
        with_locks("[16]", "x1_full"),
        "semaphore 'x1_full' is lock 16 of core (0,0), which has 16; hint: number locks from 0 to 15",
    ),
    "too many locks": (with_locks("[0, 1]", "x1_full"), "semaphore 'x1_full' has 2 locks, and 1 of it lie in one"),
    "locks that are no numbers": (with_locks("unit", "x1_full"), "npu.locks is unit"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_numbers_are_refused(name: str) -> None:
    text, expected = WRONG[name]
    found = errors(text)
    assert any(expected in message for message in found), "\n".join(found)
    assert all(message.startswith("-:") for message in found), "\n".join(found)
