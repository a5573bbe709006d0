"""The schedule's arithmetic against brute force: sums, patterns, parts of buffers, rerolled loops."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.schedule.accesses import accesses
from npuflow.schedule.addresses import _within_bank
from npuflow.schedule.affine import Affine
from npuflow.schedule.layout import Part, divide, localise
from npuflow.schedule.model import Access, Ref
from npuflow.schedule.nest import BufferInfo, Dimension, End, Factor, Transfer, row_major
from npuflow.schedule.patterns import fit
from npuflow.target.model import PatternLimits

L3, L2, L1 = 0, 1, 2
NAMES = ("i", "j", "k")
LIMITS = PatternLimits(dims=3, granule_bytes=4, size_max=16, stride_max=1024, length_max=4096, iteration_max=8)

affines = st.builds(
    lambda constant, terms: Affine(constant) + sum((Affine.counter(n, c) for n, c in terms.items()), Affine()),
    st.integers(-50, 50),
    st.dictionaries(st.sampled_from(NAMES), st.integers(-9, 9)),
)
places = st.fixed_dictionaries({name: st.integers(0, 6) for name in NAMES})


def at(total: Affine, values: dict[str, int]) -> int:
    return total.constant + sum(coefficient * values[name] for name, coefficient in total.terms)


@given(affines, affines, st.integers(-5, 5), places)
def test_sums_are_sums(a: Affine, b: Affine, factor: int, values: dict[str, int]) -> None:
    assert at(a + b, values) == at(a, values) + at(b, values)
    assert at(a - b, values) == at(a, values) - at(b, values)
    assert at(a * factor, values) == at(a, values) * factor
    assert at(a.substitute({"i": b}), values) == at(a, {**values, "i": at(b, values)})
    assert ((a + b) - b) == a


@given(affines, st.fixed_dictionaries({name: st.integers(1, 4) for name in NAMES}))
def test_bounds_are_reached_and_kept(total: Affine, trips: dict[str, int]) -> None:
    seen = [at(total, dict(zip(NAMES, point))) for point in product(*(range(trips[name]) for name in NAMES))]
    assert (total.minimum(trips), total.maximum(trips)) == (min(seen), max(seen))


def addresses(access: Access) -> list[int]:
    points = product(*map(range, access.sizes))
    return [access.offset.constant + sum(i * s for i, s in zip(p, access.strides)) for p in points]


def buffer(name: str, space: int, shape: tuple[int, ...]) -> BufferInfo:
    return BufferInfo(name, space, shape, "i32", 4, None)


@st.composite
def packings(draw: st.DrawFn) -> Transfer:
    """A block of a matrix in L2 into tiles in L1, tiles in either order."""
    tiles = [draw(st.integers(1, 4)) for _ in range(2)]
    inner = [draw(st.integers(1, 4)) for _ in range(2)]
    outer = [t * i for t, i in zip(tiles, inner)]
    turned = draw(st.booleans())
    order = (tiles[1], tiles[0]) if turned else tuple(tiles)
    packed = row_major((*order, *inner))
    tile_strides = (packed[1], packed[0]) if turned else packed[:2]
    rows = row_major(tuple(outer))
    dimensions = tuple(
        Dimension(
            (
                Factor(tiles[d], inner[d], inner[d] * rows[d], tile_strides[d]),
                Factor(inner[d], 1, rows[d], packed[2 + d]),
            )
        )
        for d in range(2)
    )
    source, target = buffer("a", L2, tuple(outer)), buffer("b", L1, (*order, *inner))
    return Transfer(End(source, Affine()), End(target, Affine()), dimensions, pads=False, location=None)


@given(packings())
def test_both_ends_go_through_the_same_elements_in_one_order(transfer: Transfer) -> None:
    read, written = accesses(transfer, Ref("a"), Affine(), Ref("b"), Affine())
    wanted = set()
    for point in product(*(range(d.extent) for d in transfer.dimensions)):
        ends = [0, 0]
        for index, dimension in zip(point, transfer.dimensions):
            rest = index
            for factor in dimension.factors:
                step, rest = divmod(rest, factor.weight)
                ends[0] += step * factor.source_stride
                ends[1] += step * factor.target_stride
        wanted.add(tuple(ends))
    assert set(zip(addresses(read), addresses(written))) == wanted
    assert sorted(addresses(written)) == list(range(len(wanted)))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 1))
def test_parts_of_a_buffer_cover_it(count: int, rows: int, columns: int, axis: int) -> None:
    shape = (rows * count, columns) if axis == 0 else (rows, columns * count)
    strides, whole = row_major(shape), buffer("a", L2, shape)
    part = Part("row", axis, (rows, columns), count, (rows, columns)[axis])
    dimensions = tuple(Dimension((Factor(n, 1, s, s),)) for n, s in zip(shape, strides))
    transfer = Transfer(
        End(buffer("x", L3, shape), Affine()), End(whole, Affine()), dimensions, pads=False, location=None
    )
    divided = divide(transfer, whole, part)
    read, written = accesses(divided, Ref("x"), Affine(), Ref("a"), Affine())
    step = divided.source.offset.coefficient("row")
    seen = [place * step + address for place in range(count) for address in addresses(read)]
    assert sorted(seen) == list(range(prod(shape)))
    assert sorted(addresses(written)) == list(range(rows * columns))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 1))
def test_a_core_finds_its_part_at_the_beginning(count: int, rows: int, columns: int, axis: int) -> None:
    shape = (rows * count, columns) if axis == 0 else (rows, columns * count)
    strides, whole = row_major(shape), buffer("a", L2, shape)
    part = Part("row", axis if count > 1 else None, (rows, columns), count, (rows, columns)[axis])
    start = Affine.counter("row", (rows, columns)[axis] * strides[axis])
    inner = row_major((rows, columns))
    dimensions = tuple(Dimension((Factor(n, 1, s, t),)) for n, s, t in zip((rows, columns), strides, inner))
    target = End(buffer("b", L1, (rows, columns)), Affine())
    local = localise(Transfer(End(whole, start), target, dimensions, pads=False, location=None), whole, part)
    read, _ = accesses(local, Ref("a"), Affine(), Ref("b"), Affine())
    assert count == 1 or local.source.offset == Affine()
    assert addresses(read) == list(range(rows * columns))


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 3)), min_size=1, max_size=5), st.sampled_from([4, 8]))
def test_descriptors_hold_all_that_a_pattern_moves(dims: list[tuple[int, int]], element_bytes: int) -> None:
    # Strides that never merge or overlap: each dimension steps over a little more than the ones inside of it.
    steps, stride = [], 1
    for size, gap in reversed(dims):
        steps.insert(0, (size, stride))
        stride = size * stride + gap
    found = fit(steps, element_bytes, LIMITS).descriptors
    moved = prod(size for size, _ in steps) * element_bytes // LIMITS.granule_bytes
    assert found * LIMITS.length_max * LIMITS.iteration_max >= moved
    assert found <= moved


def test_patterns_that_fit_and_that_do_not() -> None:
    assert fit([(4096, 1)], 4, LIMITS).descriptors == 1  # contiguous: only its length counts
    assert fit([(4097, 1)], 4, LIMITS).descriptors == 2
    assert fit([(4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 1
    assert fit([(8, 400), (4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 1  # the outermost one is the iteration
    assert fit([(9, 400), (4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 2  # which counts to 8
    assert fit([(2, 900), (8, 400), (4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 8
    assert fit([(20, 100), (32, 1)], 4, LIMITS).descriptors == 1  # 32 is two times 16
    assert fit([(20, 100), (17, 1)], 4, LIMITS).descriptors == 2  # 17 has no factor
    assert fit([(2, 1025), (4, 1)], 4, LIMITS).descriptors == 2  # a step too wide
    assert not fit([(4, 8), (4, 1)], 1, LIMITS).is_sub_granule
    assert fit([(4, 8), (3, 1)], 1, LIMITS).is_sub_granule
    assert fit([(4, 7), (4, 1)], 1, LIMITS).is_sub_granule
    assert fit([(4, 8)], 2, LIMITS).is_sub_granule


@pytest.mark.parametrize(
    ("start", "size", "slot", "expected"),
    [
        (0, 100, 50, 0),
        (40, 60, 30, 40),  # ends with the bank
        (50, 60, 30, 100),
        (150, 240, 80, 200),  # three slots of 80: the first in one bank
        (110, 240, 80, 110),
        (50, 300, 150, 50),  # no bank holds a slot
    ],
)
def test_buffers_lie_within_banks(start: int, size: int, slot: int, expected: int) -> None:
    assert _within_bank(start, size, slot, 100) == expected
