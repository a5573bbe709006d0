"""The report on a function that runs as a sequence: what its parts add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from npuflow.report.model import FunctionReport, LevelTraffic, SequenceReport
from npuflow.report.words import byte_text, percent, quantity
from npuflow.simulate.verify_function import Verified
from npuflow.target import Device

HEADS = ("part", "calls", "time", "share", "bound by", "L3 read", "L3 written", "what it does")


def report_sequence(
    signature: str,
    name: str,
    parts: Sequence[FunctionReport],
    reason: str,
    verified: Verified,
    device: Device,
) -> SequenceReport:
    """Sums, and what isn't in them."""
    control, later = device.control, len(parts) - 1
    changes = sum(one.name != other.name for one, other in pairwise(parts))
    more = max(0.0, control.relaunch_seconds - control.launch_seconds)
    return SequenceReport(
        name=name,
        signature=signature,
        reason=reason,
        parts=tuple(parts),
        changes=changes,
        launch_us=len(parts) * control.launch_seconds * 1e6,
        relaunch_us=later * more * 1e6,
        reconfigure_us=changes * control.reconfigure_seconds * 1e6,
        verified=verified,
    )


def part_rows(sequence: SequenceReport) -> Iterator[tuple[str, ...]]:
    """The table of parts, under HEADS, in the order of their first calls; numbers are those of all calls together."""
    total, calls = max(sequence.time_us, 1e-9), Counter(part.name for part in sequence.parts)
    for part in {part.name: part for part in sequence.parts}.values():
        outer, times = outermost(part), calls[part.name]
        yield (
            part.name,
            str(times),
            quantity(times * part.time_us / 1e6, "s"),
            percent(times * part.time_us / total),
            part.bound_by.value,
            byte_text(times * outer.read_bytes),
            byte_text(times * outer.write_bytes),
            part.kinds,
        )


def outermost(part: FunctionReport) -> LevelTraffic:
    """What a part moves in and out of DRAM."""
    return part.traffic[0]


def time_text(sequence: SequenceReport) -> str:
    """The sum, and how much of it launches are."""
    launches = f"{len(sequence.parts)} launches are {quantity(sequence.launch_us / 1e6, 's')} of it"
    return f"{quantity(sequence.time_us / 1e6, 's')}, {sequence.cycles} cycles; {launches}"


def not_added(sequence: SequenceReport) -> str:
    """What comes on top if the parts follow each other less smoothly; empty where the device says nothing about it."""
    costs = []
    if sequence.relaunch_us:
        costs.append(
            f"{quantity(sequence.relaunch_us / 1e6, 's')} if {len(sequence.parts) - 1} launches are relaunches"
        )
    if sequence.reconfigure_us:
        costs.append(
            f"{quantity(sequence.reconfigure_us / 1e6, 's')} if {sequence.changes} changes load the whole array"
        )
    return ", ".join(costs)
