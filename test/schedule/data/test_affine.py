"""Sums of counters against brute force."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from npuflow.schedule.data.affine import Affine

NAMES = ("i", "j", "k")

affines = st.builds(
    lambda constant, terms: Affine(constant) + sum((Affine.counter(n, c) for n, c in terms.items()), Affine()),
    st.integers(-50, 50),
    st.dictionaries(st.sampled_from(NAMES), st.integers(-9, 9)),
)
places = st.fixed_dictionaries({name: st.integers(0, 6) for name in NAMES})


def at(total: Affine, values: dict[str, int]) -> int:
    return total.constant + sum(coefficient * values[name] for name, coefficient in total.terms)


@given(affines, affines, st.integers(-5, 5), places)
def test_sums_are_sums(a: Affine, b: Affine, factor: int, values: dict[str, int]) -> None:
    assert at(a + b, values) == at(a, values) + at(b, values)
    assert at(a - b, values) == at(a, values) - at(b, values)
    assert at(a * factor, values) == at(a, values) * factor
    assert at(a.substitute({"i": b}), values) == at(a, {**values, "i": at(b, values)})
    assert ((a + b) - b) == a


@given(affines, st.fixed_dictionaries({name: st.integers(1, 4) for name in NAMES}))
def test_bounds_are_reached_and_kept(total: Affine, trips: dict[str, int]) -> None:
    seen = [at(total, dict(zip(NAMES, point))) for point in product(*(range(trips[name]) for name in NAMES))]
    assert (total.minimum(trips), total.maximum(trips)) == (min(seen), max(seen))
