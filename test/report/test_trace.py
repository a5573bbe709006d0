"""Traces are what Perfetto's importer takes: every event has its place, slices nest, arrows go forward."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise

import pytest
from matmuls import small

from npuflow.report.read_trace import timeline_of
from npuflow.report.timeline import tile_name
from npuflow.report.trace import trace_json
from npuflow.simulate.program import CORE_TILE, FlatEngine

Event = dict[str, object]
NEEDED = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
    "C": {"name", "pid", "tid", "ts", "args"},
    "i": {"name", "s", "pid", "tid", "ts"},
}


@pytest.fixture(scope="module")
def trace() -> dict[str, object]:
    return json.loads(trace_json([("matmul", timeline_of(small().compiled, 100_000))]))


@pytest.fixture(scope="module")
def events(trace: dict[str, object]) -> list[Event]:
    return trace["traceEvents"]  # type: ignore[return-value]


def test_every_event_has_what_its_phase_needs(events: list[Event]) -> None:
    for event in events:
        assert NEEDED[event["ph"]] <= set(event), event
        assert isinstance(event["pid"], int)
        assert event["ph"] == "M" or event["ts"] >= 0


def test_tiles_are_processes_and_engines_threads(events: list[Event]) -> None:
    processes = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    tiles = {f"tile ({r},{c})" for r in range(2) for c in range(2)}
    assert processes == tiles | {"memory tile 0", "memory tile 1", "shim 0", "shim 1", "control"}
    threads = [(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    assert len(threads) == len(set(threads)) == len(small().compiled.program.engines)


def test_slices_of_a_thread_do_not_overlap(events: list[Event]) -> None:
    by_thread = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            by_thread[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for slices in by_thread.values():
        slices.sort()
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(slices))


def test_every_kernel_call_is_a_slice(events: list[Event]) -> None:
    calls = [e for e in events if e["ph"] == "X" and e["cat"] == "compute"]
    # Four cores, four blocks: a fill and four steps of K each.
    assert sum(e["name"] == "fill" for e in calls) == 4 * 4
    assert sum(e["name"] == "matmul" for e in calls) == 4 * 4 * 4


def test_arrows_lead_from_slices_to_later_slices(events: list[Event]) -> None:
    begins = {(e["pid"], e["tid"], e["ts"]): e for e in events if e["ph"] == "X"}
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = [e for e in events if e["ph"] == "f"]
    assert len(starts) == len(ends) > 0
    kinds = set()
    for end in ends:
        start = starts[end["id"]]
        assert start["ts"] <= end["ts"]
        source, target = (begins[e["pid"], e["tid"], e["ts"]] for e in (start, end))
        kinds.add((source["cat"], target["cat"]))
    assert kinds == {("send", "receive"), ("receive", "send"), ("receive", "compute"), ("compute", "send")}


def test_every_operand_of_a_matmul_arrives_by_an_arrow(events: list[Event]) -> None:
    begins = {(e["pid"], e["tid"], e["ts"]): e for e in events if e["ph"] == "X"}
    arrivals = [begins[e["pid"], e["tid"], e["ts"]] for e in events if e["ph"] == "f"]
    # Two operands per call, 64 calls.
    assert sum(slice_["name"] == "matmul" for slice_ in arrivals) == 2 * 64


def test_counters_stay_within_the_memories_and_return_to_nothing(events: list[Event]) -> None:
    used = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            used[event["name"]].append((event["ts"], event["args"]["bytes"]))
    assert set(used) == {f"L1 ({r},{c}) bytes" for r in range(2) for c in range(2)} | {"L2 0 bytes", "L2 1 bytes"}
    for name, values in used.items():
        assert values == sorted(values, key=lambda value: value[0])
        assert max(v for _, v in values) <= (32768 if name.startswith("L1") else 262144)
        assert values[-1][1] == 0


def test_a_trace_is_cut_where_it_was_told_to_and_says_so() -> None:
    timeline = timeline_of(small().compiled, 50)
    data = json.loads(trace_json([("matmul", timeline)]))
    assert sum(e["ph"] == "X" for e in data["traceEvents"]) == 50
    assert data["otherData"]["matmul"].startswith("cut: the first 50 events, up to cycle")
    assert any(e["ph"] == "i" and "cut" in e["name"] for e in data["traceEvents"])


def test_two_functions_follow_each_other() -> None:
    timeline = timeline_of(small().compiled, 1000)
    events = json.loads(trace_json([("first", timeline), ("second", timeline)]))["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert {"first control", "second control"} <= names
    second = {e["pid"] for e in events if e["ph"] == "M" and str(e["args"].get("name", "")).startswith("second")}
    assert min(e["ts"] for e in events if e["ph"] == "X" and e["pid"] in second) >= timeline.cycles / 1000


def test_where_engines_stand() -> None:
    assert tile_name(FlatEngine("core dma (1,3) in 0", (), tile=(1, 3), place=CORE_TILE)) == "tile (1,3)"
    assert tile_name(FlatEngine("memory tile dma 2 out 1", (), tile=(0, 2), place="memory tile")) == "memory tile 2"
    assert tile_name(FlatEngine("control", (), place="control")) == "control"
