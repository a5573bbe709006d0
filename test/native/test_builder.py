"""The core's own face, called with anything: errors, never a crash."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow import _native

index = st.one_of(st.integers(0, 3), st.sampled_from([7, (1 << 32) - 1]))
number = st.one_of(st.integers(-2, 8), st.sampled_from([1 << 20, 1 << 47, -(1 << 47), (1 << 63) - 1, -(1 << 63)]))
rate = st.sampled_from([0.0, 1.0, 4.0, -1.0, float("inf"), float("nan")])
numbers = st.lists(number, max_size=3)
affine = st.tuples(number, numbers)
operands = st.lists(st.tuples(index, st.booleans(), st.booleans(), st.booleans()), max_size=2)

CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("add_memory"), st.just("m"), st.one_of(number, st.just(64))),
        st.tuples(st.just("add_buffer"), st.just("b"), index, number, st.one_of(number, st.just(16)), number),
        st.tuples(st.just("add_semaphore"), st.just("s"), number, number, st.integers(0, 12)),
        st.tuples(st.just("add_resource"), st.just("r"), rate),
        st.tuples(st.just("add_kernel"), st.just("k")),
        st.tuples(st.just("add_stream"), st.just("w"), index, st.lists(index, max_size=2), st.lists(index), number),
        st.tuples(
            st.just("add_access"), index, number, affine, affine, numbers, numbers,
            st.lists(st.tuples(numbers, affine), max_size=5), st.booleans(), rate,
        ),
        st.tuples(st.just("add_engine"), st.just("e"), rate, st.lists(index, max_size=2), number, number),
        st.tuples(st.just("begin_loop"), number),
        st.tuples(st.just("end_loop")),
        st.tuples(st.sampled_from(["acquire", "release", "send", "receive"]), st.just("x"), index, index),
        st.tuples(st.just("compute"), st.just("k"), index, number, operands),
        st.tuples(st.just("control"), st.just("c"), number),
    ),
    max_size=40,
)  # fmt: skip


@drawn(few=200, many=10_000)
@given(CALLS)
def test_any_calls_end_in_a_result_or_an_error(calls: list[tuple]) -> None:
    program = _native.ProgramBuilder()
    for name, *arguments in calls:
        with suppress(ValueError):
            getattr(program, name)(*arguments)
    with suppress(ValueError, _native.Fault):
        _native.simulate(program, 2000, 10, None)


def test_loops_and_engines_belong_together() -> None:
    program = _native.ProgramBuilder()
    with pytest.raises(ValueError, match="an operation comes before the first engine"):
        program.control("c", 1)
    with pytest.raises(ValueError, match="an operation comes before the first engine"):
        program.begin_loop(2)
    program.add_engine("e", 1.0, [], 0, 0)
    with pytest.raises(ValueError, match="a loop ends that has not begun"):
        program.end_loop()
    program.begin_loop(2)
    with pytest.raises(ValueError, match="a loop has no end"):
        program.problems()
    with pytest.raises(ValueError, match="a loop has no end"):
        program.add_engine("f", 1.0, [], 0, 0)
    program.end_loop()
    assert program.problems() == []


def test_an_invalid_program_does_not_run() -> None:
    program = _native.ProgramBuilder()
    program.add_engine("e", 1.0, [], 0, 0)
    program.acquire("a", 5, 1)
    with pytest.raises(_native.Fault, match="'a' of 'e' refers to semaphore number 5 of 0"):
        _native.simulate(program, 100, 0, None)


def test_data_must_match_the_program() -> None:
    program = _native.ProgramBuilder()
    program.add_memory("m", 16)
    with pytest.raises(ValueError, match="an array for each memory"):
        _native.simulate(program, 100, 0, _native.Data([], [], []))
    with pytest.raises(ValueError, match="an array differs in size from its memory"):
        _native.simulate(program, 100, 0, _native.Data([np.zeros(15, np.uint8)], [True], []))
    with pytest.raises(ValueError, match="a kernel's address is 0"):
        _native.Data([], [], [(0, False)])


def test_data_is_written_in_place_and_must_be_writable() -> None:
    frozen = np.zeros(16, np.uint8)
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        _native.Data([frozen], [True], [])


def test_engines_are_linked_by_name() -> None:
    code = _native.ProgramBuilder()
    code.add_semaphore("b", 0, 0, 9)
    code.add_kernel("k")
    code.add_engine("e", 1.0, [], 0, 0)
    code.begin_loop(3)
    code.release("r", 0, 1)
    code.compute("c", 0, 5, [])
    code.end_loop()
    program = _native.ProgramBuilder()
    program.add_kernel("other")
    program.add_semaphore("a", 0, 1, 9)
    assert program.link([code]) == [(0, "semaphore", "b")]
    program = _native.ProgramBuilder()
    program.add_kernel("other")
    program.add_semaphore("a", 0, 1, 9)
    program.add_semaphore("b", 0, 63, 9)
    program.add_engine("first", 1.0, [], 0, 0)
    program.control("c", 1)
    assert program.link([code, code]) == []
    assert program.kernels == ["other", "k"]
    results = _native.simulate(program, 100, 0, None)
    assert (results.cycles, results.semaphore_values) == (15, [0, 6])


def test_what_is_no_engine_is_not_linked() -> None:
    program = _native.ProgramBuilder()
    with pytest.raises(ValueError, match="a program of its own"):
        program.link([program])
    with pytest.raises(ValueError, match="a program of one engine is added"):
        program.link([_native.ProgramBuilder()])
    open_loop = _native.ProgramBuilder()
    open_loop.add_engine("e", 1.0, [], 0, 0)
    open_loop.begin_loop(2)
    with pytest.raises(ValueError, match="a loop has no end"):
        program.link([open_loop])
    wrong = _native.ProgramBuilder()
    wrong.add_engine("e", 1.0, [], 0, 0)
    wrong.acquire("a", 5, 1)
    with pytest.raises(IndexError):
        program.link([wrong])
