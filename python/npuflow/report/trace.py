"""A timeline in the JSON that ui.perfetto.dev and chrome://tracing load.

Processes are tiles, threads are their engines, arrows follow data from transfer to kernel to transfer, and counters
show how much of each L1 and L2 memory holds data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from npuflow.report.timeline import Timeline, tile_name, tiles_of_memories

# With their arrows and counters some 35 MB of JSON, which the viewer takes a few seconds to load.
MOST_EVENTS = 100_000

Event = dict[str, object]


def trace_json(timelines: Sequence[tuple[str, Timeline]]) -> str:
    """One trace of several functions, one behind the other; an event per line."""
    notes = {name: _note(timeline) for name, timeline in timelines}
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in _all_events(timelines))
    head = json.dumps({"displayTimeUnit": "ns", "otherData": notes})[:-1]
    return f'{head}, "traceEvents": [\n{lines}\n]}}\n'


def _note(timeline: Timeline) -> str:
    if timeline.is_whole:
        return f"complete: {timeline.cycles} cycles"
    first = f"from cycle {timeline.begin}, " if timeline.begin else ""
    count = f"the first {len(timeline.slices)} events" if timeline.is_cut else f"{len(timeline.slices)} events"
    return f"cut: {first}{count}, up to cycle {timeline.covered} of {timeline.cycles}"


def _all_events(timelines: Sequence[tuple[str, Timeline]]) -> Iterator[Event]:
    begin_us, first_pid, first_link = 0.0, 1, 1
    for name, timeline in timelines:
        begin_us += timeline.idle / timeline.cycles_per_us
        writer = _TraceWriter(name if len(timelines) > 1 else "", timeline, begin_us, first_pid, first_link)
        yield from writer.events()
        begin_us += timeline.cycles / timeline.cycles_per_us
        first_pid += len(writer.pids)
        first_link += len(timeline.links)


@dataclass
class _TraceWriter:
    function: str
    timeline: Timeline
    begin_us: float
    first_pid: int
    first_link: int
    pids: dict[str, int] = field(init=False)
    threads: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        tiles = dict.fromkeys(tile_name(engine) for engine in self.timeline.program.engines)
        self.pids = {tile: self.first_pid + position for position, tile in enumerate(tiles)}
        engines = enumerate(self.timeline.program.engines)
        self.threads = [(self.pids[tile_name(engine)], number + 1) for number, engine in engines]

    def events(self) -> Iterator[Event]:
        yield from self._names()
        yield from self._slices()
        yield from self._flows()
        yield from self._counters()
        if not self.timeline.is_whole:
            pid = next(iter(self.pids.values()))
            name = f"trace {_note(self.timeline)}"
            yield {"ph": "i", "s": "g", "name": name, "pid": pid, "tid": 0, "ts": self._us(self.timeline.covered)}

    def _us(self, cycle: int) -> float:
        return round(self.begin_us + cycle / self.timeline.cycles_per_us, 6)

    def _names(self) -> Iterator[Event]:
        for position, (tile, pid) in enumerate(self.pids.items()):
            name = f"{self.function} {tile}".strip()
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": position}}
        for (pid, tid), engine in zip(self.threads, self.timeline.program.engines):
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": engine.name}}

    def _slices(self) -> Iterator[Event]:
        for one in self.timeline.slices:
            if one.begin == one.end:  # a launch that a phase doesn't have
                continue
            pid, tid = self.threads[one.engine]
            args: dict[str, object] = {"step": one.step, "cycles": one.end - one.begin}
            if one.bytes:
                args["bytes"] = one.bytes
            begin, end = self._us(one.begin), self._us(one.end)
            yield {
                "ph": "X",
                "name": one.name,
                "cat": one.kind,
                "pid": pid,
                "tid": tid,
                "ts": begin,
                "dur": round(end - begin, 6),
                "args": args,
            }

    def _flows(self) -> Iterator[Event]:
        for number, (source, target) in enumerate(self.timeline.links, self.first_link):
            yield self._flow("s", source, number)
            yield {**self._flow("f", target, number), "bp": "e"}

    def _flow(self, phase: str, index: int, number: int) -> Event:
        one = self.timeline.slices[index]
        pid, tid = self.threads[one.engine]
        return {
            "ph": phase,
            "id": number,
            "name": "data",
            "cat": "flow",
            "pid": pid,
            "tid": tid,
            "ts": self._us(one.begin),
        }

    def _counters(self) -> Iterator[Event]:
        tiles = tiles_of_memories(self.timeline.program)
        for memory, use in self.timeline.use().items():
            pid = self.pids[tiles[memory]]
            for cycle, count in use:
                name = f"{memory} bytes"
                yield {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": self._us(cycle), "args": {"bytes": count}}
