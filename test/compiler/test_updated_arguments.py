"""Arguments that calls write into: one tensor, of which as much is moved as is written, and all if it is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from npuflow.compiler.sequence import run_calls
from npuflow.execute.arrays import Array
from npuflow.network.calls import Call, CallList
from npuflow.network.plan import ValueRole, plan_of

IN_DRAM: tuple[int | None, ...] = (None,)
APPEND = Call("append", (0, 1), (2,), IN_DRAM, updates={2: 1}, written_bytes={2: 4})
SIZES = (4, 64, 64)


@pytest.mark.parametrize(("reads", "least"), [((), 4), ((2,), 4 + 64), ((1,), 4 + 64)])
def test_what_is_moved_of_a_cache(reads: tuple[int, ...], least: int) -> None:
    read = tuple(Call("read", (value,), (3 + number,), IN_DRAM) for number, value in enumerate(reads))
    returned = (2, *(call.outputs[0] for call in read))
    plan = plan_of(CallList("f", 2, (APPEND, *read), returned, (*SIZES, *(64 for _ in reads))))
    (cache,) = (value for value in plan.values if value.number == 1)
    assert (cache.role, cache.bytes, cache.least_bytes) == (ValueRole.ARGUMENT, 64, least)
    assert 2 not in {value.number for value in plan.values}


def test_two_writes_are_two_slices_of_one_tensor() -> None:
    again = Call("append", (0, 2), (3,), IN_DRAM, updates={3: 2}, written_bytes={3: 4})
    plan = plan_of(CallList("f", 2, (APPEND, again), (3,), (*SIZES, 64)))
    assert {value.number: value.least_bytes for value in plan.values} == {0: 4, 1: 8}


def test_what_is_written_is_there_for_who_reads_it_by_its_old_number() -> None:
    calls = CallList("f", 2, (APPEND, Call("read", (1,), (3,), IN_DRAM)), (2, 3), (*SIZES, 64))

    def run(call: Call, given: Sequence[Array]) -> Sequence[Array]:
        made = given[-1].copy()
        if call.name == "append":
            made[-1] = given[0][0]
        return [made]

    made, read = run_calls(calls, (np.array([7.0]), np.zeros(4)), run)
    np.testing.assert_array_equal(made, [0, 0, 0, 7])
    np.testing.assert_array_equal(read, made)
