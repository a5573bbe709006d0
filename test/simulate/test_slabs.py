"""Parts of accesses: each in one slab, together what travels, in its order, limits included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.simulate.program import FlatAccess, FlatAffine, FlatLimit
from npuflow.simulate.shares import Share, part_of
from npuflow.simulate.slabs import dealt_parts, slab_parts


def elements(access: FlatAccess) -> Iterator[int]:
    """The addresses that an access touches, in order."""
    for index in product(*map(range, access.sizes)):
        there = (sum(c * i for c, i in zip(lim.coefficients, index)) < lim.bound.constant for lim in access.limits)
        if all(there):
            yield access.offset.constant + sum(i * stride for i, stride in zip(index, access.strides))


def test_columns_of_two_slabs() -> None:
    whole = FlatAccess("x", (4, 2), (6, 1), 1, FlatAffine(2))
    first, second = slab_parts(whole, 12)
    assert (first.slab, list(elements(first.access))) == (0, [2, 3, 8, 9])
    assert (second.slab, list(elements(second.access))) == (1, [14, 15, 20, 21])


def test_a_halo_that_does_not_exist_is_in_no_slab() -> None:
    # Rows -1 to 2 of channels of 4x4: row -1 of channel 1 would lie in channel 0.
    rows = FlatLimit((0, -1, 0), FlatAffine(0))
    whole = FlatAccess("x", (2, 4, 4), (16, 4, 1), 1, FlatAffine(-4), limits=(rows,))
    parts = slab_parts(whole, 16)
    assert [part.slab for part in parts] == [0, 1]
    assert [at for part in parts for at in elements(part.access)] == list(elements(whole))


def test_what_a_limit_of_two_dimensions_leaves_out_is_in_no_slab() -> None:
    # Of a row of 31, all there is, in pieces of 8: the last one's last element would lie behind the slab.
    row = FlatLimit((0, 8, 1), FlatAffine(31))
    whole = FlatAccess("x", (1, 4, 8), (31, 8, 1), 2, limits=(row,))
    parts = slab_parts(whole, 31)
    assert {part.slab for part in parts} == {0}
    assert sorted(at for part in parts for at in elements(part.access)) == list(range(31))


@st.composite
def accesses(draw: st.DrawFn) -> FlatAccess:
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    strides = tuple(draw(st.lists(st.integers(0, 9), min_size=len(sizes), max_size=len(sizes))))
    limits = tuple(
        FlatLimit(tuple(draw(st.integers(-1, 1)) for _ in sizes), FlatAffine(draw(st.integers(-2, 6))))
        for _ in range(draw(st.integers(0, 2)))
    )
    return FlatAccess("x", sizes, strides, 1, FlatAffine(draw(st.integers(0, 20))), limits=limits)


@given(accesses(), st.integers(1, 40))
def test_parts_are_the_whole_and_each_is_in_its_slab(access: FlatAccess, slab: int) -> None:
    parts = slab_parts(access, slab)
    assert [at for part in parts for at in elements(part.access)] == list(elements(access))
    assert [part.share.count for part in parts] == [prod(part.access.sizes) for part in parts]
    assert sum(part.share.count for part in parts) == prod(access.sizes)
    for part in parts:
        assert {at // slab for at in elements(part.access)} <= {part.slab}


@given(accesses(), st.integers(1, 8), st.integers(1, 4))
def test_what_is_dealt_out_is_the_whole_and_each_part_in_its_slab(access: FlatAccess, piece: int, slabs: int) -> None:
    parts = dealt_parts(access, piece, slabs)
    if parts is None:
        return
    assert sorted(at for part in parts for at in elements(part.access)) == sorted(elements(access))
    for part in parts:
        assert {at // piece % slabs for at in elements(part.access)} <= {part.slab}
        # Which of what travels that is, the access itself tells as well, if it can be taken from it.
        own = part_of(access, part.share)
        assert own is None or list(elements(own)) == list(elements(part.access))


def test_rows_that_are_dealt_out() -> None:
    # Columns 1 and 2 of each of 5 rows: rows 0, 2 and 4 are in slab 0.
    even, odd = dealt_parts(FlatAccess("x", (5, 2), (6, 1), 1, FlatAffine(1)), 6, 2) or ()
    assert (even.slab, list(elements(even.access))) == (0, [1, 2, 13, 14, 25, 26])
    assert (odd.slab, list(elements(odd.access))) == (1, [7, 8, 19, 20])
    # Rows that follow on each other are pieces as well; half a row and the next one's half are none.
    assert [part.slab for part in dealt_parts(FlatAccess("x", (24,), (1,), 1, FlatAffine(6)), 6, 2) or ()] == [1, 0]
    halves = dealt_parts(FlatAccess("x", (6,), (1,), 1, FlatAffine(3)), 6, 2) or ()
    assert [(part.slab, list(elements(part.access))) for part in halves] == [(0, [3, 4, 5]), (1, [6, 7, 8])]
    assert dealt_parts(FlatAccess("x", (12,), (5,), 1, FlatAffine(3)), 6, 2) is None


def test_rows_around_a_piece_of_each_channel() -> None:
    """Of 3 channels of 8 rows, dealt out two by two to four slabs, rows 1 to 4; where row 0 would be row -1, none."""
    whole = FlatAccess("x", (3, 4, 2), (16, 2, 1), 1, FlatAffine(2))
    parts = dealt_parts(whole, 4, 4) or ()
    assert [part.slab for part in parts] == [0, 1, 2]
    assert [list(elements(part.access))[:2] for part in parts] == [[2, 3], [4, 5], [8, 9]]
    for part in parts:
        own = part_of(whole, part.share)
        assert own is not None
        assert list(elements(own)) == list(elements(part.access))
    rows = FlatLimit((0, -1, 0), FlatAffine(0))
    cut = dealt_parts(replace(whole, offset=FlatAffine(-2), limits=(rows,)), 4, 4) or ()
    assert [part.slab for part in cut] == [0, 1]
    assert sorted(at for part in cut for at in elements(part.access)) == [
        16 * c + i for c in range(3) for i in range(6)
    ]


@given(accesses(), st.data())
def test_shares_in_a_row_are_the_whole(access: FlatAccess, data: st.DataObject) -> None:
    counts, left = list[int](), prod(access.sizes)
    while left:
        counts.append(data.draw(st.integers(1, left)))
        left -= counts[-1]
    cut = in_a_row(access, counts)
    if cut is not None:
        assert [at for one in cut for at in elements(one)] == list(elements(access))
        assert [prod(one.sizes) for one in cut] == counts


def in_a_row(access: FlatAccess, counts: Sequence[int]) -> list[FlatAccess] | None:
    """An access as several of so many indices each; None where one can't be."""
    begins = [sum(counts[:number]) for number in range(len(counts))]
    found = [part_of(access, Share(1, begin, 1, count)) for begin, count in zip(begins, counts)]
    parts = [part for part in found if part is not None]
    return parts if len(parts) == len(found) else None


def test_within_a_row_nothing_is_cut() -> None:
    rows = FlatAccess("x", (4, 6), (8, 1), 1)
    assert in_a_row(rows, (9, 15)) is None
    assert in_a_row(rows, (12, 6, 6)) is not None
    found = in_a_row(rows, (12, 12))
    assert found is not None
    assert [one.offset.constant for one in found] == [0, 16]
    # One row after the other without gaps is one row.
    assert in_a_row(FlatAccess("x", (4, 6), (6, 1), 1), (9, 15)) is not None


@pytest.mark.parametrize(("counts", "offsets"), [((2, 4, 18), (0, 2, 8)), ((6, 6, 12), (0, 8, 16))])
def test_rows_and_parts_of_one(counts: tuple[int, ...], offsets: tuple[int, ...]) -> None:
    found = in_a_row(FlatAccess("x", (4, 6), (8, 1), 1), counts)
    assert found is not None
    assert tuple(one.offset.constant for one in found) == offsets


@given(accesses(), st.integers(1, 8), st.integers(2, 4), st.data())
def test_every_so_many_rows_of_what_travels(access: FlatAccess, row: int, step: int, data: st.DataObject) -> None:
    rows, rest = divmod(prod(access.sizes), row)
    first = data.draw(st.integers(0, step - 1))
    if rest or first >= rows or access.limits:
        return
    own = part_of(access, Share(row, first, step, len(range(first, rows, step))))
    whole = list(elements(access))
    expected = [at for number in range(first, rows, step) for at in whole[number * row :][:row]]
    assert own is None or list(elements(own)) == expected


def test_a_limit_stays_one_of_one_dimension() -> None:
    """As descriptors have it: what would limit two dimensions together is no share."""
    rows = FlatAccess("x", (24,), (1,), 1, limits=(FlatLimit((1,), FlatAffine(20)),))
    assert part_of(rows, Share(6, 0, 2, 2)) is None
    both = FlatAccess("x", (3, 24), (48, 1), 1, limits=(FlatLimit((1, 1), FlatAffine(20)),))
    assert dealt_parts(both, 6, 2) is None
    assert [part.slab for part in dealt_parts(rows, 6, 2) or ()] == [0, 1, 0, 1]
    assert part_of(FlatAccess("x", (24,), (1,), 1), Share(6, 0, 2, 2)) is not None
