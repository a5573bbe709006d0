"""The report on a function that runs as a sequence: what its parts add up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuflow.report.model import FunctionReport, LevelTraffic, SequenceReport
from npuflow.report.words import byte_text, percent, quantity
from npuflow.simulate.verify_function import Verified
from npuflow.target import Device

HEADS = ("part", "time", "share", "bound by", "L3 read", "L3 written", "what it does")


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
    more = max(0.0, control.relaunch_seconds - control.launch_seconds)
    return SequenceReport(
        name=name,
        signature=signature,
        reason=reason,
        parts=tuple(parts),
        launch_us=len(parts) * control.launch_seconds * 1e6,
        relaunch_us=later * more * 1e6,
        reconfigure_us=later * control.reconfigure_seconds * 1e6,
        verified=verified,
    )


def part_rows(sequence: SequenceReport) -> Iterator[tuple[str, ...]]:
    """The table of parts, under HEADS."""
    total = max(sequence.time_us, 1e-9)
    for part in sequence.parts:
        outer = outermost(part)
        yield (
            part.name,
            quantity(part.time_us / 1e6, "s"),
            percent(part.time_us / total),
            part.bound_by.value,
            byte_text(outer.read_bytes),
            byte_text(outer.write_bytes),
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
        costs.append(f"{quantity(sequence.reconfigure_us / 1e6, 's')} if they reconfigure the whole array")
    return ", ".join(costs)
