"""Completes what a user left open of a group's strategy. Pure: the one way into the search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from npuflow.core.answers import Answers
from npuflow.errors import Shortage
from npuflow.strategy.feasibility import is_beyond_count
from npuflow.strategy.group import Group
from npuflow.strategy.mapping import Mapping, mapping_of, strategy_of
from npuflow.strategy.room import l1_descriptors, tile_descriptors
from npuflow.strategy.search import PLAYED, Search
from npuflow.strategy.space import Array, space_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, MemoryLevel
from npuflow.target.planned import goes_around_l2

# Where nothing fits any more: every row of cores takes descriptors of its own.
_ONE_CORE: Array = (1, 1)


def _counted_on(device: Device, lack: Shortage, group: Group, mapping: Mapping) -> Device:
    """The device with as much less as the next choice should need, by its estimate, than a mapping did."""
    if lack.unit == "bytes":
        levels = (_with_less(one, lack) if one.number == lack.level else one for one in device.levels)
        return replace(device, levels=tuple(levels))
    estimated = l1_descriptors(group, mapping)
    if lack.level != device.kernel_level:
        estimated = tile_descriptors(group, mapping, device)
    limit = min(estimated - 1, estimated * lack.have // lack.need)
    level = device.kernel_level if lack.level == device.kernel_level else device.block_level
    dmas = (
        replace(dma, descriptors=limit * dma.descriptor_groups) if dma.level == level else dma for dma in device.dmas
    )
    return replace(device, dmas=tuple(dmas))


def _with_less(level: MemoryLevel, lack: Shortage) -> MemoryLevel:
    """A memory with room for as much less as a schedule needed too much; a byte where nothing is to be counted on."""
    return replace(level, reserved_bytes=level.bytes - max(1, level.usable_bytes * lack.have // lack.need))


def complete(
    group: Group,
    given: Strategy,
    device: Device,
    *,
    whole_k: bool = False,
    array: Array | None = None,
    lacked: tuple[Shortage, ...] = (),
) -> Strategy:
    """The best strategy that keeps to what is given; where nothing fits, the smallest, which `feasibility` judges.

    `array` are the rows and columns to be taken where nothing else is said; `lacked` is what the choices before this
    one needed, the best first.
    """
    return ranked(group, given, device, whole_k=whole_k, array=array, lacked=lacked)[0]


def least(group: Group, given: Strategy, device: Device) -> Strategy:
    """The strategy of the least estimate, whatever is played out: what compares with the estimates of other groups."""
    return min(_found(group, given, device, _Wish(1)), key=lambda one: one.cost).strategy


def ranked(
    group: Group,
    given: Strategy,
    device: Device,
    count: int = 1,
    *,
    whole_k: bool = False,
    array: Array | None = None,
    lacked: tuple[Shortage, ...] = (),
) -> tuple[Strategy, ...]:
    """So many of the best strategies, as `complete` has them, or as there are; the best first."""
    found = _found(group, given, device, _Wish(count, whole_k=whole_k, array=array, lacked=lacked))
    return tuple(one.strategy for one in found[:count])


@dataclass(frozen=True)
class CostedStrategy:
    """A strategy, and what searches make small.

    `cost` is by the estimate, and somewhat more on a part of the array; `played_cost` has the last word.
    """

    strategy: Strategy
    cost: float = inf
    played_cost: float = inf


def ranked_with_costs(
    group: Group, given: Strategy, device: Device, count: int, *, lacked: tuple[Shortage, ...] = ()
) -> tuple[CostedStrategy, ...]:
    """So many of the best strategies at least, or as there are, with their costs; the best first."""
    return _found(group, given, device, _Wish(count, lacked=lacked))


def ranked_by_estimate(
    group: Group, given: Strategy, device: Device, count: int, *, lacked: tuple[Shortage, ...] = ()
) -> tuple[CostedStrategy, ...]:
    """So many of the strategies of the least estimates, or as there are, nothing played out; the least first."""
    return _found(group, given, device, _Wish(count, plays=False, lacked=lacked))[:count]


@dataclass(frozen=True)
class _Wish:
    """How many of the best are wanted: of those that are when it `plays` them out, or by the estimate alone."""

    count: int
    plays: bool = True
    whole_k: bool = False
    array: Array | None = None
    lacked: tuple[Shortage, ...] = ()


# More than what fusing asks of one network: a function that is compiled again, as something was refused, asks alike.
CHOSEN: Answers[tuple[CostedStrategy, ...]] = Answers(4096)


def _found(group: Group, given: Strategy, device: Device, wish: _Wish) -> tuple[CostedStrategy, ...]:
    """So many of the best at least, or as there are, the best first; where nothing fits, the smallest."""
    if wish.plays and not goes_around_l2(device):
        wish = replace(wish, count=max(wish.count, PLAYED))
    return CHOSEN.of((group, given, device, wish), lambda: _searched(group, given, device, wish))


def _searched(group: Group, given: Strategy, device: Device, wish: _Wish) -> tuple[CostedStrategy, ...]:
    whole_k, array = wish.whole_k, wish.array
    for lack in wish.lacked:
        before = complete(group, given, device, whole_k=whole_k, array=array)
        device = _counted_on(device, lack, group, mapping_of(group, before, whole_k=whole_k))
        array = array if lack.have else _ONE_CORE
    ways = [group] if not given.gather else []
    if given.gather != 0 and (gathered := group.with_gather()) is not None:
        ways.append(gathered)
    spaces = [space_of(way, given, device, whole_k=whole_k, array=array) for way in ways or [group]]
    smallest = strategy_of(group, spaces[0].smallest(), given)
    if is_beyond_count(smallest):
        return (CostedStrategy(smallest),)
    best: list[CostedStrategy] = []
    for space in spaces:
        below = max(one.cost for one in best) if best and len(best) >= wish.count else inf
        search = Search(space, device)
        found = (search.played if wish.plays else search.estimated)(wish.count, below=below)
        best += [
            CostedStrategy(strategy_of(space.group, one.mapping, given), one.cost, one.played_cost) for one in found
        ]
    return tuple(sorted(best, key=lambda one: one.played_cost)) or (CostedStrategy(smallest),)
