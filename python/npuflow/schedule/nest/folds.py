"""Loops over blocks are cut into groups that the control processor sets up as one task each. Pure.

for block in 0..12          for group in 0..3
  ...                         for block in 0..4
                                ... (block + 4 * group)
"""

from __future__ import annotations

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import L3, Loop, Nest, Transfer, walk
from npuflow.schedule.nest.reroll import substituted


def fold_blocks(nest: Nest, size: int) -> frozenset[str]:
    """Cuts the outermost loops over so many blocks into groups, in place; the counters of loops over groups.

    Loops that so many blocks don't divide stay as they are.
    """
    groups: list[Loop] = []
    for at, loop in enumerate(nest.body):
        if not isinstance(loop, Loop) or loop.grid or not _writes_result(loop) or loop.trips % size:
            continue
        counter = f"{loop.counter}_group"
        values = {loop.counter: Affine.counter(loop.counter) + Affine.counter(counter, size)}
        block = Loop(loop.counter, size, substituted(loop.body, values))
        groups.append(Loop(counter, loop.trips // size, [block]))
        nest.body[at] = groups[-1]
    return frozenset(group.counter for group in groups)


def _writes_result(loop: Loop) -> bool:
    return any(isinstance(s, Transfer) and s.target.buffer.space == L3 for s, _ in walk(loop.body))
