"""Loads of orders, and the best order: against brute force where that is possible, and published exact minima."""

from __future__ import annotations

from itertools import pairwise

import pytest
from brute_force import loads_of_best_order, loads_of_order
from hypothesis import given
from hypothesis import strategies as st

from npuflow.errors import InputError
from npuflow.order.cache import MOST_TILES, PanelCache, Policy, TileGrid, check_cache
from npuflow.order.compared import compare_orders
from npuflow.order.named import named_orders
from npuflow.order.optimum import best_order, loads_bound
from npuflow.order.strips import strip_orders

POLICIES = list(Policy)


def all_tiles(grid: TileGrid) -> list[tuple[int, int]]:
    return [(row, column) for row in range(grid.rows) for column in range(grid.columns)]


@pytest.mark.parametrize(
    ("rows", "columns", "policy", "minima"),
    [
        (3, 3, Policy.BELADY, {2: 10, 3: 8, 4: 6}),
        (3, 4, Policy.BELADY, {2: 13, 3: 9, 4: 7}),
        (4, 4, Policy.BELADY, {2: 17, 3: 11, 4: 10, 5: 8, 6: 8}),
        (4, 4, Policy.LRU, {2: 17, 3: 11, 4: 10, 5: 9, 6: 8}),
    ],
)
def test_published_minima(rows: int, columns: int, policy: Policy, minima: dict[int, int]) -> None:
    for capacity, loads in minima.items():
        found = best_order(PanelCache(TileGrid(rows, columns), capacity, policy))
        assert (found.loads, found.is_exact) == (loads, True)


@pytest.mark.parametrize(
    ("name", "lru", "belady"),
    [("row-major", 20, 12), ("snake", 14, 11), ("z", 14, 12), ("hilbert", 12, 10), ("grouped-snake-2", 11, 10)],
)
def test_published_loads_of_named_orders(name: str, lru: int, belady: int) -> None:
    grid = TileGrid(4, 4)
    order = named_orders(grid)[name]
    assert sum(PanelCache(grid, 4, Policy.LRU).loads_of(order)) == lru
    assert sum(PanelCache(grid, 4, Policy.BELADY).loads_of(order)) == belady


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (4, 1), (2, 2), (2, 3), (3, 2), (3, 3)])
def test_the_optimum_is_what_brute_force_finds(rows: int, columns: int, policy: Policy) -> None:
    for capacity in range(2, rows + columns + 1):
        cache = PanelCache(TileGrid(rows, columns), capacity, policy)
        found = best_order(cache)
        assert found.is_exact
        assert found.loads == loads_of_best_order(cache), capacity


@given(st.data())
def test_loads_of_an_order_are_the_fewest_that_its_policy_allows(data: st.DataObject) -> None:
    grid = TileGrid(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)))
    order = data.draw(st.permutations(all_tiles(grid)))
    cache = PanelCache(grid, data.draw(st.integers(2, 6)), data.draw(st.sampled_from(POLICIES)))
    assert sum(cache.loads_of(order)) == loads_of_order(order, cache)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(2, 15), st.sampled_from(POLICIES))
def test_what_is_said_of_an_optimum_is_so(rows: int, columns: int, capacity: int, policy: Policy) -> None:
    grid = TileGrid(rows, columns)
    cache = PanelCache(grid, capacity, policy)
    found = best_order(cache, most_states=300)
    assert sorted(found.order) == all_tiles(grid)
    assert sum(cache.loads_of(found.order)) == found.loads
    known = [*named_orders(grid).values(), *strip_orders(grid, cache.used_capacity)]
    assert all(sum(cache.loads_of(order)) >= found.loads for order in known)
    assert loads_bound(cache) <= found.lower_bound <= found.loads


@given(st.integers(1, 5), st.integers(1, 5), st.integers(2, 10))
def test_rows_and_columns_can_be_exchanged(rows: int, columns: int, capacity: int) -> None:
    grid = TileGrid(rows, columns)
    loads = {best_order(PanelCache(one, capacity)).loads for one in (grid, grid.turned)}
    assert len(loads) == 1


@given(st.integers(1, 9), st.integers(1, 9), st.integers(2, 12))
def test_every_order_has_each_tile_once(rows: int, columns: int, capacity: int) -> None:
    grid = TileGrid(rows, columns)
    for order in (*named_orders(grid).values(), *strip_orders(grid, min(capacity, grid.panels))):
        assert sorted(order) == all_tiles(grid)


def test_neighbours_on_hilberts_curve_are_neighbours_in_the_grid() -> None:
    order = named_orders(TileGrid(16, 16))["hilbert"]
    assert {abs(a - c) + abs(b - d) for (a, b), (c, d) in pairwise(order)} == {1}


def test_z_goes_through_quarters() -> None:
    order = named_orders(TileGrid(4, 4))["z"]
    quarters = [{(row // 2, column // 2) for row, column in order[k : k + 4]} for k in range(0, 16, 4)]
    assert quarters == [{(0, 0)}, {(0, 1)}, {(1, 0)}, {(1, 1)}]


def test_orders_better_than_strips_are_found() -> None:
    cache = PanelCache(TileGrid(4, 4), 3, Policy.LRU)
    strips = min(sum(cache.loads_of(order)) for order in strip_orders(cache.grid, cache.capacity))
    assert best_order(cache).loads < strips


def test_large_grids_have_a_bound_and_an_order_near_it() -> None:
    cache = PanelCache(TileGrid(120, 90), 12)
    found = best_order(cache)
    # Strips of 11 rows or columns: 10 of 120 x 90 tiles are left to single panels.
    assert not found.is_exact
    assert found.lower_bound == 12 + -(-(120 * 90 - 36) // 11)
    assert found.loads < 1.2 * found.lower_bound


def test_results_count_once_each() -> None:
    plain, counted = (compare_orders(PanelCache(TileGrid(3, 4), 3), write_back=writes) for writes in (False, True))
    assert counted.optimum.cost == plain.optimum.cost + 12
    assert counted.lower_bound == plain.lower_bound + 12
    assert {name: one.cost - 12 for name, one in counted.orders.items()} == {
        name: one.cost for name, one in plain.orders.items()
    }


@pytest.mark.parametrize(
    ("grid", "capacity", "what"),
    [
        (TileGrid(0, 3), 4, "0x3 has no tiles"),
        (TileGrid(3, 3), 1, "there is room for 1"),
        (TileGrid(3, 3), 0, "there is room for 0"),
        (TileGrid(MOST_TILES, 2), 4, f"more than the {MOST_TILES}"),
    ],
)
def test_what_has_no_order_is_refused(grid: TileGrid, capacity: int, what: str) -> None:
    with pytest.raises(InputError, match=what):
        check_cache(PanelCache(grid, capacity))
