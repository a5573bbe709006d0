"""Orders of tasks: valid ones, and the one that keeps least alive."""

from __future__ import annotations

from itertools import pairwise, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from npuflow.network.task_order import OrderedTask, TaskGraph, best_order, depth_first


def branches(count: int, length: int) -> TaskGraph:
    """Chains side by side, level by level, whose tasks make 4 bytes, the last ones 1; then a sum of all."""
    tasks, sizes = [], {}
    for level in range(length):
        for branch in range(count):
            value = level * count + branch
            tasks.append(OrderedTask(f"t{level}", (value - count,) if level else (), (value,)))
            sizes[value] = 1 if level == length - 1 else 4
    last = range((length - 1) * count, length * count)
    return TaskGraph([*tasks, OrderedTask("sum", tuple(last), (count * length,))], sizes)


def test_branches_are_done_one_after_the_other() -> None:
    graph = branches(count=3, length=3)
    # Level by level, three values of 4 bytes live when a fourth is made; branch by branch, two, beside results of 1.
    assert graph.peak(range(10)) == 16
    found = best_order(graph)
    assert (found.peak_bytes, found.bound_bytes) == (10, 10)
    assert graph.peak(depth_first(graph)) == 10


def test_of_orders_that_keep_as_much_the_given_one_stays() -> None:
    graph = TaskGraph(
        [OrderedTask("a", (), (0,)), OrderedTask("b", (0,), (1,)), OrderedTask("a", (1,), (2,))], {0: 1, 1: 1}
    )
    assert best_order(graph).order == (0, 1, 2)


def test_equal_parts_come_together_where_that_costs_nothing() -> None:
    tasks = [
        OrderedTask("a", (), (0,)),
        OrderedTask("b", (), (1,)),
        OrderedTask("a", (), (2,)),
        OrderedTask("c", (0, 1, 2), (3,)),
    ]
    graph = TaskGraph(tasks, {})
    names = [tasks[number].name for number in best_order(graph).order]
    assert sum(one != other for one, other in pairwise(names)) <= 3
    assert names[-1] == "c"


def test_too_many_sets_are_bounded() -> None:
    # 2^14 sets of independent tasks: the search is broken off, and still says what no order is below.
    tasks = [OrderedTask(f"t{n}", (), (n,)) for n in range(14)]
    graph = TaskGraph([*tasks, OrderedTask("sum", tuple(range(14)), (14,))], dict.fromkeys(range(14), 8))
    found = best_order(graph)
    assert found.peak_bytes == 14 * 8
    assert 0 < found.bound_bytes <= found.peak_bytes


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    """Tasks that read what tasks before them make."""
    tasks = []
    for number in range(draw(st.integers(1, 6))):
        reads = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        tasks.append(OrderedTask(draw(st.sampled_from("ab")), tuple(sorted(reads)), (number,)))
    return TaskGraph(tasks, {number: draw(st.integers(0, 9)) for number in range(len(tasks))})


def is_valid(graph: TaskGraph, order: tuple[int, ...]) -> bool:
    place = {number: position for position, number in enumerate(order)}
    read = ((number, graph.maker[value]) for number in order for value in graph.tasks[number].reads)
    return sorted(order) == list(range(len(graph.tasks))) and all(place[maker] < place[n] for n, maker in read)


@settings(max_examples=60)
@given(graphs())
def test_no_order_keeps_less(graph: TaskGraph) -> None:
    found = best_order(graph)
    assert is_valid(graph, found.order)
    assert is_valid(graph, depth_first(graph))
    least = min(graph.peak(o) for o in permutations(range(len(graph.tasks))) if is_valid(graph, o))
    assert found.peak_bytes == found.bound_bytes == graph.peak(found.order) == least
