"""A page that needs nothing but a browser, on which one goes through the tiles of a GEMM in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources

from npuflow.order.cache import LEAST_CAPACITY, PanelCache, Policy, TileGrid
from npuflow.order.optimum import MOST_STATES, Optimum, best_order

# The page knows the optimum of grids with so many rows and columns at most, and of the one that it was asked for.
_KNOWN_SIDE = 4

_PAGE = "explore.html"
_SCRIPTS = ("explore_orders.js", "explore.js")
_SCRIPT_MARK, _DATA_MARK = "/*SCRIPT*/", "/*DATA*/null"

Json = Mapping[str, object]


def explore_page(cache: PanelCache, most_states: int = MOST_STATES) -> str:
    """The page; it begins with the grid, capacity and policy of `cache`."""
    optima = {_key(one): _optimum(best_order(one, most_states)) for one in _known_caches(cache)}
    grid = cache.grid
    start = {"rows": grid.rows, "columns": grid.columns, "capacity": cache.capacity, "policy": cache.policy.value}
    script = "\n".join(map(_text, _SCRIPTS))
    data = json.dumps({"start": start, "optima": optima}, separators=(",", ":"))
    return _text(_PAGE).replace(_SCRIPT_MARK, script.replace(_DATA_MARK, data))


def _known_caches(cache: PanelCache) -> Iterator[PanelCache]:
    sides = range(1, _KNOWN_SIDE + 1)
    for policy in Policy:
        for grid in (TileGrid(rows, columns) for rows in sides for columns in sides):
            for capacity in range(LEAST_CAPACITY, grid.panels + 1):
                yield PanelCache(grid, capacity, policy)
        yield PanelCache(cache.grid, cache.used_capacity, policy)


def _key(cache: PanelCache) -> str:
    return f"{cache.grid}/{cache.capacity}/{cache.policy.value}"


def _optimum(found: Optimum) -> Json:
    return {"loads": found.loads, "bound": found.lower_bound, "order": found.order}


def _text(name: str) -> str:
    return (resources.files("npuflow.order") / name).read_text(encoding="utf-8")
