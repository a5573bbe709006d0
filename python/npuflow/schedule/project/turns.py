"""Transfers that go piece by piece: what takes too many descriptors at once is moved in turns. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import L3, Dimension, End, Transfer


@dataclass(frozen=True)
class Turns:
    """A transfer between L3 and L2 as loops, outermost first, of (counter, trips) around a smaller one."""

    loops: tuple[tuple[str, int], ...]
    transfer: Transfer


def in_turns(transfer: Transfer, is_small: Callable[[Transfer], bool]) -> Turns:
    """The transfer in as few turns as make it small, from what is furthest apart in L3 on; the order stays."""
    loops: list[tuple[str, int]] = []
    while not is_small(transfer):
        place = _outermost(transfer)
        if place is None:
            break
        counter = f"turn{len(loops)}_{transfer.source.buffer.name}_{transfer.target.buffer.name}"
        loops.append((counter, transfer.dimensions[place[0]].factors[place[1]].size))
        transfer = _one_turn(transfer, place, counter)
    return Turns(tuple(loops), transfer)


def _outermost(transfer: Transfer) -> tuple[int, int] | None:
    """The dimension and the factor in it that step furthest in L3; None where none steps."""
    is_read = transfer.source.buffer.space == L3
    places = {
        (d, f): factor.source_stride if is_read else factor.target_stride
        for d, dimension in enumerate(transfer.dimensions)
        for f, factor in enumerate(dimension.factors)
        if factor.size > 1
    }
    return max(places, key=lambda place: places[place]) if places else None


def _one_turn(transfer: Transfer, place: tuple[int, int], counter: str) -> Transfer:
    d, f = place
    dimension = transfer.dimensions[d]
    factor = dimension.factors[f]
    turn = Affine.counter(counter)
    others = (*dimension.factors[:f], *dimension.factors[f + 1 :])
    limit, lower = (
        None if bound is None else bound - turn * factor.weight for bound in (dimension.limit, dimension.lower)
    )
    rest = Dimension(others or (replace(factor, size=1),), limit, lower)
    return replace(
        transfer,
        source=_moved(transfer.source, turn * factor.source_stride),
        target=_moved(transfer.target, turn * factor.target_stride),
        dimensions=(*transfer.dimensions[:d], rest, *transfer.dimensions[d + 1 :]),
    )


def _moved(end: End, by: Affine) -> End:
    return replace(end, offset=end.offset + by)
