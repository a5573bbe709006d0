"""Parts that were mapped for tensors to stay on the chip which don't, and what that takes them. Pure.

Whether tensors between parts stay is decided of programs. What is the fastest mapping if they do may read them again
and again, which takes nothing of DRAM then, and most of the time if they don't.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from npuflow.compiler.compiled import Sequence
from npuflow.compiler.regroupings import MUCH
from npuflow.network.calls import CallList
from npuflow.strategy.work import work_of


@dataclass(frozen=True)
class MovedPart:
    """Of a part, the arguments and results that DRAM has after all, by their numbers."""

    arguments: frozenset[int] = frozenset()
    results: frozenset[int] = frozenset()


def moved_parts(sequence: Sequence, calls: CallList) -> Mapping[str, MovedPart]:
    """Parts that may gain by being mapped for DRAM, by their names in `calls`; none where all together gain little."""
    found: dict[str, MovedPart] = {}
    lost = 0.0
    for call, part in zip(calls.calls, sequence.parts, strict=True):
        arguments, results = (
            frozenset(number for number, value in enumerate(side) if value in sequence.away)
            for side in (call.inputs, call.outputs)
        )
        own = sum(group.lost_in_dram for group in work_of(part.compiled.op))
        if own and (arguments or results):
            before = found.get(call.name, MovedPart())
            found[call.name] = MovedPart(before.arguments | arguments, before.results | results)
            lost += own
    return found if lost > MUCH * (sequence.seconds - sequence.device.control.launch_seconds) else {}


def faster_parts(
    parts: Mapping[str, MovedPart], before: Sequence, after: Sequence, calls: CallList
) -> Mapping[str, MovedPart]:
    """Those that take less time `after` they are mapped so than before."""
    took, takes = (_took(sequence, calls) for sequence in (before, after))
    return {name: part for name, part in parts.items() if takes[name] < took[name]}


def _took(sequence: Sequence, calls: CallList) -> Mapping[str, float]:
    """How long all calls of a part took, and what changed in front of them."""
    found: dict[str, float] = defaultdict(float)
    for call, phase in zip(calls.calls, sequence.timed, strict=True):
        found[call.name] += phase.work_us + phase.change_us
    return found
