"""Rerolling alone: peeled steps go back into their loop, and nothing else does.

Meaning is what `unrolled` says: the transfers and kernels that a nest runs, in order, with the numbers they have then.
Buffers that a body allocates for itself count as one per role, since rerolling merges them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import (
    L1,
    L2,
    L3,
    Allocate,
    BufferInfo,
    Dimension,
    End,
    Factor,
    Kernel,
    Loop,
    Nest,
    Statement,
    Transfer,
    walk,
)
from npuflow.schedule.nest.reroll import reroll

TILE = 16


def buffer(name: str, space: int, elements: int = TILE) -> BufferInfo:
    return BufferInfo(name, space, (elements,), "i32", 4, None)


A, SUM = buffer("a", L3, 1 << 20), buffer("sum", L1)


def copy(source: BufferInfo, offset: Affine, target: BufferInfo, limit: Affine | None = None) -> Transfer:
    dimension = Dimension((Factor(TILE, 1, 1, 1),), limit)
    return Transfer(End(source, offset), End(target, Affine()), (dimension,), limit is not None, None)


def step(offset: Affine, limit: Affine | None = None, width: int = TILE, code: str = "multiply") -> list[Statement]:
    """One step of K: a tile to L2, on to L1, and a kernel on it."""
    outer, inner = buffer("outer", L2, width), buffer("inner", L1, width)
    multiply = Kernel(0, "matmul", code, (inner,), (SUM,), None)
    moves = (copy(A, offset, outer, limit), copy(outer, Affine(), inner))
    return [Allocate(outer), moves[0], Allocate(inner), moves[1], multiply]


def at(turn: int) -> Affine:
    return Affine(turn * TILE)


def loop(counter: str, trips: int, first: int = 0) -> Loop:
    return Loop(counter, trips, step(Affine.counter(counter, TILE, first * TILE)))


def fill(value: int = 0) -> Kernel:
    return Kernel(1, "fill", f"fill {value}", (), (SUM,), None)


def rerolled(*statements: Statement) -> list[Statement]:
    nest = Nest("f", [A], body=list(statements))
    reroll(nest)
    return nest.body


def unrolled(body: list[Statement], values: Mapping[str, int] | None = None) -> Iterator[tuple[object, ...]]:
    known = values or {}
    for statement in body:
        if isinstance(statement, Loop):
            for turn in range(statement.trips):
                yield from unrolled(statement.body, {**known, statement.counter: turn})
        elif isinstance(statement, Transfer):
            ends = (statement.source, statement.target)
            extents = [_reached(dimension, known) for dimension in statement.dimensions]
            yield ("transfer", *((end.buffer.name, _value(end.offset, known)) for end in ends), extents)
        elif isinstance(statement, Kernel):
            yield statement.code, [b.name for b in statement.reads], [b.name for b in statement.writes]


def _value(total: Affine, values: Mapping[str, int]) -> int:
    return total.substitute({name: Affine(value) for name, value in values.items()}).constant


def _reached(dimension: Dimension, values: Mapping[str, int]) -> int:
    """How many indices exist."""
    if dimension.limit is None:
        return dimension.extent
    return max(0, min(dimension.extent, _value(dimension.limit, values)))


def loops_in(body: list[Statement]) -> list[tuple[int, int]]:
    """Trips and length of every loop."""
    return [(s.trips, len(s.body)) for s, _ in walk(body) if isinstance(s, Loop)]


# What goes back into a loop


@pytest.mark.parametrize(
    ("before", "trips", "after"), [(1, 3, 0), (0, 3, 1), (1, 3, 1), (2, 2, 2), (1, 1, 1), (0, 5, 0), (3, 1, 0)]
)
def test_peeled_steps_go_back_into_their_loop(before: int, trips: int, after: int) -> None:
    head = [s for turn in range(before) for s in step(at(turn))]
    tail = [s for turn in range(before + trips, before + trips + after) for s in step(at(turn))]
    body = rerolled(*head, loop("i", trips, before), *tail)
    assert loops_in(body) == [(before + trips + after, 5)]
    assert len(body) == 1


@pytest.mark.parametrize("turns", [2, 3, 7])
def test_steps_without_a_loop_become_one(turns: int) -> None:
    body = rerolled(*(s for turn in range(turns) for s in step(at(turn))))
    assert loops_in(body) == [(turns, 5)]
    assert len(body) == 1


def test_the_buffers_of_a_loop_are_those_of_one_step() -> None:
    body = rerolled(*step(at(0)), loop("i", 2, 1), *step(at(3)))
    allocated = [s.buffer for s, _ in walk(body) if isinstance(s, Allocate)]
    used = {end.buffer for s, _ in walk(body) if isinstance(s, Transfer) for end in (s.source, s.target)}
    assert [b.name for b in allocated] == ["outer", "inner"]
    assert used == {A, *allocated}


def test_fills_stay_in_front_of_the_loop() -> None:
    first = step(at(0))
    first.insert(4, fill())  # sunk to where the sum is first needed
    body = rerolled(*first, *step(at(1)))
    assert [type(s).__name__ for s in body] == ["Kernel", "Loop"]
    assert loops_in(body) == [(2, 5)]


def test_loops_within_loops_are_rerolled_first() -> None:
    inner = [*step(at(0)), loop("i", 2, 1)]
    body = rerolled(Loop("blocks", 4, inner))
    assert loops_in(body) == [(4, 1), (3, 5)]


def test_steps_that_hold_loops_are_matched_with_other_counters() -> None:
    def block(name: str, turn: int) -> list[Statement]:
        held = buffer("held", L1)
        work = Loop(name, 3, [copy(A, Affine.counter(name, TILE, 100 * TILE * turn), held)])
        return [Allocate(held), work]

    body = rerolled(*block("i", 0), *block("j", 1), *block("k", 2))
    assert loops_in(body) == [(3, 2), (3, 1)]
    assert [o for _, (_, o), *_ in unrolled(body)] == [(100 * t + i) * TILE for t in range(3) for i in range(3)]


def test_limits_step_as_offsets_do() -> None:
    # 3 steps of 16 in 40 elements: 40, 24 and 8 are left.
    left = [40, 24, 8]
    body = rerolled(*(s for turn in range(3) for s in step(at(turn), Affine(left[turn]))))
    assert loops_in(body) == [(3, 5)]
    assert [row[-1] for row in unrolled(body) if row[0] == "transfer" and row[1][0] == "a"] == [[16], [16], [8]]


def test_limits_that_no_step_reaches_are_dropped() -> None:
    def limits(elements: int) -> list[Affine | None]:
        body = rerolled(Loop("i", 3, step(Affine.counter("i", TILE), Affine.counter("i", -TILE, elements))))
        moves = [s for s, _ in walk(body) if isinstance(s, Transfer) and s.source.buffer is A]
        return [dimension.limit for move in moves for dimension in move.dimensions]

    assert limits(48) == [None]
    assert limits(47) == [Affine.counter("i", -TILE, 47)]


# What doesn't


def kept(*statements: Statement) -> None:
    """Rerolling changes nothing about these statements."""
    before = list(statements)
    assert rerolled(*statements) == before


def test_steps_at_other_distances_stay() -> None:
    kept(*step(at(0)), loop("i", 3, 2))
    kept(loop("i", 3, 0), *step(at(4)))


def test_steps_of_other_sizes_stay() -> None:
    kept(*step(at(0), width=2 * TILE), loop("i", 3, 1))
    kept(*step(at(0)), *step(at(1), width=2 * TILE))


def test_a_step_with_a_limit_is_no_step_of_a_loop_without() -> None:
    kept(loop("i", 3), *step(at(3), Affine(7)))


def test_loops_over_the_grid_take_nothing_in() -> None:
    grid = Loop("row", 3, step(Affine.counter("row", TILE, TILE)), grid=True)
    kept(*step(at(0)), grid, *step(at(4)))


def test_a_step_of_another_kernel_is_none_of_the_loop() -> None:
    kept(*step(at(0), code="subtract"), loop("i", 3, 1))
    kept(loop("i", 3, 0), *step(at(3), code="subtract"))
    kept(*step(at(0)), *step(at(1), code="subtract"))


def test_loops_that_fill_with_other_values_stay() -> None:
    kept(*step(at(0)), fill(1), Loop("i", 3, [fill(0), *step(Affine.counter("i", TILE, TILE))]))


def test_a_fill_comes_before_nothing_that_uses_what_it_fills() -> None:
    kept(*step(at(0)), fill(), loop("i", 3, 1))
    kept(*step(at(0)), fill(), *step(at(1)))


def test_other_work_between_steps_keeps_them_apart() -> None:
    other = Kernel(2, "elementwise", "other", (SUM,), (SUM,), None)
    kept(*step(at(0)), other, loop("i", 3, 1))


def test_a_step_that_shares_its_buffer_with_what_follows_stays() -> None:
    """The buffer of the first step is read again: it is no buffer of the loop's."""
    first = step(at(0))
    again = Kernel(3, "elementwise", "other", (first[2].buffer,), (SUM,), None)  # type: ignore[union-attr]
    body = rerolled(*first, again, *step(at(1)))
    assert loops_in(body) == []


@pytest.mark.parametrize("before", [True, False])
def test_a_buffer_that_others_use_as_well_stays_allocated(before: bool) -> None:
    peeled = step(at(0)) if before else step(at(4))
    again = Kernel(3, "elementwise", "other", (peeled[2].buffer,), (SUM,), None)  # type: ignore[union-attr]
    ends = [*peeled, loop("i", 3, 1), again] if before else [loop("i", 3, 1), *peeled, again]
    body = rerolled(*ends)
    allocated = {s.buffer for s, _ in walk(body) if isinstance(s, Allocate)}
    read = {b for s, _ in walk(body) if isinstance(s, Kernel) for b in s.reads}
    assert read <= allocated


# Whatever it does, the work stays the same


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 6),
            st.sampled_from([TILE, 2 * TILE]),
            st.sampled_from(["multiply", "subtract"]),
            st.booleans(),
        ),
        max_size=4,
    ),
)
def test_the_same_work_is_done_in_the_same_order(parts: list[tuple[int, int, int, str, bool]]) -> None:
    statements: list[Statement] = []
    turn = 0
    for number, (trips, ahead, width, code, filled) in enumerate(parts):
        turn += ahead // 3  # mostly right behind what was before
        name = f"i{number}"
        statements += [fill()] if filled else []
        if trips == 0:
            statements += step(at(turn), width=width, code=code)
        else:
            statements.append(Loop(name, trips, step(Affine.counter(name, TILE, turn * TILE), width=width, code=code)))
        turn += max(trips, 1)
    expected = list(unrolled(deepcopy(statements)))
    assert list(unrolled(rerolled(*statements))) == expected
