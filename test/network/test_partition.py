"""The cheapest way to take a graph of groups apart is what trying all ways finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from npuflow.network.partition import Members, Price, best_partition, cones


def all_partitions(left: Sequence[int], sets: Sequence[Members]) -> Iterator[list[Members]]:
    """Every way to cover groups by sets, or by themselves."""
    if not left:
        yield []
        return
    first, *rest = left
    for members in [frozenset([first]), *sets]:
        if first in members and members <= set(left):
            for others in all_partitions([each for each in rest if each not in members], sets):
                yield [members, *others]


@st.composite
def graphs(draw: st.DrawFn) -> list[frozenset[int]]:
    """Who reads each of up to 10 groups; some are read by what is no group."""
    count = draw(st.integers(1, 10))
    return [frozenset(draw(st.sets(st.integers(group + 1, count), min_size=1, max_size=2))) for group in range(count)]


def test_the_sets_of_a_chain_are_its_parts_in_a_row() -> None:
    readers = [frozenset([1]), frozenset([2]), frozenset([3]), frozenset([4])]
    found = {tuple(sorted(members)) for members in cones(readers, 4)}
    assert found == {(0, 1), (1, 2), (2, 3), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3)}


def test_what_others_read_is_not_inside_of_a_set() -> None:
    """Group 0 is read by 1 and 2; 2 reads 1 as well, so that only all three may be one."""
    assert list(cones([frozenset([1, 2]), frozenset([2]), frozenset([3])], 4)) == [
        frozenset([0, 1, 2]),
        frozenset([1, 2]),
    ]


def test_less_memory_decides_between_equals() -> None:
    prices = {frozenset([0, 1]): Price(1.0, 8), frozenset([1, 2]): Price(1.0, 4)}
    prices |= {frozenset([each]): Price(1.0) for each in range(3)}
    assert best_partition(3, prices) == (frozenset([0]), frozenset([1, 2]))


@given(graphs(), st.data())
def test_it_is_what_trying_all_finds(readers: list[frozenset[int]], data: st.DataObject) -> None:
    count, sets = len(readers), list(cones(readers, 4))
    numbers = st.integers(0, 20)
    prices = {members: Price(float(data.draw(numbers)), data.draw(numbers)) for members in sets}
    prices |= {frozenset([each]): Price(float(data.draw(numbers)), data.draw(numbers)) for each in range(count)}

    def price(partition: Sequence[Members]) -> Price:
        return sum((prices[members] for members in partition), Price(0.0))

    found = best_partition(count, prices)
    assert sorted(each for members in found for each in members) == list(range(count))
    assert price(found) == min(price(each) for each in all_partitions(range(count), sets))


def test_a_long_chain_takes_no_time() -> None:
    """500 groups, all runs of up to 4: as many states as groups."""
    readers = [frozenset([group + 1]) for group in range(500)]
    prices = {members: Price(1.0) for members in cones(readers, 4)}
    prices |= {frozenset([each]): Price(1.0) for each in range(500)}
    assert len(best_partition(500, prices)) == 125
