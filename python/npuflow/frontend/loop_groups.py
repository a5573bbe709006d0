"""Which loops of an op can be one: those that every operand goes through side by side, in the same order.

Operands are given as the loop that each of their dimensions follows; None is a dimension of one element.
"""

from __future__ import annotations

from collections.abc import Sequence

Dims = Sequence[int | None]


def loop_groups(operands: Sequence[Dims], reductions: frozenset[int]) -> list[tuple[int, ...]]:
    """The loops in groups that can be one loop each, from the outermost on; reductions stay among themselves."""
    loops = sorted({loop for dims in operands for loop in dims if loop is not None})
    following = {loop: _next(loop, operands, reductions) for loop in loops}
    starts = [loop for loop in loops if loop not in following.values()]
    return [_chain(start, following) for start in starts]


def _next(loop: int, operands: Sequence[Dims], reductions: frozenset[int]) -> int | None:
    """The loop that comes next in every operand that has either of the two."""
    after = {_behind(dims, loop) for dims in operands if loop in dims}
    if len(after) != 1:
        return None
    (found,) = after
    if found is None or (found in reductions) != (loop in reductions):
        return None
    return found if all((found in dims) == (loop in dims) for dims in operands) else None


def _behind(dims: Dims, loop: int) -> int | None:
    plain = [d for d in dims if d is not None]
    place = plain.index(loop)
    return plain[place + 1] if place + 1 < len(plain) and plain.count(loop) == 1 else None


def _chain(start: int, following: dict[int, int | None]) -> tuple[int, ...]:
    chain = [start]
    while (after := following[chain[-1]]) is not None:
        chain.append(after)
    return tuple(chain)


def collapsed_dims(dims: Dims, groups: Sequence[tuple[int, ...]]) -> list[tuple[int, list[int]]] | None:
    """The groups that an operand's dimensions make, in order, each with the dimensions that it takes.

    Dimensions of one element go with the group in front of them, leading ones with the first. None where the operand
    has only a part of a group, or in another order.
    """
    place = {loop: (number, i) for number, group in enumerate(groups) for i, loop in enumerate(group)}
    found: list[tuple[int, list[int]]] = []
    leading: list[int] = []
    seen = 0
    for dimension, loop in enumerate(dims):
        if loop is None:
            (found[-1][1] if found else leading).append(dimension)
            continue
        number, index = place[loop]
        if index == 0 and _is_whole(found, seen, groups):
            found.append((number, [dimension]))
        elif found and found[-1][0] == number and index == seen:
            found[-1][1].append(dimension)
        else:
            return None
        seen = index + 1
    if not found or not _is_whole(found, seen, groups):
        return None
    found[0][1][:0] = leading
    return found


def _is_whole(found: list[tuple[int, list[int]]], seen: int, groups: Sequence[tuple[int, ...]]) -> bool:
    """Whether the last group was gone through to its end."""
    return not found or seen == len(groups[found[-1][0]])
