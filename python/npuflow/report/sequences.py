"""The report on a function that runs as a sequence: what its parts add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from npuflow.compiler.verify_function import Verified
from npuflow.execute.limits import byte_text
from npuflow.report.model import FunctionReport, LevelTraffic, SequenceReport
from npuflow.report.words import percent, quantity
from npuflow.target import Device

HEADS = ("part", "calls", "time", "share", "bound by", "L3 read", "L3 written", "what it does")


def report_sequence(
    signature: str,
    name: str,
    parts: Sequence[FunctionReport],
    reason: str,
    verified: Verified,
    device: Device,
    like: str = "",
) -> SequenceReport:
    """Sums, and what a change from one part to another costs."""
    control = device.control
    changes = sum(one.name != other.name for one, other in pairwise(parts))
    more = changes * change_seconds(device)
    return SequenceReport(
        name=name,
        signature=signature,
        reason=reason,
        parts=tuple(parts),
        changes=changes,
        launch_us=len(parts) * control.launch_seconds * 1e6,
        relaunch_us=more * 1e6,
        relaunch_cycles=round(more * device.clock_hz),
        reconfigure_us=changes * control.reconfigure_seconds * 1e6,
        verified=verified,
        like=like,
    )


def change_seconds(device: Device) -> float:
    """What the launch of another part than the one before takes longer than a launch."""
    return max(0.0, device.control.relaunch_seconds - device.control.launch_seconds)


def part_rows(sequence: SequenceReport) -> Iterator[tuple[str, ...]]:
    """The table of parts, under HEADS, in the order of their first calls; numbers are those of all calls together.

    What launches behind another part take longer has a row of its own.
    """
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
    if sequence.relaunch_us:
        spent = (quantity(sequence.relaunch_us / 1e6, "s"), percent(sequence.relaunch_us / total))
        yield ("changes", str(sequence.changes), *spent, "launch", "", "", "another part's launch takes longer")


def outermost(part: FunctionReport) -> LevelTraffic:
    """What a part moves in and out of DRAM."""
    return part.traffic[0]


def time_text(sequence: SequenceReport) -> str:
    """The sum, and how much of it launches are."""
    launching = quantity((sequence.launch_us + sequence.relaunch_us) / 1e6, "s")
    launches = f"{len(sequence.parts)} launches are {launching} of it"
    return f"{quantity(sequence.time_us / 1e6, 's')}, {sequence.cycles} cycles; {launches}"


def changes_text(sequence: SequenceReport) -> str:
    """What a change of parts is taken to cost, and the time if it were less or more; empty where it costs nothing."""
    others = []
    if sequence.relaunch_us:
        others.append(f"{quantity(sequence.in_place_us / 1e6, 's')} if every part were in place already")
    if sequence.reconfigure_us:
        others.append(f"{quantity(sequence.reconfigured_us / 1e6, 's')} if each loads the whole array")
    if not others:
        return ""
    each = quantity(sequence.relaunch_us / sequence.changes / 1e6, "s")
    return f"{sequence.changes} at {each} more than a launch; the time is {', '.join(others)}"
