"""Loops over blocks are cut into groups that the control processor sets up as one task each. Pure.

for block in 0..12          for group in 0..3
  ...                         for block in 0..4
                                ... (block + 4 * group)
"""

from __future__ import annotations

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import L2, L3, Allocate, BufferInfo, Loop, Nest, Statement, Transfer, walk
from npuflow.schedule.nest.reroll import substituted


def fold_blocks(nest: Nest, size: int) -> frozenset[str]:
    """Cuts the outermost loops over so many blocks into groups, in place; the counters of loops over groups.

    Loops that so many don't divide stay as they are.
    """
    counters: set[str] = set()
    body: list[Statement] = []
    for at, loop in enumerate(nest.body):
        if not isinstance(loop, Loop) or loop.grid or not _writes_result(loop) or loop.trips % size:
            body.append(loop)
            continue
        counter = f"{loop.counter}_group"
        values = {loop.counter: Affine.counter(loop.counter) + Affine.counter(counter, size)}
        own = (_read([loop]) & _brought(body)) - _read(nest.body[at + 1 :])
        block = [*(s for s in body if _filled(s) in own), *substituted(loop.body, values)]
        body = [s for s in body if _filled(s) not in own]
        body.append(Loop(counter, loop.trips // size, [Loop(loop.counter, size, block)]))
        counters.add(counter)
    nest.body[:] = body
    return frozenset(counters)


def _writes_result(loop: Loop) -> bool:
    return any(isinstance(s, Transfer) and s.target.buffer.space == L3 for s, _ in walk(loop.body))


def _brought(body: list[Statement]) -> set[BufferInfo]:
    """The buffers in L2 that statements themselves fill, and none of their loops reads."""
    return {s.target.buffer for s in body if isinstance(s, Transfer) and s.target.buffer.space == L2} - _read(body)


def _read(body: list[Statement]) -> set[BufferInfo]:
    return {s.source.buffer for s, _ in walk(body) if isinstance(s, Transfer)}


def _filled(statement: Statement) -> BufferInfo | None:
    """The buffer that a statement allocates or fills."""
    if isinstance(statement, Allocate):
        return statement.buffer
    return statement.target.buffer if isinstance(statement, Transfer) else None
