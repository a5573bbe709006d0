"""What every turn of a loop moves alike comes into L2 or L1 once, in front of it. Pure.

    for block                                   allocate weights in L1
      for each core                             for each core
        allocate weights in L1                    weights: L2 to L1
        weights: L2 to L1                       for block
        kernel                                    for each core
                                                    kernel

In the IR a core's buffers live inside of its part of a block, so that nothing can stand in front of the block's loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from npuflow.schedule.nest.nest import L3, Allocate, BufferInfo, Kernel, Loop, Nest, Statement, Transfer, walk


def hoist(nest: Nest) -> None:
    """Moves what fills a buffer out of the loops that change nothing of it, in place."""
    _hoist_from(nest.body)


def _hoist_from(body: list[Statement]) -> None:
    for loop in [statement for statement in body if isinstance(statement, Loop)]:
        _hoist_from(loop.body)
        if loop.grid:
            continue
        while found := list(_constant_loads(loop)):
            for around, load in found:
                allocation = Allocate(load.target.buffer)
                _remove((load, allocation), loop.body)
                place = body.index(loop)
                body[place:place] = [allocation, _inside(around, load)]


def _constant_loads(loop: Loop) -> Iterator[tuple[tuple[Loop, ...], Transfer]]:
    """The loads that every turn of a loop does alike, with the grid loops around them in the loop."""
    inside = list(walk(loop.body))
    own = {s.buffer: around for s, around in inside if isinstance(s, Allocate)}
    for statement, around in inside:
        if not isinstance(statement, Transfer) or not all(outer.grid for outer in around):
            continue
        target, source = statement.target.buffer, statement.source.buffer
        if target.space == L3 or own.get(target) not in (around, ()) or _writers(target, loop) != 1:
            continue
        if source not in own and not _writers(source, loop) and loop.counter not in _counters(statement):
            yield around, statement


def _writers(buffer: BufferInfo, loop: Loop) -> int:
    """How many statements of a loop write a buffer."""
    transfers = sum(s.target.buffer is buffer for s, _ in walk(loop.body) if isinstance(s, Transfer))
    return transfers + sum(buffer in s.writes for s, _ in walk(loop.body) if isinstance(s, Kernel))


def _counters(transfer: Transfer) -> set[str]:
    """The counters that decide what is moved, from and to where."""
    numbers = [transfer.source.offset, transfer.target.offset]
    numbers += [bound for dimension in transfer.dimensions for bound in dimension.bounds]
    return {name for number in numbers for name in number.counters}


def _inside(around: tuple[Loop, ...], load: Transfer) -> Statement:
    """The load alone within loops over the cores like those around it."""
    moved: Statement = load
    for grid in reversed(around):
        moved = Loop(grid.counter, grid.trips, [moved], grid=True)
    return moved


def _remove(statements: tuple[Statement, ...], body: list[Statement]) -> None:
    """Takes statements out of a body, and loops that are empty without them."""
    for statement in list(body):
        if isinstance(statement, Loop):
            _remove(statements, statement.body)
        if statement in statements or (isinstance(statement, Loop) and not statement.body):
            body.remove(statement)
