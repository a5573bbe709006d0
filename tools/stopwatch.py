"""How long work takes when nothing else disturbs it, on a machine that others use as well."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# Promises of seconds are for a processor on which Python adds a million numbers in this long (the 3 GHz of a server).
PACE_SECONDS = 0.040
# It is watched for so long: as long as ten millions take there, and not as much longer as another one is slower.
_WATCHED_SECONDS = 0.4


def best_of(runs: int, action: Callable[[], object]) -> float:
    """The shortest of several runs in seconds: by the clock, or by the processor's if others keep that busy.

    What the work's own threads do side by side counts once by the clock, what others do in the meantime not at all by
    the processor's. Processes count once they are waited for.
    """
    seconds = []
    for _ in range(runs):
        clock, processor = time.perf_counter(), _processor_seconds()
        action()
        seconds += [time.perf_counter() - clock, _processor_seconds() - processor]
    return min(seconds)


def _processor_seconds() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def with_slowness(action: Callable[[], Result]) -> tuple[Result, float]:
    """What an action gives, and how slow the processor was: before or behind it, as that changes within seconds."""
    before = slowness()
    return action(), max(before, slowness())


def slowness() -> float:
    """How many times longer than promised work may take here, now: 1 on the promises' processor and on faster ones.

    No best of several: work that takes seconds meets a processor's slow moments as well.
    """
    taken: list[float] = []
    while sum(taken) < _WATCHED_SECONDS:
        taken.append(best_of(1, _add_million))
    return max(1.0, sum(taken) / len(taken) / PACE_SECONDS)


def _add_million() -> None:
    total = 0
    for number in range(1_000_000):
        total += number
