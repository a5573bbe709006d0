"""What happens in runs of functions and sequences, when: for traces and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.compiler.compiled import Function
from npuflow.compiler.compiled import Sequence as PartSequence
from npuflow.report.overview import pieces_of_each
from npuflow.report.read_trace import check_shown, timeline_of
from npuflow.report.timeline import Timeline
from npuflow.report.window import TimedCall, Window, fair_share, windows_by_name
from npuflow.simulate.results import RunResults


def timelines_of(
    functions: Sequence[Function], sequences: Sequence[PartSequence], most_events: int
) -> dict[str, list[tuple[str, Timeline]]]:
    """By function, the name and timeline of each of its calls, cut after `most_events` events each."""
    timelines = {function.name: timeline_of(function.compiled, most_events) for function in functions}
    found = {name: [(name, timeline)] for name, timeline in timelines.items()}
    results = {part.name: part.simulate() for sequence in sequences for part in sequence.parts}
    for sequence in sequences:
        phases = sequence.phases(results)
        found[sequence.name] = [(phase.name, timelines[phase.name].as_phase(phase)) for phase in phases]
    return found


def timed_timelines_of(
    functions: Sequence[Function], sequences: Sequence[PartSequence], most_events: int, window: Window
) -> dict[str, tuple[RunResults, Timeline]]:
    """What a page is drawn from, by function: of all together `most_events` events at most, in a window."""
    results = {function.name: function.simulate() for function in functions}
    windows = windows_by_name(window, _calls(functions, sequences, results))
    share = fair_share([one.operations for one in results.values()], most_events)
    pieces = pieces_of_each(len(results))
    timelines = {f.name: timeline_of(f.compiled, share, windows[f.name], pieces) for f in functions}
    check_shown(window, timelines.values())
    return {name: (results[name], timelines[name]) for name in results}


def _calls(
    functions: Sequence[Function], sequences: Sequence[PartSequence], results: Mapping[str, RunResults]
) -> list[TimedCall]:
    """When each function runs; of a sequence's parts, each call, counted from the sequence's beginning."""
    calls = [TimedCall(f.name, 0.0, results[f.name].seconds * 1e6) for f in functions if not f.part_of]
    for sequence in sequences:
        # In its own time, a phase begins with the launch that it doesn't have.
        calls += [
            TimedCall(phase.name, phase.end_us - results[phase.name].seconds * 1e6, phase.end_us)
            for phase in sequence.phases(results)
        ]
    return calls
