"""Parts of accesses: each in one slab, together what travels, in its order, limits included."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.simulate.program import FlatAccess, FlatAffine, FlatLimit
from npuflow.simulate.slabs import cut_access, slab_parts


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
    assert sum(prod(part.access.sizes) for part in parts) == prod(access.sizes)
    for part in parts:
        assert {at // slab for at in elements(part.access)} <= {part.slab}


@given(accesses(), st.data())
def test_what_is_cut_is_the_whole(access: FlatAccess, data: st.DataObject) -> None:
    whole, counts, left = list(elements(access)), list[int](), prod(access.sizes)
    while left:
        counts.append(data.draw(st.integers(1, left)))
        left -= counts[-1]
    cut = cut_access(access, counts)
    if cut is not None:
        assert [at for one in cut for at in elements(one)] == whole
        assert [prod(one.sizes) for one in cut] == counts


def test_within_a_row_nothing_is_cut() -> None:
    rows = FlatAccess("x", (4, 6), (8, 1), 1)
    assert cut_access(rows, (9, 15)) is None
    assert cut_access(rows, (12, 6)) is None
    found = cut_access(rows, (12, 12))
    assert found is not None
    assert [one.offset.constant for one in found] == [0, 16]
    # One row after the other without gaps is one row.
    assert cut_access(FlatAccess("x", (4, 6), (6, 1), 1), (9, 15)) is not None


@pytest.mark.parametrize(("counts", "offsets"), [((2, 4, 18), (0, 2, 8)), ((6, 6, 12), (0, 8, 16))])
def test_rows_and_parts_of_one(counts: tuple[int, ...], offsets: tuple[int, ...]) -> None:
    found = cut_access(FlatAccess("x", (4, 6), (8, 1), 1), counts)
    assert found is not None
    assert tuple(one.offset.constant for one in found) == offsets
