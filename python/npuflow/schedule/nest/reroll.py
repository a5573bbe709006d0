"""Peeled steps back into their loop: a transfer that peeling duplicated is one logical transfer. Pure.

Peeling leaves `step(0); for i: step(i + 1); step(last)`, and short loops leave just `step(0); step(1)`. Both become one
loop again, with one set of buffers, if their kernels compute the same. Fills between the statements of steps come in
front of the loop, unless what they come before uses what they fill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import (
    Allocate,
    BufferInfo,
    Dimension,
    End,
    Kernel,
    Loop,
    Nest,
    Statement,
    Transfer,
    walk,
)


def reroll(nest: Nest) -> None:
    """Rerolls every body of the nest, in place, and drops limits that no step reaches."""
    _reroll_body(nest.body, (f"r{number}" for number in count()))
    trips = {s.counter: s.trips for s, _ in walk(nest.body) if isinstance(s, Loop)}
    _drop_idle_limits(nest.body, trips)


def _drop_idle_limits(body: list[Statement], trips: dict[str, int]) -> None:
    for index, statement in enumerate(body):
        if isinstance(statement, Loop):
            _drop_idle_limits(statement.body, trips)
        elif isinstance(statement, Transfer):
            dimensions = tuple(dimension.without_idle_bounds(trips) for dimension in statement.dimensions)
            body[index] = replace(statement, dimensions=tuple(d for d in dimensions if d.extent != 1 or d.is_limited))


def _reroll_body(body: list[Statement], fresh_counters: Iterator[str]) -> None:
    for statement in body:
        if isinstance(statement, Loop):
            _reroll_body(statement.body, fresh_counters)
    while _absorb_neighbours(body) or _roll_pair(body, fresh_counters):
        pass


@dataclass
class _Renaming:
    """A one-to-one match between the names of two statement lists."""

    buffers: dict[BufferInfo, BufferInfo] = field(default_factory=dict)
    counters: dict[str, Affine] = field(default_factory=dict)

    def matches(self, left: BufferInfo, right: BufferInfo, fresh: set[BufferInfo]) -> bool:
        """`right` must be the same buffer, or the counterpart of one that both lists allocate for themselves."""
        if left is right:
            return True
        if left not in fresh or (left.shape, left.element_type, left.space) != (
            right.shape,
            right.element_type,
            right.space,
        ):
            return False
        return self.buffers.setdefault(left, right) is right

    def equal(self, left: Affine, right: Affine) -> bool:
        return left.substitute(self.counters) == right


def _same(left: list[Statement], right: list[Statement], names: _Renaming, fresh: set[BufferInfo]) -> bool:
    return len(left) == len(right) and all(_same_one(a, b, names, fresh) for a, b in zip(left, right))


def _same_one(left: Statement, right: Statement, names: _Renaming, fresh: set[BufferInfo]) -> bool:
    if isinstance(left, Allocate) and isinstance(right, Allocate):
        fresh.add(left.buffer)
        return names.matches(left.buffer, right.buffer, fresh)
    if isinstance(left, Loop) and isinstance(right, Loop):
        names.counters[left.counter] = Affine.counter(right.counter)
        return (left.trips, left.grid) == (right.trips, right.grid) and _same(left.body, right.body, names, fresh)
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        pairs = [*zip(left.reads, right.reads), *zip(left.writes, right.writes)]
        return left.code == right.code and all(names.matches(a, b, fresh) for a, b in pairs)
    if isinstance(left, Transfer) and isinstance(right, Transfer):
        return _same_transfer(left, right, names, fresh)
    return False


def _same_transfer(left: Transfer, right: Transfer, names: _Renaming, fresh: set[BufferInfo]) -> bool:
    if left.pads != right.pads or len(left.dimensions) != len(right.dimensions):
        return False
    for a, b in ((left.source, right.source), (left.target, right.target)):
        if not names.matches(a.buffer, b.buffer, fresh) or not names.equal(a.offset, b.offset):
            return False
    return all(_same_dimension(a, b, names) for a, b in zip(left.dimensions, right.dimensions))


def _same_dimension(left: Dimension, right: Dimension, names: _Renaming) -> bool:
    if left.factors != right.factors:
        return False
    return _same_bound(left.limit, right.limit, names) and _same_bound(left.lower, right.lower, names)


def _same_bound(left: Affine | None, right: Affine | None, names: _Renaming) -> bool:
    if left is None or right is None:
        return left is right
    return names.equal(left, right)


def _is_fill(statement: Statement) -> bool:
    return isinstance(statement, Kernel) and statement.kind == "fill"


def _may_fill_first(statements: list[Statement]) -> bool:
    """Whether the fills among the statements can come in front of all others."""
    used: set[BufferInfo] = set()
    for statement in statements:
        own = set(_used_in([statement]))
        if not _is_fill(statement):
            used |= own
        elif own & used:
            return False
    return True


def _absorb_neighbours(body: list[Statement]) -> bool:
    """Takes the step before, or behind, a loop into it."""
    for index, loop in enumerate(body):
        if not isinstance(loop, Loop) or loop.grid:
            continue
        size = len(loop.body)
        before = [i for i in range(index) if not _is_fill(body[i])][-size:]
        if len(before) == size and _may_fill_first(body[before[0] : index]) and _is_step_of(loop, before, -1, body):
            shifted = _shift(loop.body, loop.counter, -1)
            loop.body[:] = shifted
            loop.trips += 1
            for i in reversed(before):
                del body[i]
            return True
        behind = range(index + 1, index + 1 + size)
        if behind.stop <= len(body) and _is_step_of(loop, behind, loop.trips, body):
            loop.trips += 1
            del body[behind.start : behind.stop]
            return True
    return False


def _is_step_of(loop: Loop, places: Sequence[int], value: int, body: list[Statement]) -> bool:
    return _is_step(loop, [body[i] for i in places], value) and _is_closed(places, body)


def _is_closed(places: Sequence[int], body: list[Statement]) -> bool:
    """Nothing else in a body uses what the statements in some of its places allocate."""
    own = {s.buffer for s, _ in walk([body[i] for i in places]) if isinstance(s, Allocate)}
    return own.isdisjoint(_used_in([statement for i, statement in enumerate(body) if i not in places]))


def _used_in(statements: list[Statement]) -> Iterator[BufferInfo]:
    for statement, _ in walk(statements):
        if isinstance(statement, Kernel):
            yield from (*statement.reads, *statement.writes)
        elif isinstance(statement, Transfer):
            yield from (statement.source.buffer, statement.target.buffer)


def _is_step(loop: Loop, statements: list[Statement], value: int) -> bool:
    names = _Renaming(counters={loop.counter: Affine(value)})
    return _same(loop.body, statements, names, set())


def _shift(body: list[Statement], counter: str, by: int) -> list[Statement]:
    return substituted(body, {counter: Affine.counter(counter, 1, by)})


def substituted(body: list[Statement], values: dict[str, Affine]) -> list[Statement]:
    """The statements with counters substituted."""
    result: list[Statement] = []
    for statement in body:
        if isinstance(statement, Loop):
            inner = {name: value for name, value in values.items() if name != statement.counter}
            result.append(replace(statement, body=substituted(statement.body, inner)))
        elif isinstance(statement, Transfer):
            result.append(_map_transfer(statement, values))
        else:
            result.append(statement)
    return result


def _map_transfer(transfer: Transfer, values: dict[str, Affine]) -> Transfer:
    ends = [End(end.buffer, end.offset.substitute(values)) for end in (transfer.source, transfer.target)]
    dimensions = tuple(dimension.substitute(values) for dimension in transfer.dimensions)
    return replace(transfer, source=ends[0], target=ends[1], dimensions=dimensions)


def _roll_pair(body: list[Statement], fresh_counters: Iterator[str]) -> bool:
    """Makes a loop of two steps that follow each other and differ by a constant in their addresses only."""
    for start, statement in enumerate(body):
        if not isinstance(statement, Allocate):
            continue
        rest = [i for i in range(start, len(body)) if not _is_fill(body[i])]
        for size in range(2, len(rest) // 2 + 1):
            first, second = ([body[i] for i in rest[at : at + size]] for at in (0, size))
            steps = _interpolate_all(first, second, _UNNAMED)
            loop = Loop(_UNNAMED, 2, steps or [])
            if steps is None or not _is_step(loop, first, 0) or not _is_step(loop, second, 1):
                continue
            together = body[start : rest[2 * size - 1] + 1]
            if not _is_closed(rest[: 2 * size], body) or not _may_fill_first(together):
                continue
            counter = next(fresh_counters)
            named = Loop(counter, 2, substituted(steps, {_UNNAMED: Affine.counter(counter)}))
            body[start : rest[2 * size - 1] + 1] = [*filter(_is_fill, together), named]
            return True
    return False


_UNNAMED = "?"


def _interpolate_all(first: list[Statement], second: list[Statement], counter: str) -> list[Statement] | None:
    """Statements that are `first` at 0 and, if they fit together at all, `second` at 1; None where they can't."""
    if [type(s) for s in first] != [type(s) for s in second] or not any(isinstance(s, (Transfer, Loop)) for s in first):
        return None
    body: list[Statement] = []
    for a, b in zip(first, second):
        if isinstance(a, Transfer) and isinstance(b, Transfer):
            body.append(_interpolate(a, b, counter))
        elif isinstance(a, Loop) and isinstance(b, Loop):
            inner = _interpolate_all(a.body, b.body, counter)
            if inner is None:
                return None
            body.append(replace(a, body=inner))
        else:
            body.append(a)
    return body


def _interpolate(first: Transfer, second: Transfer, counter: str) -> Transfer:
    ends = []
    for a, b in ((first.source, second.source), (first.target, second.target)):
        step = b.offset.constant - a.offset.constant
        ends.append(End(a.buffer, a.offset + Affine.counter(counter, step)))
    dimensions = []
    for c, d in zip(first.dimensions, second.dimensions):
        limit, lower = (_between(x, y, counter) for x, y in ((c.limit, d.limit), (c.lower, d.lower)))
        dimensions.append(replace(c, limit=limit, lower=lower))
    return replace(first, source=ends[0], target=ends[1], dimensions=tuple(dimensions))


def _between(first: Affine | None, second: Affine | None, counter: str) -> Affine | None:
    if first is None or second is None:
        return first
    return first + Affine.counter(counter, second.constant - first.constant)
