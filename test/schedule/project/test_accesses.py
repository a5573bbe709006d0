"""Both ends of a transfer, and the parts of buffers, against brute force."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Access, Ref
from npuflow.schedule.nest.nest import BufferInfo, Dimension, End, Factor, Transfer, row_major
from npuflow.schedule.project.accesses import accesses
from npuflow.schedule.project.layout import Part, divide, localise

L3, L2, L1 = 0, 1, 2


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


@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_parts_send_what_they_have_of_a_slice(count: int, step: int, data: st.DataObject) -> None:
    """Wherever it begins: in the middle of a part, and over the end of one."""
    whole, made = buffer("a", L2, (count * step,)), buffer("x", L3, (count * step,))
    begin = data.draw(st.integers(0, count * step - 1))
    size = data.draw(st.integers(1, count * step - begin))
    along = Dimension((Factor(count * step, 1, 1, 1),), limit=Affine(size))
    transfer = Transfer(End(whole, Affine(begin)), End(made, Affine()), (along,), pads=False, location=None)
    divided = divide(transfer, whole, Part("column", 0, (step,), count, step))
    moved = []
    for place in range(count):
        at = {"column": Affine(place)}
        (own,) = (dimension.substitute(at) for dimension in divided.dimensions)
        lower = 0 if own.lower is None else own.lower.constant
        assert own.limit is not None
        for index in range(max(0, lower), min(own.extent, own.limit.constant)):
            taken, put = (end.offset.substitute(at).constant + index for end in (divided.source, divided.target))
            assert 0 <= taken < step
            moved.append((place * step + taken, put))
    assert sorted(moved) == [(begin + index, index) for index in range(size)]


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
