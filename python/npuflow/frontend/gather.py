"""Elements picked by numbers that are known when a program runs, or by a table: without addresses made of data.

A transfer's addresses are sums of loops. What is picked by anything else is found by going along the dimension and
keeping the element whose position is the right one, which is exact, and streams the tensor once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from npuflow.bindings import arith, ir, linalg, tensor
from npuflow.constants.known_tensors import tensor_constant
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import all_true, element_type_of, empty, extract_slice, fill, generic_op, moved, shape_of, zero
from npuflow.frontend.reshape import collapsed
from npuflow.ops.linear import Linear


@dataclass(frozen=True)
class Table:
    """Places along a dimension, for each step of `loops`: `places` where they are known, else a tensor of i32."""

    loops: tuple[int, ...]
    places: Numbers | None = None
    tensor: ir.Value | None = None


Place = Linear | Table


@dataclass
class Picked:
    """A tensor, and where along each of its dimensions an element is picked; loops have `extents`."""

    tensor: ir.Value
    places: list[Place]
    extents: Sequence[int] = field(default_factory=list)

    def tables(self) -> list[int]:
        """The dimensions along which elements are picked by tables."""
        return [d for d, place in enumerate(self.places) if isinstance(place, Table)]


def affine_map(places: Sequence[Place], loops: int) -> ir.AffineMap:
    """How an operand is read whose places are all sums of loops."""
    results = []
    for place in places:
        assert isinstance(place, Linear)
        expression = ir.AffineExpr.get_constant(place.constant)
        for loop, coefficient in place.terms:
            expression = expression + ir.AffineExpr.get_dim(loop) * coefficient
        results.append(expression)
    return ir.AffineMap.get(loops, 0, results)


def pick(picked: Picked) -> Picked:
    """The same elements, read along loops alone: dimensions of like tables are gone through together."""
    _cut(picked)
    while tables := picked.tables():
        together = _group(picked, tables)
        if len(together) == 1 and (spread := _spread(picked, together[0])) is not None:
            picked = spread
        else:
            picked = _search(picked, together)
        _cut(picked)
    while (dims := _diagonal(picked)) is not None:
        picked = _straightened(picked, *dims)
    return picked


def _diagonal(picked: Picked) -> tuple[int, int] | None:
    """The first and the last of dimensions that one loop goes along."""
    found: dict[int, list[int]] = {}
    for d, place in enumerate(picked.places):
        for loop, _ in place.terms if isinstance(place, Linear) else ():
            found.setdefault(loop, []).append(d)
    return next(((dims[0], dims[-1]) for dims in found.values() if len(dims) > 1), None)


def _straightened(picked: Picked, first: int, last: int) -> Picked:
    """Dimensions made one, along which the same elements are picked by steps: a diagonal's are `n + 1`."""
    shape = shape_of(picked.tensor)
    terms: Counter[int] = Counter()
    stride = 1
    for d in range(last, first - 1, -1):
        place = picked.places[d]
        assert isinstance(place, Linear)
        for loop, coefficient in place.terms:
            terms[loop] += coefficient * stride
        stride *= shape[d]
    groups = [[d] for d in range(first)] + [list(range(first, last + 1))] + [[d] for d in range(last + 1, len(shape))]
    places = [*picked.places[:first], Linear(tuple(sorted(terms.items()))), *picked.places[last + 1 :]]
    return Picked(collapsed(picked.tensor, groups), places, picked.extents)


def _group(picked: Picked, tables: Sequence[int]) -> list[int]:
    """The first dimension, and all whose tables have a loop in common with it, or with one of these."""
    found, loops = [tables[0]], set(_loops(picked, tables[0]))
    while more := [d for d in tables if d not in found and loops & set(_loops(picked, d))]:
        found += more
        loops |= {loop for d in more for loop in _loops(picked, d)}
    return sorted(found)


def _loops(picked: Picked, dimension: int) -> tuple[int, ...]:
    place = picked.places[dimension]
    assert isinstance(place, Table)
    return place.loops


def _cut(picked: Picked) -> None:
    """Leaves out what no loop reaches, so that what is read begins at 0."""
    shape = shape_of(picked.tensor)
    offsets, sizes = [0] * len(shape), list(shape)
    for d, place in enumerate(picked.places):
        if isinstance(place, Linear):
            offsets[d], sizes[d] = place.constant, Linear(place.terms).extent(picked.extents)
            picked.places[d] = Linear(place.terms)
        elif place.places is not None:
            offsets[d], last = int(place.places.min()), int(place.places.max())
            sizes[d] = last + 1 - offsets[d]
            picked.places[d] = Table(place.loops, place.places - offsets[d])
    if sizes != list(shape):
        picked.tensor = extract_slice(picked.tensor, offsets, sizes)


def _spread(picked: Picked, dimension: int) -> Picked | None:
    """Where each element is picked equally often, one after the other, the tensor is read with a loop for that."""
    place = picked.places[dimension]
    assert isinstance(place, Table)
    size = shape_of(picked.tensor)[dimension]
    if place.places is None or len(place.loops) != 1 or place.places.size % size:
        return None
    often = place.places.size // size
    if not np.array_equal(place.places, np.repeat(np.arange(size), often)):
        return None
    shape = shape_of(picked.tensor)
    rank = len(shape)
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
    wide = [*shape[: dimension + 1], often, *shape[dimension + 1 :]]
    read = ir.AffineMap.get(rank + 1, 0, [loop for d, loop in enumerate(loops) if d != dimension + 1])
    made = moved(picked.tensor, empty(wide, element_type_of(picked.tensor)), read, ir.AffineMap.get_identity(rank + 1))
    groups = [[d] if d < dimension else [d, d + 1] if d == dimension else [d + 1] for d in range(rank)]
    kind = ir.RankedTensorType.get(
        [s * often if d == dimension else s for d, s in enumerate(shape)], element_type_of(made)
    )
    places = [Linear(((place.loops[0], 1),)) if d == dimension else p for d, p in enumerate(picked.places)]
    return Picked(tensor.CollapseShapeOp(kind, made, groups).result, places, picked.extents)


def _search(picked: Picked, dimensions: Sequence[int]) -> Picked:
    """Goes along some dimensions and keeps the elements that tables name, a new dimension for each of their loops."""
    shape, tables = shape_of(picked.tensor), [picked.places[d] for d in dimensions]
    named = sorted({loop for table in tables if isinstance(table, Table) for loop in table.loops})
    kept = [d for d in range(len(shape)) if d not in dimensions]
    # What is made has dimensions in the order of the loops that they follow, as far as those are plain.
    made: list[tuple[int, int | None]] = sorted(
        [(_order(picked.places[d]), d) for d in kept] + [(loop, None) for loop in named],
        key=lambda each: (each[0], each[1] is not None),
    )
    sizes = [picked.extents[loop] if d is None else shape[d] for loop, d in made]
    rank, depth = len(made), len(made) + len(dimensions)
    loops = [ir.AffineExpr.get_dim(d) for d in range(depth)]
    of_kept = {d: loops[i] for i, (_, d) in enumerate(made) if d is not None}
    of_loop = {loop: loops[i] for i, (loop, d) in enumerate(made) if d is None}
    along = {d: loops[rank + i] for i, d in enumerate(dimensions)}
    read = [along[d] if d in along else of_kept[d] for d in range(len(shape))]
    inputs, maps = [picked.tensor], [ir.AffineMap.get(depth, 0, read)]
    for table in tables:
        assert isinstance(table, Table)
        inputs.append(_as_tensor(table))
        maps.append(ir.AffineMap.get(depth, 0, [of_loop[loop] for loop in table.loops]))
    maps.append(ir.AffineMap.get(depth, 0, loops[:rank]))
    element = element_type_of(picked.tensor)
    nothing = zero(element)
    kinds = ["parallel"] * rank + ["reduction"] * len(dimensions)
    search = generic_op(inputs, [fill(nothing, empty(sizes, element))], maps, kinds)
    i32 = ir.IntegerType.get_signless(32)
    block = search.regions[0].blocks.append(element, *[i32] * len(dimensions), element)
    with ir.InsertionPoint(block):
        hits = []
        for i in range(len(dimensions)):
            here = arith.IndexCastOp(i32, linalg.IndexOp(rank + i).result).result
            hits.append(arith.CmpIOp(arith.CmpIPredicate.eq, block.arguments[1 + i], here).result)
        linalg.YieldOp(
            [arith.SelectOp(all_true(hits), block.arguments[0], block.arguments[len(dimensions) + 1]).result]
        )
    places = [Linear(((loop, 1),)) if d is None else picked.places[d] for loop, d in made]
    return Picked(search.results[0], list(places), picked.extents)


def _order(place: Place) -> int:
    return place.loop if isinstance(place, Linear) and place.loop is not None else -1


def _as_tensor(table: Table) -> ir.Value:
    if table.tensor is not None:
        return table.tensor
    assert table.places is not None
    values = table.places.astype(np.int32)
    i32 = ir.IntegerType.get_signless(32)
    kind = ir.RankedTensorType.get(list(values.shape), i32)
    return arith.ConstantOp(kind, tensor_constant(values, i32)).result
