"""Index values as data: affine sums, and maxima and minima of them, which stand in sums under a name of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.schedule.data.affine import Affine


@dataclass(frozen=True)
class Extent:
    """Which indices of a dimension exist: from `lower` (None: from 0) to below `full` and below `limit`."""

    full: int
    limit: Affine | None = None
    lower: Affine | None = None


@dataclass(frozen=True)
class ViewStart:
    """Where a dimension of a view begins: at `base`, of whose indices those below `lower` don't exist.

    Nor may those from `last` on.
    """

    base: Affine
    lower: Affine | None = None
    last: Affine | None = None


@dataclass(frozen=True)
class _Extreme:
    """The largest or the smallest of some sums."""

    is_largest: bool
    options: tuple[Affine, ...]


@dataclass
class Bounds:
    """The maxima and minima of a function, by the names under which sums use them.

    A block with a halo begins at max(0, o) and is put max(0, o) - o behind the beginning of its buffer: counted from o,
    in the tensor, and from the beginning of the buffer, all is affine, and what doesn't exist is below an affine bound.
    A block that may lie wholly in the padding begins at min(size, max(0, o)) and ends at max(0, min(size, o + extent)).
    """

    _bounds: dict[str, _Extreme] = field(default_factory=dict)

    def largest(self, options: Sequence[Affine]) -> Affine:
        return self._bound(_Extreme(True, _distinct(options)))

    def smallest(self, options: Sequence[Affine]) -> Affine:
        return self._bound(_Extreme(False, _distinct(options)))

    def _bound(self, bound: _Extreme) -> Affine:
        constants = [option.constant for option in bound.options if option.is_constant]
        others = tuple(option for option in bound.options if not option.is_constant)
        if constants:
            others = (*others, Affine(max(constants) if bound.is_largest else min(constants)))
        return others[0] if len(others) == 1 else self._named(_Extreme(bound.is_largest, others))

    def _named(self, bound: _Extreme) -> Affine:
        name = f"{'max' if bound.is_largest else 'min'}({', '.join(map(str, bound.options))})"
        self._bounds[name] = bound
        return Affine.counter(name)

    def is_affine(self, total: Affine) -> bool:
        return not self._in(total)

    def _in(self, total: Affine) -> list[str]:
        return [name for name in total.counters if name in self._bounds]

    def place(self, start: Affine) -> ViewStart | None:
        """Where a dimension begins that starts at `start`; None where that isn't affine even counted from elsewhere.

        A start of min(C, m) is taken for m: nothing exists behind C (`extent` sees to it), so nothing begins there.
        """
        name = self._only(start)
        if name is None:
            return ViewStart(start) if self.is_affine(start) else None
        bound, rest = self._bounds[name], start - Affine.counter(name)
        constants = [option for option in bound.options if option.is_constant]
        others = [option for option in bound.options if not option.is_constant]
        if (len(constants), len(others)) != (1, 1):
            return None
        place = self.place(others[0] + rest)
        if place is None:
            return None
        edge = constants[0] + rest - place.base
        if bound.is_largest:
            return ViewStart(place.base, edge, place.last) if place.lower is None else None
        return ViewStart(place.base, place.lower, edge) if place.last is None else None

    def _only(self, total: Affine) -> str | None:
        """The one bound in a sum, where that is it or something added to it."""
        names = self._in(total)
        return names[0] if len(names) == 1 and total.coefficient(names[0]) == 1 else None

    def extent(self, start: Affine, place: ViewStart, size: Affine) -> Extent | None:
        """Which indices exist, counted from `place`, of `size` from `start` on; None where that isn't affine."""
        ends = self._smallest_of(size + (start - place.base), place.lower or Affine())
        constants = [end.constant for end in ends if end.is_constant]
        others = list(dict.fromkeys(end for end in ends if not end.is_constant))
        if not constants or len(others) > 1 or not all(map(self.is_affine, others)):
            return None
        if place.last is not None and place.last not in ends:
            return None
        return Extent(min(constants), others[0] if others else None, place.lower)

    def _smallest_of(self, end: Affine, begin: Affine) -> list[Affine]:
        """The sums of which `end` is the smallest; of one that is at least `begin`, where nothing exists, the other."""
        name = self._only(end)
        if name is None:
            return [end]
        bound, rest = self._bounds[name], end - Affine.counter(name)
        options = [option + rest for option in bound.options]
        if bound.is_largest:
            options = [option for option in options if option != begin]
            return self._smallest_of(options[0], begin) if len(options) == 1 else [end]
        return [least for option in options for least in self._smallest_of(option, begin)]

    def tiles(self, total: Affine, tile: int) -> Affine | None:
        """How many tiles cover so many indices, of which the last may be partial: as many as the most take."""
        if total.is_constant:
            return Affine(-(-total.constant // tile))
        found = self.extent(Affine(), ViewStart(Affine()), total)
        return None if found is None else self._named(_Extreme(False, (Affine(-(-found.full // tile)),)))


def _distinct(options: Sequence[Affine]) -> tuple[Affine, ...]:
    return tuple(dict.fromkeys(options))


Tiles = Callable[[Affine, int], "Affine | None"]


def evaluate_affine(
    op: ir.Operation, expression: ir.AffineExpr, values: Sequence[Affine], dims: int, tiles: Tiles | None = None
) -> Affine:
    """An affine expression over known sums; `tiles` is how its ceildiv is done."""
    if isinstance(expression, ir.AffineConstantExpr):
        return Affine(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return values[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return values[dims + expression.position]
    left = evaluate_affine(op, expression.lhs, values, dims, tiles)
    right = evaluate_affine(op, expression.rhs, values, dims, tiles)
    result = _combine(expression, left, right, tiles)
    if result is None:
        raise fail(op, f"the index expression {expression} cannot be scheduled", "use sums of constant multiples")
    return result


def _combine(expression: ir.AffineExpr, left: Affine, right: Affine, tiles: Tiles | None) -> Affine | None:
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr) and (left.is_constant or right.is_constant):
        return left * right.constant if right.is_constant else right * left.constant
    if not right.is_constant or right.constant < 1:
        return None
    if isinstance(expression, ir.AffineFloorDivExpr):
        return left.exact_quotient(right.constant)
    if isinstance(expression, ir.AffineCeilDivExpr):
        return tiles(left, right.constant) if tiles else left.exact_quotient(right.constant)
    return None
