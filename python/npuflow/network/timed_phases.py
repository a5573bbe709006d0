"""When the calls of a function's parts begin and end: as phases of one launch, or each launched by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.network.set_up import NOTHING, PhaseChange, SetUp, Waiting
from npuflow.target import Control


@dataclass(frozen=True)
class CallTime:
    """How long a call of a part takes, its launch included, and how the control processor waits in it."""

    name: str
    us: float
    launch_us: float
    waiting: Waiting


@dataclass(frozen=True)
class TimedPhase:
    """A call in its place: from `begin_us`, with `launch_us` if it is launched by itself, to `end_us`.

    In front of it the array stands still for `change_us`, for what is `set_up`.
    """

    name: str
    begin_us: float
    launch_us: float
    end_us: float
    set_up: SetUp
    change_us: float

    @property
    def work_us(self) -> float:
        """The time behind its launch."""
        return self.end_us - self.begin_us - self.launch_us


def timed_phases(
    calls: Sequence[CallTime], changes: Sequence[PhaseChange] | None, control: Control
) -> tuple[TimedPhase, ...]:
    """The calls one after the other, by the `changes` in front of all but the first; None: each launched by itself.

    Launched by itself, a part that wasn't the one before takes as long as the device's launch of a second program.
    """
    phases: list[TimedPhase] = []
    for number, call in enumerate(calls):
        before = calls[number - 1] if number else None
        end = phases[-1].end_us if phases else 0.0
        if before is None or changes is None:
            is_other = before is not None and before.name != call.name
            waits = change_us(control) if is_other else 0.0
            begin = end + waits
            phases.append(TimedPhase(call.name, begin, call.launch_us, begin + call.us, NOTHING, waits))
            continue
        done = changes[number - 1].set_up(control, before.waiting)
        begin = end + done.seconds * 1e6
        behind = begin + call.us - call.launch_us
        phases.append(TimedPhase(call.name, begin, 0.0, behind, done, done.seconds * 1e6))
    return tuple(phases)


def change_us(control: Control) -> float:
    """What a second invocation takes longer than a launch."""
    return max(0.0, control.relaunch_seconds - control.launch_seconds) * 1e6
