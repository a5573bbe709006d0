"""Nothing is better than what is found and said to be proved; what isn't proved is said to be so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.ops.linear import Linear
from npuflow.ops.products import padded
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group, M, N, OpWork, Role, Tensor
from npuflow.strategy.mapping import Depths, Mapping
from npuflow.strategy.room import fits
from npuflow.strategy.search import Search
from npuflow.strategy.space import Space, space_of
from npuflow.strategy.strategy import Strategy
from npuflow.target.planned import planned

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, TailOperand, adding, matmul_group

TAILS = ((), (TailOperand((N,), 4),), (TailOperand((M, N), 1),))
PART_SHARE = 0.02  # a mapping on a part of the array must be better by so much, where the whole one has work


def search_of(group: Group, device: str, given: Strategy | None = None) -> Search:
    return Search(space_of(group, given or Strategy(), planned(DEVICES[device])), planned(DEVICES[device]))


def sizes_of(size: int, unit: int) -> list[int]:
    """For each number of equal parts the smallest size, and doublings of the unit."""
    whole = padded(size, unit)
    parts = {padded(-(-size // number), unit) for number in range(1, whole // unit + 1)}
    return sorted(parts | {unit << power for power in range(whole.bit_length()) if unit << power <= whole})


def everything(space: Space) -> Iterator[Mapping]:
    """Every mapping of a space, whether it fits or not, one by one."""
    group, start = space.group, space.start
    for spread in dict.fromkeys(space.spreads((*space.arrays, *space.parts))):
        tiles = [[size] for size in start.tiles]
        for loop in space.open:
            cores = spread.cores(loop) if loop < group.space else 1
            tiles[loop] = sizes_of(-(-group.sizes[loop] // cores), space.units[loop])
        orders = list(permutations(range(group.space))) if space.opens_order else [start.order]
        for chosen in product(*tiles):
            pieces = [sizes_of(group.sizes[loop], chosen[loop]) for loop in group.streamed if space.opens_l2]
            for in_l2, order, depths in product(product(*pieces), orders, slots(space)):
                own = in_l2 if space.opens_l2 else start.in_l2
                yield replace(start, tiles=chosen, spread=spread, in_l2=own, order=order, depths=depths)


def slots(space: Space) -> Iterator[Depths]:
    for values in product(*((False, True) if name == "hold" else (1, 2) for name in space.slots)):
        yield replace(space.start.depths, **dict(zip(space.slots, values)))


def costs(search: Search) -> list[float]:
    """What everything that fits costs, as a search counts it, the least first."""
    space, whole = search.space, set(search.space.spreads(search.space.arrays))

    def cost(mapping: Mapping) -> float:
        is_part = mapping.spread not in whole and not space.has_idle_cores
        return search.estimate.cost(mapping) / (1 - PART_SHARE if is_part else 1)

    return sorted(cost(one) for one in everything(space) if fits(space.group, one, search.device))


@given(
    st.integers(1, 32),
    st.integers(1, 32),
    st.integers(1, 40),
    st.sampled_from(["toy", "npu1", "npu2"]),
    st.sampled_from(TAILS),
)
@drawn(few=8, many=200)
def test_nothing_is_better_for_a_matmul(m: int, n: int, k: int, device: str, tail: tuple[TailOperand, ...]) -> None:
    search = search_of(matmul_group(m, n, k, tail_operands=tail, result_bytes=1 if tail else None), device)
    found = search.best()
    assert found.is_proved
    assert fits(search.space.group, found.best[0].mapping, search.device)
    assert found.best[0].cost == pytest.approx(costs(search)[0], rel=1e-12)


def added(rows: int, columns: int, summed: int, *, windowed: bool) -> Group:
    """Sums along rows, or windows of three rows, of a tensor of bytes; pieces of the sum come one by one."""
    sizes = (rows, columns, summed)
    row, column, third = (Linear(((loop, 1),)) for loop in range(3))
    if windowed:
        read = Tensor("in", Role.INPUT, (Linear(((0, 1), (2, 1))), column), (rows + summed - 1, columns), 1)
    else:
        read = Tensor("in", Role.INPUT, (row, column, third), sizes, 1)
    made = Tensor("out", Role.OUTPUT, (row, column), (rows, columns), 4)
    work = OpWork((0, 1, 2), adding(3, sums=(2,)), pieced=True)
    return Group(sizes, 2, (2,), (read, made), (work,), pads_streamed=False)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 9), st.sampled_from(["toy", "npu2"]), st.booleans())
@drawn(few=8, many=200)
def test_nothing_is_better_for_a_bundle(rows: int, columns: int, summed: int, device: str, windowed: bool) -> None:
    search = search_of(added(rows, columns, summed, windowed=windowed), device)
    found = search.best()
    assert found.best
    if found.is_proved:
        assert found.best[0].cost == pytest.approx(costs(search)[0], rel=1e-12)
    else:
        assert found.best[0].cost >= costs(search)[0] * (1 - 1e-12)


def test_nothing_is_proved_of_pieces_that_nobody_looked_at() -> None:
    """All of a streamed loop has no room in L1, and its pieces are more than may be weighed."""
    search = search_of(added(2, 2, 36_000, windowed=False), "toy")
    assert not search.best(most_steps=300).is_proved
    assert search.best().is_proved


def elementwise(sizes: tuple[int, ...]) -> Group:
    dims = tuple(Linear(((loop, 1),)) for loop in range(len(sizes)))
    read, made = Tensor("in", Role.INPUT, dims, sizes, 1), Tensor("out", Role.OUTPUT, dims, sizes, 4)
    work = OpWork(tuple(range(len(sizes))), adding(len(sizes)), pieced=False)
    return Group(sizes, len(sizes), (), (read, made), (work,), pads_streamed=False)


@pytest.mark.parametrize("between", [1, 5, 6, 7, 12])
def test_loops_of_one_step_change_nothing_however_many_they_are(between: int) -> None:
    few, many = (search_of(elementwise((24, *(1,) * count, 20)), "npu2").best() for count in (0, between))
    sizes = many.best[0].mapping.tiles
    assert (sizes[0], sizes[-1]) == few.best[0].mapping.tiles
    assert len(sizes) == 2 + between
    assert many.best[0].cost == pytest.approx(few.best[0].cost, rel=1e-12)


def test_the_best_few_are_the_best_of_everything() -> None:
    search = search_of(matmul_group(24, 20, 16), "toy")
    found = search.best(20, most_steps=1_000_000)
    assert found.is_proved
    assert [one.cost for one in found.best] == pytest.approx(costs(search)[:20])


def test_the_best_of_each_spread_fits_and_is_no_better_than_the_best() -> None:
    search = search_of(matmul_group(24, 20, 16), "toy")
    found = search.best(20)
    own = {one.mapping.spread: one for one in found.of_spreads}
    assert len(own) == len(found.of_spreads) > 1
    assert own[found.best[0].mapping.spread].cost == found.best[0].cost
    for one in found.best:
        assert own[one.mapping.spread].cost <= one.cost
    for one in found.of_spreads:
        assert fits(search.space.group, one.mapping, search.device)
        alone = replace(search, space=search.space.on(one.mapping.spread)).best().best[0].mapping
        assert alone.spread == one.mapping.spread


def test_it_cuts_off_nearly_everything() -> None:
    search = search_of(matmul_group(128, 128, 128), "toy")
    found = search.best()
    assert found.is_proved
    assert found.looked_at < sum(1 for _ in everything(search.space)) / 10


def test_the_way_into_l1_cuts_off_more() -> None:
    """Few rows and wide tiles: what comes into L1 of each core takes longer than what it computes."""
    found = search_of(matmul_group(32, 5072, 2848, types=("i8", "i8", "i8")), "npu2").best(32, most_steps=60_000)
    assert found.is_proved


def test_what_is_left_unlooked_at_is_not_proved() -> None:
    found = search_of(matmul_group(196, 64, 384), "npu2").best(most_steps=3)
    assert found.best
    assert not found.is_proved


def test_what_is_known_to_be_better_is_not_beaten() -> None:
    search = search_of(matmul_group(196, 64, 384), "npu2")
    least = search.best().best[0].cost
    assert search.best(below=least / 2).best == ()


def test_tiles_that_somebody_said_are_kept() -> None:
    found = search_of(matmul_group(64, 64, 64), "npu2", Strategy(tile_l1=(8, 8, 8))).best()
    assert found.best[0].mapping.tiles == (8, 8, 1, 8)


def test_what_is_beside_a_mapping_differs_in_one_thing_and_fits() -> None:
    search = search_of(matmul_group(196, 64, 384), "npu2")
    best = search.best().best[0].mapping
    found = search.beside(best)
    assert found
    assert best not in found
    assert all(fits(search.space.group, one, search.device) for one in found)


def test_a_mapping_costs_the_same_whatever_was_estimated_before() -> None:
    """What mappings move is kept from one to the next, of more than there is room for at a time."""
    search = search_of(matmul_group(128, 96, 64), "toy")
    group, device = search.space.group, search.device
    some = Random(0).sample(list(everything(search.space)), 400)
    alone = [Estimate(group, device).cost(mapping) for mapping in some]
    assert [search.estimate.cost(mapping) for mapping in some] == alone
    assert [search.estimate.cost(mapping) for mapping in reversed(some)] == alone[::-1]
