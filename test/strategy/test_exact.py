"""Branch and bound finds what going through everything finds, and says so only where nothing was cut off wrongly."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuflow.strategy.estimate import Estimate
from npuflow.strategy.exact import ExactSearch, sizes_of
from npuflow.strategy.group import Group, M, N
from npuflow.strategy.mapping import Mapping
from npuflow.strategy.search import Search
from npuflow.strategy.space import space_of
from npuflow.strategy.strategy import Strategy
from npuflow.target.planned import planned

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, TailOperand, matmul_group

TAILS = ((), (TailOperand((N,), 4),), (TailOperand((M, N), 1),))


def search_of(group: Group, device: str, given: Strategy | None = None) -> Search:
    return Search.of(space_of(group, given or Strategy(), planned(DEVICES[device])), planned(DEVICES[device]))


def least_cost(search: Search, exact: ExactSearch) -> float:
    """The least of everything, one by one, and of what the other search finds."""
    space = search.space
    spreads = dict.fromkeys(space.spreads((*space.arrays, *space.parts)))
    everything = chain.from_iterable(exact.mappings(spread) for spread in spreads)
    found = search.best()
    known = [] if found is None else [search.cost(found)]
    return min([*known, *(search.cost(one) for one in everything if search.fits(one))])


@settings(max_examples=6)
@given(
    st.integers(1, 32),
    st.integers(1, 32),
    st.integers(1, 40),
    st.sampled_from(["toy", "npu1", "npu2"]),
    st.sampled_from(TAILS),
)
def test_nothing_is_better(m: int, n: int, k: int, device: str, tail: tuple[TailOperand, ...]) -> None:
    search = search_of(matmul_group(m, n, k, tail_operands=tail, result_bytes=1 if tail else None), device)
    exact = ExactSearch(search)
    best = exact.best()
    assert best is not None
    assert search.fits(best)
    assert exact.is_proved
    assert search.cost(best) == least_cost(search, exact)


def test_it_cuts_off_nearly_everything() -> None:
    search = search_of(matmul_group(128, 128, 128), "toy")
    exact = ExactSearch(search)
    exact.best()
    spreads = dict.fromkeys(search.space.spreads((*search.space.arrays, *search.space.parts)))
    everything = sum(1 for spread in spreads for _ in exact.mappings(spread))
    assert exact.is_proved
    assert exact.looked_at < everything / 20


def test_the_search_by_growing_is_never_better() -> None:
    for sizes in ((49, 64, 96), (1, 64, 256)):
        search = search_of(matmul_group(*sizes), "npu2")
        grown, best = search.best(), ExactSearch(search).best()
        assert grown is not None
        assert best is not None
        assert search.cost(best) <= search.cost(grown)


def test_what_is_left_unlooked_at_is_not_proved() -> None:
    exact = ExactSearch(search_of(matmul_group(196, 64, 384), "npu2"), most=3)
    assert exact.best() is not None
    assert not exact.is_proved


def test_an_estimate_below_its_floor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = Estimate.cost

    def too_low(self: Estimate, mapping: Mapping) -> float:
        return cost(self, mapping) / (10 if mapping.depths.l1 == 1 else 1)

    monkeypatch.setattr(Estimate, "cost", too_low)
    exact = ExactSearch(search_of(matmul_group(196, 64, 384), "npu2"))
    exact.best()
    assert not exact.is_proved


def test_tiles_that_somebody_said_are_not_enumerated() -> None:
    group = matmul_group(64, 64, 64)
    assert ExactSearch.applies_to(search_of(group, "npu2"))
    assert not ExactSearch.applies_to(search_of(group, "npu2", Strategy(tile_l1=(8, 8, 8))))


@given(st.integers(1, 400), st.sampled_from([1, 4, 8]))
def test_sizes_have_every_divisor_and_no_more_than_the_loop(size: int, unit: int) -> None:
    found = sizes_of(size, unit)
    whole = -(-size // unit)
    assert all(one % unit == 0 and one <= whole * unit for one in found)
    assert {unit * divisor for divisor in range(1, whole + 1) if whole % divisor == 0} <= set(found)
