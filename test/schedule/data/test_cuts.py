"""Patterns of an access that edges cut off, counted and listed one by one."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.cuts import cut_patterns
from npuflow.schedule.data.model import Access, Limit, Ref

LOOPS, PLACES, OWN = {"i": 3, "j": 2}, {"part": 2}, {"row": 3}
RANGES = {**LOOPS, **PLACES, **OWN}


@st.composite
def limited(draw: st.DrawFn) -> Access:
    sizes = (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    limits = []
    for _ in range(draw(st.integers(0, 4))):
        d, sign = draw(st.integers(0, 1)), draw(st.sampled_from([-1, 1]))
        bound = Affine(draw(st.integers(-4, 6)))
        for name in draw(st.sets(st.sampled_from(list(RANGES)))):
            bound = bound + Affine.counter(name, draw(st.integers(-3, 3)))
        limits.append(Limit((sign, 0) if d == 0 else (0, sign), bound))
    return Access(Ref("l2"), Affine(), Affine(), sizes, (sizes[1], 1), tuple(limits))


@given(limited())
def test_each_way_to_be_cut_off_is_a_pattern_at_each_place(access: Access) -> None:
    patterns: dict[int, set[object]] = {row: set() for row in range(OWN["row"])}
    for values in product(*(range(count) for count in RANGES.values())):
        turn = dict(zip(RANGES, map(Affine, values)))
        bounds = [limit.bound.substitute(turn).constant for limit in access.limits]
        indices = list(product(*map(range, access.sizes)))
        left = tuple(tuple(weight(limit, i) < bound for i in indices) for limit, bound in zip(access.limits, bounds))
        patterns[turn["row"].constant].add((turn["part"].constant, left))
    assert cut_patterns(access, LOOPS, PLACES, OWN) == max(map(len, patterns.values()))


def weight(limit: Limit, index: tuple[int, ...]) -> int:
    return sum(w * i for w, i in zip(limit.weights, index))


def test_blocks_between_the_edges_share_a_pattern() -> None:
    # 100 blocks of 4 in 398, which begin 1 before: the first lacks one, the last three.
    limits = (Limit((1,), Affine(399, (("i", -4),))), Limit((-1,), Affine(0, (("i", 4),))))
    access = Access(Ref("l2"), Affine(), Affine(), (4,), (1,), limits)
    assert cut_patterns(access, {"i": 100}, {}, {}) == 3
