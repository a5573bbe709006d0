"""Which part of a run is shown event by event: `1.2ms:1.5ms`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf

from npuflow.errors import UsageError, with_hint
from npuflow.report.words import quantity

_CYCLE_DIGITS = 6
_UNITS_US = {"ns": 1e-3, "us": 1.0, "": 1.0, "ms": 1e3, "s": 1e6}
_TIME = re.compile(r"(\d+\.?\d*|\.\d+)\s*(ns|us|ms|s)?")
_EXAMPLE = "give a beginning and an end, as 1.2ms:1.5ms, 300us: or :2ms"
# No run takes so long: a cycle's number would no longer be exact.
_MOST_US = 1e12


@dataclass(frozen=True)
class Window:
    """From `begin_us` to `end_us`, counted from the beginning of a function or of a sequence."""

    begin_us: float = 0.0
    end_us: float = inf

    def __str__(self) -> str:
        end = "" if self.end_us == inf else quantity(self.end_us / 1e6, "s")
        return f"{quantity(self.begin_us / 1e6, 's')}:{end}"

    def cycles(self, clock_hz: float, cycles: int) -> tuple[int, int]:
        """The window in cycles, within a run of `cycles`; empty where the run is over before."""

        def at(us: float) -> float:  # a time that was a whole cycle before it was microseconds is one again
            return round(us / 1e6 * clock_hz, _CYCLE_DIGITS)

        begin = min(cycles, floor(at(self.begin_us)))
        end = cycles if self.end_us == inf else min(cycles, ceil(at(self.end_us)))
        return begin, end

    def within(self, begin_us: float, end_us: float) -> Window | None:
        """What it shows of a call from `begin_us` to `end_us`, counted from the call's beginning; None for nothing."""
        if self.begin_us >= end_us or self.end_us <= begin_us:
            return None
        return Window(max(0.0, self.begin_us - begin_us), min(self.end_us, end_us) - begin_us)

    def joined(self, other: Window) -> Window:
        """The smallest window that shows both."""
        return Window(min(self.begin_us, other.begin_us), max(self.end_us, other.end_us))


WHOLE = Window()
_NOTHING = Window(0.0, 0.0)


@dataclass(frozen=True)
class TimedCall:
    """When a function runs, counted from the beginning of the sequence whose part it is, or its own."""

    name: str
    begin_us: float
    end_us: float


def windows_by_name(window: Window, calls: Sequence[TimedCall]) -> dict[str, Window]:
    """What a window shows of each function in its own time, of all its calls; raises UsageError where all are over."""
    last = max(call.end_us for call in calls)
    if window.begin_us >= last:
        what = (
            f"the window begins at {quantity(window.begin_us / 1e6, 's')}, the run ends at {quantity(last / 1e6, 's')}"
        )
        raise UsageError(with_hint(what, "give a beginning before that"))
    found = {call.name: _NOTHING for call in calls}
    for call in calls:
        part = window.within(call.begin_us, call.end_us)
        if part is not None:
            found[call.name] = part if found[call.name] == _NOTHING else found[call.name].joined(part)
    return found


def window_from(text: object) -> Window:
    """A window as it is written, in ns, us (also without a unit), ms or s; raises UsageError."""
    if isinstance(text, Window):
        return text
    if not isinstance(text, str) or text.count(":") != 1:
        raise UsageError(with_hint(f"{text!r} is no window", _EXAMPLE))
    first, last = (side.strip() for side in text.split(":"))
    window = Window(_microseconds(first, 0.0), _microseconds(last, inf))
    if window.begin_us >= window.end_us:
        ends = f"begins at {quantity(window.begin_us / 1e6, 's')} and ends at {quantity(window.end_us / 1e6, 's')}"
        raise UsageError(with_hint(f"the window '{text}' {ends}", "give an end behind its beginning"))
    return window


def _microseconds(text: str, otherwise: float) -> float:
    if not text:
        return otherwise
    found = _TIME.fullmatch(text)
    if found is None:
        raise UsageError(with_hint(f"'{text}' is no time", f"{_EXAMPLE}; units are ns, us, ms and s"))
    value = float(found[1]) * _UNITS_US[found[2] or ""]
    if value > _MOST_US:
        raise UsageError(with_hint(f"'{text}' is more than {quantity(_MOST_US / 1e6, 's')}", "give a time in the run"))
    return value


def fair_share(needs: Sequence[int], most: int) -> int:
    """The most that each may have so that all together have no more than `most`: small needs leave theirs to others."""
    left = most
    for position, need in enumerate(sorted(needs)):
        share = left // (len(needs) - position)
        if need > share:
            return share
        left -= need
    return most
