"""Windows as they are written, what they leave of a call, and fair shares."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.errors import UsageError
from npuflow.report.window import TimedCall, Window, fair_share, window_from, windows_by_name


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("1ms:2ms", Window(1000, 2000)),
        ("1.5:2", Window(1.5, 2)),
        (":300us", Window(0, 300)),
        (" 500 ns : ", Window(0.5, inf)),
        ("0:1s", Window(0, 1e6)),
        (":", Window()),
    ],
)
def test_what_is_written(text: str, window: Window) -> None:
    assert window_from(text) == window


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no window; hint: give a beginning and an end"),
        ("1ms", "'1ms' is no window"),
        ("1:2:3", "is no window"),
        ("2ms:1ms", "begins at 2 ms and ends at 1 ms; hint: give an end behind its beginning"),
        ("1:1", "begins at 1 us and ends at 1 us"),
        ("-1:2", "'-1' is no time"),
        ("1m:2m", "'1m' is no time.* units are ns, us, ms and s"),
        ("nan:1", "'nan' is no time"),
        ("1:" + "9" * 40 + "s", "is more than 1 Ms"),
        (7, "7 is no window"),
    ],
)
def test_what_is_refused(text: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        window_from(text)


def test_a_window_in_cycles_ends_with_the_run() -> None:
    assert Window(1, 2).cycles(1e9, 10_000) == (1000, 2000)
    assert Window(1, 2).cycles(1e9, 1500) == (1000, 1500)
    assert Window(3, 4).cycles(1e9, 1500) == (1500, 1500)
    assert Window().cycles(1e9, 1500) == (0, 1500)


def test_each_call_sees_its_part_of_a_window() -> None:
    calls = [TimedCall("a", 0, 10), TimedCall("b", 12, 20), TimedCall("a", 20, 30), TimedCall("c", 30, 40)]
    assert windows_by_name(Window(15, 24), calls) == {"a": Window(0, 4), "b": Window(3, 8), "c": Window(0, 0)}
    # Two calls of a part that are seen at different places: what shows both.
    assert windows_by_name(Window(8, 22), calls)["a"] == Window(0, 10)
    with pytest.raises(UsageError, match="begins at 40 us, the run ends at 40 us"):
        windows_by_name(Window(40), calls)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8), st.integers(0, 3000))
def test_shares_are_fair(needs: list[int], most: int) -> None:
    share = fair_share(needs, most)
    given_out = sum(min(need, share) for need in needs)
    assert given_out <= max(most, 0)
    if sum(needs) > most:
        # One more for each that wants it would be too much.
        assert sum(min(need, share + 1) for need in needs) > most
    else:
        assert share >= max(needs)
