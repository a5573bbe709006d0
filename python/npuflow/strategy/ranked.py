"""The best mappings by the estimate, one after the other: from what a search has seen on to what is beside it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import islice

from npuflow.strategy.mapping import Mapping
from npuflow.strategy.search import Search

# Of what a search has seen, so many are gone on from.
_SEEDS = 64


def ranked(search: Search, count: int) -> list[Mapping]:
    """Mappings that fit, the best first: so many, with all that is beside them.

    Mappings are gone through from the best on, each with all that differ from it in one size, the slots of one buffer,
    the loops or the part of the array that it is spread over, or the order of blocks. What no path of mappings that fit
    leads to isn't found, and what is found later may be better than what was found before.
    """
    search.best()
    seeds = search.seen()[:_SEEDS]
    found = set(seeds)
    heap = [(search.cost(one), number, one) for number, one in enumerate(seeds)]
    heapify(heap)
    taken: list[Mapping] = []
    while heap and len(taken) < count:
        *_, mapping = heappop(heap)
        taken.append(mapping)
        for other in beside(search, mapping):
            if other not in found and search.fits(other):
                found.add(other)
                heappush(heap, (search.cost(other), len(found), other))
    return sorted(found, key=lambda one: (search.cost(one), one.tiles))


def beside(search: Search, mapping: Mapping) -> Iterator[Mapping]:
    """What differs from a mapping in one thing, whether it fits or not."""
    near, space = search.near, search.space
    yield from near.larger(mapping)
    yield from (cut for place in near.places if (cut := near.smaller(mapping, place)) is not None)
    yield from (replace(mapping, depths=mapping.depths.with_other(name)) for name in space.slots)
    yield from (replace(mapping, spread=spread) for spread in space.spreads((*space.arrays, *space.parts)))
    if space.opens_order:
        yield from islice(search.orders(mapping), _SEEDS)
