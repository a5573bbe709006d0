"""How far an engine is in its program, against the program unrolled."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from npuflow.schedule.data.model import Acquire, Engine, Ref, Repeat, Step
from npuflow.schedule.data.points import PlacedLeaf, Point, behind, earliest, first, last, leaves
from npuflow.target import load_device

STAGE = load_device("toy").ways.control
STEP = Acquire(Ref("s"))

steps = st.recursive(
    st.just((STEP,)),
    lambda inner: st.lists(
        st.one_of(
            st.just((STEP,)), st.builds(lambda body, trips: (Repeat("i", trips, body),), inner, st.integers(1, 3))
        ),
        min_size=1,
        max_size=3,
    ).map(lambda parts: tuple(step for part in parts for step in part)),
    max_leaves=5,
)


def unrolled(program: tuple[Step, ...]) -> list[int]:
    """The numbers of the steps in the order in which they are carried out."""
    numbers = iter(range(1000))

    def numbered(body: tuple[Step, ...]) -> list[object]:
        return [(s.trips, numbered(s.body)) if isinstance(s, Repeat) else next(numbers) for s in body]

    def played(body: list[object]) -> Iterator[int]:
        for one in body:
            if isinstance(one, int):
                yield one
            else:
                assert isinstance(one, tuple)
                trips, inside = one
                for _ in range(trips):
                    yield from played(inside)

    return list(played(numbered(program)))


def reached(order: list[int], leaf: PlacedLeaf, turn: int) -> int:
    """How many steps of the unrolled program are over behind a step's turn."""
    return [at for at, number in enumerate(order) if number == leaf.index][turn] + 1


def assert_is_at(point: Point, order: list[int], over: int, its: tuple[PlacedLeaf, ...]) -> None:
    for leaf in its:
        assert point.done(leaf) == order[:over].count(leaf.index)


@given(steps)
def test_points_count_as_the_unrolled_program_does(program: tuple[Step, ...]) -> None:
    its, order = leaves(Engine("e", STAGE, 0, (), program)), unrolled(program)
    for leaf in its:
        assert leaf.total == order.count(leaf.index)
        assert_is_at(first(leaf), order, order.index(leaf.index), its)
        assert_is_at(last(leaf), order, reached(order, leaf, -1), its)
        for turn in range(leaf.total):
            assert_is_at(behind(leaf, turn), order, reached(order, leaf, turn), its)


@given(steps)
def test_points_come_in_the_order_of_the_unrolled_program(program: tuple[Step, ...]) -> None:
    its, order = leaves(Engine("e", STAGE, 0, (), program)), unrolled(program)
    points = [(reached(order, leaf, turn), behind(leaf, turn)) for leaf in its for turn in range(leaf.total)]
    for over, point in points:
        for other, later in points:
            assert point.is_before(later) == (over < other)


@given(steps, st.integers(1, 20))
def test_the_earliest_turn_is_found(program: tuple[Step, ...], count: int) -> None:
    """Behind which turn of a step so many steps of all kinds are over."""
    its, order = leaves(Engine("e", STAGE, 0, (), program)), unrolled(program)
    for leaf in its:
        found = earliest(leaf, lambda at: sum(at.done(one) for one in its) >= count)
        turns = [turn for turn in range(leaf.total) if reached(order, leaf, turn) >= count]
        assert found == (behind(leaf, turns[0]) if turns else None)
