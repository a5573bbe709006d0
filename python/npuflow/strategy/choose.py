"""Completes what a user left open of a group's strategy. Pure: the one way into the search."""

from __future__ import annotations

from functools import lru_cache

from npuflow.strategy.group import Group
from npuflow.strategy.mapping import strategy_of
from npuflow.strategy.search import Search
from npuflow.strategy.space import Array, space_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device


@lru_cache(maxsize=256)
def complete(
    group: Group, given: Strategy, device: Device, *, whole_k: bool = False, array: Array | None = None
) -> Strategy:
    """The best strategy that keeps to what is given; where nothing fits, the smallest, which `feasibility` judges.

    `array` are the rows and columns to be taken where nothing else is said.
    """
    ways = [group] if not given.gather else []
    if given.gather != 0 and (gathered := group.with_gather()) is not None:
        ways.append(gathered)
    spaces = [space_of(way, given, device, whole_k=whole_k, array=array) for way in ways or [group]]
    searches = [Search.of(space, device) for space in spaces]
    found = [(search.cost(best), search, best) for search in searches if (best := search.best()) is not None]
    if not found:
        return strategy_of(group, spaces[0].smallest(), given)
    _, search, mapping = min(found, key=lambda each: each[0])
    return strategy_of(search.space.group, mapping, given)
