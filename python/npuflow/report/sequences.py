"""The report on a function that runs as a sequence: what its parts add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from npuflow.compiler.compiled import Sequence
from npuflow.compiler.verify_function import Verified
from npuflow.execute.limits import byte_text
from npuflow.network.phases import Writes
from npuflow.network.plan import PlannedValue
from npuflow.network.timed_phases import timed_phases
from npuflow.report.measures import LevelTraffic
from npuflow.report.model import FunctionReport, SequenceReport
from npuflow.report.peaks import peaks
from npuflow.report.words import percent, quantity

PLAN_HEADS = ("tensor", "what it is", "size", "from", "to", "where", "why it doesn't stay on the chip")
HEADS = ("part", "calls", "time", "share", "bound by", "L3 read", "L3 written", "what it does")


def report_sequence(sequence: Sequence, parts: Iterable[FunctionReport], verified: Verified) -> SequenceReport:
    """What the calls of a sequence add up to, with what goes on between them; `parts` has a report for each call."""
    reports, control = tuple(parts), sequence.device.control
    calls = [part.call for part in reports]
    changes = sum(one.name != other.name for one, other in pairwise(reports))
    return SequenceReport(
        name=sequence.name,
        signature=str(sequence.compiled.signature),
        reason=sequence.reason,
        parts=reports,
        phases=timed_phases(calls, sequence.changes, control),
        one_launch=sequence.changes is not None,
        changes=changes,
        separate_us=timed_phases(calls, None, control)[-1].end_us,
        reconfigure_us=changes * control.reconfigure_seconds * 1e6,
        clock_hz=sequence.device.clock_hz,
        plan=sequence.plan,
        verified=verified,
        like=sequence.like,
        away=sequence.away,
        peak_bytes=peaks(sequence),
        handed_bytes=handed_bytes(sequence, reports),
        prefetched_bytes=sum(one.prefetch.moved_bytes for part in sequence.parts for one in part.compiled.ahead.brings),
    )


def handed_bytes(sequence: Sequence, reports: Iterable[FunctionReport]) -> int:
    """What calls move from and to DRAM of what is between them: what doesn't stay on the chip costs that."""
    calls, moved = sequence.compiled.calls, 0
    between, versions = {value.number for value in sequence.plan.between}, calls.first_versions
    for part, report, call in zip((one.compiled for one in sequence.parts), reports, calls.calls, strict=True):
        named = zip((*call.inputs, *call.outputs), (*part.arguments, *part.results))
        names = {part.labels.get(name, name) for number, name in named if versions.get(number, number) in between}
        tensors = (one for one in outermost(report).tensors if one.tensor in names)
        moved += sum(one.read_bytes + one.write_bytes for one in tensors)
    return moved


def part_rows(sequence: SequenceReport) -> Iterator[tuple[str, ...]]:
    """The table of parts, under HEADS, in the order of their first calls; numbers are those of all calls together.

    Of one launch, times are without it, and it has a row of its own; so have the changes.
    """
    total, calls = max(sequence.time_us, 1e-9), Counter(part.name for part in sequence.parts)
    spent: dict[str, float] = {}
    for phase in sequence.phases:
        own = phase.work_us if sequence.one_launch else phase.work_us + phase.launch_us
        spent[phase.name] = spent.get(phase.name, 0.0) + own
    for part in {part.name: part for part in sequence.parts}.values():
        outer, times = outermost(part), calls[part.name]
        yield (
            part.name,
            str(times),
            *_time_cells(spent[part.name], total),
            _bound_of(part, sequence),
            byte_text(times * outer.read_bytes),
            byte_text(times * outer.write_bytes),
            part.kinds,
        )
    if sequence.one_launch and sequence.launch_us:
        yield ("launch", "1", *_time_cells(sequence.launch_us, total), "launch", "", "", "of all parts together")
    if sequence.change_us:
        cells = _time_cells(sequence.change_us, total)
        bound, what = ("control", _written(sequence)) if sequence.one_launch else ("launch", _OTHER_LAUNCH)
        yield ("changes", str(sequence.changes), *cells, bound, "", "", what)


def _bound_of(part: FunctionReport, sequence: SequenceReport) -> str:
    """What bounds a part's calls; of one launch, behind that."""
    return (part.bound_behind_launch or part.bound_by if sequence.one_launch else part.bound_by).value


_OTHER_LAUNCH = "another part's launch takes longer"


def _time_cells(us: float, total_us: float) -> tuple[str, str]:
    return quantity(us / 1e6, "s"), percent(us / total_us)


def _written(sequence: SequenceReport) -> str:
    """What is done between parts.

    `9 descriptors written (8 ahead), 96 channels started, 6 tiles loaded (2 ahead), 24 descriptors of tasks ahead`
    """
    done = [phase.set_up for phase in sequence.phases]
    written, ahead = (sum((getattr(one, name) for one in done), Writes()) for name in ("writes", "ahead"))
    loads, sent = sum(one.loads for one in done), sum(one.sent for one in done)
    found = [f"{written.descriptors} descriptors written ({ahead.descriptors} ahead)"] if written.descriptors else []
    found += [f"{written.starts} channels started"] if written.starts else []
    found += [f"{written.parameters} parameters written"] if written.parameters else []
    found += [f"{loads} tiles loaded ({sent} ahead)"] if loads else []
    tasks = sum(one.tasks for one in done)
    return ", ".join([*found, *([f"{tasks} descriptors of tasks ahead"] if tasks else [])])


def outermost(part: FunctionReport) -> LevelTraffic:
    """What a part moves in and out of DRAM."""
    return part.traffic[0]


def mapping_of_sequence(pipeline: str, sequence: SequenceReport) -> str:
    """The pipeline, how many parts there are, and how they follow each other."""
    how = "as phases of one launch" if sequence.one_launch else "one after the other, each launched by itself"
    return f"{pipeline.partition('{')[0]}, {_calls(sequence)} {how}"


def _calls(sequence: SequenceReport) -> str:
    calls, parts = len(sequence.parts), len({part.name for part in sequence.parts})
    counted = f"{parts} part{'s' if parts > 1 else ''}"
    return counted if calls == parts else f"{counted} in {calls} calls"


def plan_text(sequence: SequenceReport) -> str:
    """What lies between parts, how much at a time and where, and what room there is nearer; empty for nothing."""
    plan = sequence.plan
    kept = sum(value.bytes for value in plan.kept)
    brought = f"{byte_text(kept)} of what several parts read are brought to the chip once" if kept else ""
    ahead = f"{byte_text(sequence.prefetched_bytes)} come while parts before work"
    if not plan.between:
        return brought
    alive, apart = byte_text(plan.alive_bytes), byte_text(plan.apart_bytes)
    stays = f"{byte_text(plan.resident_bytes)} stay on the chip, the rest takes " if plan.resident_bytes else ""
    text = f"{apart} between parts, {alive} of it at a time; {stays}{byte_text(plan.workspace_bytes)} of DRAM"
    text += f" and moves {byte_text(sequence.handed_bytes)} there and back" if sequence.handed_bytes else ""
    text += f"; {brought}" if kept else ""
    text += f"; {ahead}" if sequence.prefetched_bytes else ""
    left = left_bytes(sequence)
    return f"{text}; of {left[0]} every part leaves {byte_text(left[1])} free" if left else text


def left_bytes(sequence: SequenceReport) -> tuple[str, int] | None:
    """The memory next to DRAM, and what no part uses of all there is; None where all on the chip is the cores' own."""
    found = [part.occupancy[-1] for part in sequence.parts if len(part.occupancy) > 1]
    if not found:
        return None
    return found[0].level, min((one.usable_bytes - one.used_bytes) * one.memories for one in found)


def traffic_text(sequence: SequenceReport) -> str:
    """What is moved from and to DRAM in all, against what has to be, and how full memories get."""
    moved, least = sequence.moved_bytes, max(1, sequence.compulsory_bytes)
    peaks = ", ".join(f"{level} {byte_text(size)}" for level, size in sequence.peak_bytes.items())
    times = f"{moved / least:.2f} times its inputs, tables and results"
    return f"{byte_text(moved)} from and to DRAM, {times} ({byte_text(least)}); at most in one {peaks}"


def plan_rows(sequence: SequenceReport) -> Iterator[tuple[str, ...]]:
    """Each tensor under PLAN_HEADS, in the order in which they come to life; phases are counted from 0."""
    for value in sorted(sequence.plan.values, key=lambda value: (value.first, value.number)):
        where, why = _where(value), sequence.away.get(value.number, "")
        span = (str(value.first), str(value.last))
        yield (f"%{value.number}", value.role.value, byte_text(value.bytes), *span, where, why)


def _where(value: PlannedValue) -> str:
    if value.home is not None:
        slabs = ", ".join(f"{slab.column} + {slab.address}" for slab in value.home.slabs)
        if value.home.spread is not None:
            return f"clusters {slabs}, each what it makes"
        where = f"tile {slabs}" if len(value.home.slabs) == 1 else f"tiles {slabs}"
        if value.stays is not None:
            return f"{where}, brought in {value.stays[0]}, to {value.stays[1]}"
        return f"{where}, in place" if value.home.in_place else where
    return "its own" if value.address is None else f"workspace + {value.address}"


def time_text(sequence: SequenceReport) -> str:
    """The sum, and how much of it launches and changes are."""
    total = f"{quantity(sequence.time_us / 1e6, 's')}, {sequence.cycles} cycles"
    launching = quantity(sequence.launch_us / 1e6, "s")
    if not sequence.one_launch:
        launching = quantity((sequence.launch_us + sequence.change_us) / 1e6, "s")
        return f"{total}; {len(sequence.parts)} launches are {launching} of it"
    changing = f", what changes between parts {quantity(sequence.change_us / 1e6, 's')}" if sequence.change_us else ""
    return f"{total}; one launch is {launching} of it{changing}"


def changes_text(sequence: SequenceReport) -> str:
    """What a change of parts is taken to cost, and the time if it were less or more; empty where it costs nothing."""
    others = []
    if sequence.change_us:
        others.append(f"{quantity(sequence.in_place_us / 1e6, 's')} if every part were in place already")
    if sequence.one_launch and sequence.separate_us != sequence.time_us:
        others.append(f"{quantity(sequence.separate_us / 1e6, 's')} if each were launched by itself")
    if sequence.reconfigure_us:
        others.append(f"{quantity(sequence.reconfigured_us / 1e6, 's')} if each change loads the whole array")
    if not others:
        return ""
    if sequence.one_launch:
        each = _written(sequence) or "nothing is set up anew"
        return f"{sequence.changes}: {each}; the time is {', '.join(others)}"
    each = quantity(sequence.change_us / max(1, sequence.changes) / 1e6, "s")
    return f"{sequence.changes} at {each} more than a launch; the time is {', '.join(others)}"
