"""Functions that run part by part: the same results as the whole, honest sums, and only where it is needed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from judges import JUDGE
from profiles import spread
from stopwatch import best_of

import npuflow
from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.registry import PASSES
from npuflow.errors import Severity
from npuflow.execute.verification import Status
from npuflow.network.calls import CallList
from npuflow.report.html import html_of
from npuflow.report.json_report import json_of
from npuflow.report.model import Report, SequenceReport
from npuflow.report.sequences import part_rows
from npuflow.report.text import text_of
from npuflow.report.trace import trace_json
from npuflow.report.words import quantity
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program, attention_like, chain, norms, residual

# Parts of sequences are groups; matmuls in a row would be one.
APART = "npuflow-stream-k{fuse=false}"

# Too large for toy as a whole: two matmuls of three buffers each and two bundles of two take 20 of a core's 16 locks.
TOO_LARGE = attention_like(is_long=True)


def shared() -> str:
    """A matmul that two groups read; results of groups in the middle, an argument, and a result twice are returned."""
    p = Program("shared")
    x, w, gain = p.argument(16, 16), p.argument(16, 16), p.argument(16)
    m = p.matmul(x, w)
    n, s = p.norm(m, gain), p.softmax(m)
    return p.text(m, x, p.matmul(n, s), n, m)


def constants() -> str:
    """A constant that is read, the same handed back, and another one that nobody reads."""
    p = Program("constants")
    x, table = p.argument(16, 16), p.constant(2.5, 16, 16)
    return p.text(p.softmax(p.matmul(x, table)), table, p.constant(1.5, 4, 4))


def views() -> str:
    """Reshapes in front of groups, between them, behind them, and of an argument that is handed back."""
    p = Program("views")
    x, w = p.argument(4, 4, 16), p.argument(16, 16)
    m = p.matmul(p.reshaped(x, "[[0,1],[2]]", 16, 16), w)
    r = p.relu(p.reshaped(p.softmax(m), "[[0,1],[2]]", 4, 4, 16))
    return p.text(r, p.reshaped(m, "[[0,1],[2]]", 2, 8, 16), p.reshaped(x, "[[0],[1,2]]", 4, 64))


def sequence_of(text: str, device: str = "toy", *, split: bool | None = True) -> SequenceReport:
    (sequence,) = npuflow.compile(text, APART, device=device, split=split).run(verify=True, judge=JUDGE).sequences
    return sequence


@pytest.mark.parametrize(
    ("make", "device"),
    [
        pytest.param(make, device, id=f"{device}-{make.__name__}")
        for number, make in enumerate([attention_like, residual, shared, constants, views])
        for device in spread(number, ["npu2", "npu1", "toy"])
    ],
)
def test_parts_compute_what_the_whole_does(make: Callable[[], str], device: str) -> None:
    sequence = sequence_of(make(), device)
    assert sequence.verified.status is Status.OK, sequence.verified
    assert len(sequence.parts) > 1


def test_twenty_ops_in_a_row() -> None:
    # With everything in DRAM, calls are the same wherever they stand.
    report = npuflow.compile(chain(20), APART, device="toy", disable="residency").run(verify=True, judge=JUDGE)
    (sequence,) = report.sequences
    assert sequence.verified.status is Status.OK, sequence.verified
    # Ten times the same two: compiled once, called by turns.
    assert [function.name for function in report.functions] == ["chain_0", "chain_1"]
    assert sequence.changes == 19
    # One launch, and each call's time behind it; both parts are in place all the time.
    assert sequence.change_us == 0
    behind = 10 * sum(function.time_us - function.launch_us for function in report.functions)
    assert sequence.time_us == pytest.approx(report.functions[0].launch_us + behind)
    assert [row[:2] for row in part_rows(sequence)] == [("chain_0", "10"), ("chain_1", "10"), ("launch", "1")]
    assert [part.kinds for part in sequence.parts] == ["matmul", "reduction, elementwise"] * 10
    assert sequence.reason == "20 groups of ops need at least 80 locks of a core, which has 16"


def test_a_bundle_is_no_longer_than_a_program() -> None:
    sequence = sequence_of(norms(20), split=None)
    assert sequence.verified.status is Status.OK, sequence.verified
    # As few ops as fit a program: then there are more bundles than a core has locks for.
    assert sequence.reason == "5 groups of ops need at least 20 locks of a core, which has 16"
    assert len(sequence.parts) > 1


def test_parts_on_arrays() -> None:
    p = Program("cube")
    x = p.argument(8, 8)
    compiled = npuflow.compile(p.text(p.matmul(p.matmul(x, x), x)), APART, device="toy", split=True)
    array = np.arange(64, dtype=np.float32).reshape(8, 8) % 5
    (cube,) = compiled.sequence("cube").execute(array)
    np.testing.assert_array_equal(cube, array @ array @ array)  # small integers: exact in any order
    (square,) = compiled["cube_0"].execute(array)
    np.testing.assert_array_equal(square, array @ array)


def test_wrong_parts_are_seen() -> None:
    compiled = npuflow.compile(shared(), APART, device="toy", split=True)
    (sequence,) = compiled.sequences
    calls: CallList = sequence.compiled.calls
    # The third and the fourth result are of the same type.
    one, two, three, four, five = calls.returned
    swapped = replace(calls, returned=(one, two, four, three, five))
    wrong = replace(sequence, compiled=replace(sequence.compiled, calls=swapped))
    report = replace(compiled, sequences=(wrong,)).run(verify=True, judge=JUDGE)
    assert report.sequences[0].verified.status is Status.WRONG
    assert not report.ok


def test_a_value_in_the_place_of_one_that_is_needed_is_seen() -> None:
    p = Program("cube")
    x = p.argument(16, 16)
    square = p.matmul(x, x)
    text = p.text(p.matmul(p.matmul(square, x), square))
    compiled = npuflow.compile(text, APART, device="toy", split=True, disable="residency")
    (sequence,) = compiled.sequences
    first, second = sequence.plan.between
    assert (first.first, first.last, second.first, second.last) == (0, 2, 1, 2)
    assert first.address != second.address
    calls: CallList = sequence.compiled.calls
    # The second value would overwrite the first, which the last part reads.
    one_place = [replace(c, addresses=tuple(a and 0 for a in c.addresses)) for c in calls.calls]
    wrong = replace(sequence.compiled, calls=replace(calls, calls=tuple(one_place)))
    report = replace(compiled, sequences=(replace(sequence, compiled=wrong),)).run(verify=True, judge=JUDGE)
    assert report.sequences[0].verified.status is Status.WRONG
    assert compiled.run(verify=True, judge=JUDGE).ok


def test_orders_are_chosen_unless_they_are_left_as_given() -> None:
    p = Program("branches")
    rows = [p.argument(16, 64), p.argument(16, 64)]
    left, right, w = p.argument(64, 16), p.argument(64, 16), p.argument(16, 64)
    wide = [p.matmul(p.matmul(rows[0], left), w), p.matmul(p.matmul(rows[1], right), w)]
    narrow = [p.matmul(wide[0], left), p.matmul(wide[1], right)]
    text = p.text(p.matmul(narrow[0], narrow[1]))

    def alive_bytes(*disable: str) -> int:
        (sequence,) = npuflow.compile(text, APART, device="toy", split=True, disable=disable).sequences
        return sequence.plan.alive_bytes

    # 16x64 and 16x16 of f32: two wide values and one that is made, or one wide one beside two narrow ones.
    assert alive_bytes("order") == 2 * 4096 + 1024
    assert alive_bytes() == 4096 + 2 * 1024


def test_what_fits_stays_whole_unless_parts_are_faster() -> None:
    text = attention_like("small", 16, 32)
    whole = npuflow.compile(text, APART, device="toy", disable=["phases"])
    assert [function.name for function in whole.functions] == ["small"]
    assert whole.sequences == ()
    compiled = npuflow.compile(text, APART, device="toy")
    (sequence,), (function,) = compiled.sequences, whole.functions
    seconds, launch = function.simulate().seconds, function.compiled.launch_us * 1e-6
    assert sequence.reason == f"as a whole it takes {seconds * 1e6:.4g} us"
    assert sequence.seconds - launch < 0.95 * (seconds - launch)
    assert compiled.run(verify=True, judge=JUDGE).sequences[0].verified.status is Status.OK


def test_what_fits_stays_whole_where_parts_are_hardly_faster() -> None:
    p = Program("f")
    x, left, right = (p.argument(256, 256) for _ in range(3))
    compiled = npuflow.compile(p.text(p.matmul(p.matmul(x, left), right)), APART, device="toy")
    assert [function.name for function in compiled.functions] == ["f"]


def test_what_does_not_fit_is_split_for_a_reason() -> None:
    with pytest.raises(npuflow.InputError) as refused:
        npuflow.compile(TOO_LARGE, APART, device="toy", split=False)
    said = refused.value.diagnostics[0].message.partition("; hint: ")[0]
    sink = DiagnosticSink()
    compiled = npuflow.compile(TOO_LARGE, APART, device="toy", sink=sink)
    assert [sequence.reason for sequence in compiled.sequences] == [said]
    assert re.search(r"needs \d+ .*, has \d+", said)
    assert [d for d in sink.diagnostics if d.severity is Severity.ERROR] == []


def test_only_functions_that_do_not_fit_are_split() -> None:
    # Parts of @block would be called @block_0 and so on, of which one is taken.
    text = TOO_LARGE + attention_like("block_1", 16, 32)
    report = npuflow.compile(text, APART, device="toy", disable=["phases"]).run(verify=True, judge=JUDGE)
    assert [f.name for f in report.functions] == ["block__0", "block__1", "block__2", "block__3", "block_1"]
    assert [f.part_of for f in report.functions] == ["block", "block", "block", "block", ""]
    checks = [report.sequences[0].verified.status, report.functions[-1].verified.status]
    assert checks == [Status.OK, Status.OK]


def test_parts_of_different_functions_have_different_names() -> None:
    text = "".join(attention_like(name) for name in ("f", "f_", "f_0"))
    compiled = npuflow.compile(text, APART, device="toy", split=True)
    names = [function.name for function in compiled.functions]
    assert names == [f"{name}_{number}" for name in ("f_", "f__", "f_0") for number in range(3)]


def test_what_fits_not_even_in_parts_is_refused_where_it_stands() -> None:
    p = Program("f")
    x, w = p.argument(64, 64), p.argument(64, 64)
    strategy = "{npu.strategy = #npu.strategy<{grid = [1, 1], tile_l1 = [64, 64, 64], pack = [4, 4, 4]}>} "
    text = p.text(p.softmax(p.matmul(x, w, strategy)))
    with pytest.raises(npuflow.InputError, match=r"L1 of a core needs \d+ bytes, has 32768") as refused:
        npuflow.compile(text, APART, device="toy")
    place = refused.value.diagnostics[0].location
    assert place is not None
    assert "linalg.matmul" in text.splitlines()[place.line - 1]


def test_strategies_of_the_user_are_kept() -> None:
    p = Program("f")
    x = p.argument(64, 64)
    m = p.matmul(x, x, "{npu.strategy = #npu.strategy<{grid = [1, 2], tile_l1 = [8, 16, 16]}>} ")
    compiled = npuflow.compile(p.text(p.softmax(m)), APART, device="toy", split=True)
    assert compiled["f_0"].strategy["tile_l1"] == (8, 16, 16)
    assert [compiled[f"f_{number}"].compiled.grid for number in range(2)] == [(1, 2), (2, 2)]


@dataclass(frozen=True)
class OnOneCore(npuflow.Pass):
    """Maps every matmul to one core, and says in which function."""

    name = "test-on-one-core"
    assigns_strategies = True

    def run(self, op: ir.Operation, context: npuflow.PassContext) -> None:
        for function in npuflow.ops_of(op, "func.func"):
            for matmul in npuflow.ops_of(function, "linalg.matmul"):
                matmul.attributes["npu.strategy"] = ir.Attribute.parse("#npu.strategy<{grid = [1, 1]}>")
                context.remark(matmul, str(function.opview.name.value))


def test_functions_come_apart_in_front_of_the_first_pass_that_assigns_strategies() -> None:
    npuflow.register_pass(OnOneCore)
    sink = DiagnosticSink()
    pipeline = "npuflow-normalize-linalg,test-on-one-core,npuflow-stream-k,npuflow-schedule"
    try:
        compiled = npuflow.compile(TOO_LARGE, pipeline, device="toy", split=True, sink=sink)
    finally:
        del PASSES[OnOneCore.name]
    said = [d.message for d in sink.diagnostics if d.message.startswith(f"[{OnOneCore.name}]")]
    assert said == ["[test-on-one-core] block_1", "[test-on-one-core] block_3"]
    assert compiled["block_1"].compiled.grid == (1, 1)


def test_a_pipeline_without_strategies_says_what_it_always_said() -> None:
    with pytest.raises(npuflow.InputError, match="still works on tensor<"):
        npuflow.compile(TOO_LARGE, "canonicalize", device="toy", split=True)


@cache
def block(device: str, *disable: str) -> npuflow.Compiled:
    """Tests look at it in many ways, and change nothing."""
    return npuflow.compile(TOO_LARGE, APART, device=device, split=True, disable=disable)


@pytest.fixture(scope="module")
def report() -> Report:
    return block("npu2").run(verify=False)


def test_times_are_sums_behind_one_launch(report: Report) -> None:
    (sequence,) = report.sequences
    control = load_device("npu2").control
    behind = [function.time_us - control.launch_seconds * 1e6 for function in report.functions]
    assert min(behind) > 0
    assert sequence.launches == 1
    assert sequence.launch_us == pytest.approx(control.launch_seconds * 1e6)
    assert sequence.in_place_us == pytest.approx(sequence.launch_us + sum(behind))
    waiting = [function.waiting for function in report.functions]
    changes = block("npu2").sequences[0].changes
    assert changes is not None
    stands = [change.set_up(control, waits).seconds * 1e6 for change, waits in zip(changes, waiting)]
    assert sequence.change_us == pytest.approx(sum(stands))
    assert sequence.time_us == pytest.approx(sequence.in_place_us + sequence.change_us)
    assert sequence.cycles == pytest.approx(sequence.time_us * 1800, abs=1)  # rounded to a cycle of 1.8 GHz
    assert sequence.phases[1].begin_us == pytest.approx(report.functions[0].time_us + stands[0])
    # What is only said, not added.
    assert sequence.reconfigured_us - sequence.in_place_us == pytest.approx(3 * control.reconfigure_seconds * 1e6)
    launches = 3 * (control.relaunch_seconds - control.launch_seconds) * 1e6
    assert sequence.separate_us == pytest.approx(launches + sum(function.time_us for function in report.functions))


def test_launched_by_itself_every_part_has_its_launch(report: Report) -> None:
    (sequence,) = block("npu2", "phases").run(verify=False).sequences
    in_dram = block("npu2", "residency").run(verify=False)
    (phases,), (apart,) = report.sequences, in_dram.sequences
    assert (sequence.launches, sequence.one_launch) == (4, False)
    # Nothing stays in L2 from one launch to the next.
    assert sequence.time_us == pytest.approx(apart.separate_us)
    assert sequence.launch_us == pytest.approx(4 * load_device("npu2").control.launch_seconds * 1e6)
    assert [row[0] for row in part_rows(sequence)][-1] == "changes"
    assert sequence.time_us > 3 * phases.time_us


def test_what_is_left_out_costs(report: Report) -> None:
    def change_us(*disable: str) -> float:
        return block("npu2", *disable).run(verify=False).sequences[0].change_us

    (sequence,) = report.sequences
    assert sequence.change_us < change_us("ahead") < change_us("ahead", "keeping")
    assert change_us("ahead", "keeping") < change_us("ahead", "keeping", "loading")


def test_a_part_that_is_called_again_is_in_place() -> None:
    p = Program("fourth")
    x = p.argument(8, 8)
    square = p.matmul(x, x)
    text = p.text(p.matmul(square, square))
    compiled = npuflow.compile(text, APART, device="npu2", split=True, disable="residency")
    (sequence,) = compiled.run(judge=JUDGE).sequences
    assert [part.name for part in sequence.parts] == ["fourth_0", "fourth_0"]
    assert (sequence.changes, sequence.change_us, sequence.reconfigure_us) == (0, 0, 0)
    assert sequence.time_us == sequence.in_place_us


def test_texts_name_parts_and_what_changes_cost(report: Report) -> None:
    lines = text_of(report).splitlines()
    assert sum(line.startswith("@") for line in lines) == 1
    named = ["block_0", "block_1", "block_2", "block_3", "launch", "changes"]
    first = next(number for number, line in enumerate(lines) if line.startswith("  part ")) + 1
    assert [line.split()[0] for line in lines[first : first + 6]] == named
    (sequence,) = report.sequences
    shares = [float(row[3].removesuffix(" %")) for row in part_rows(sequence)]
    assert sum(shares) == pytest.approx(100, abs=0.5 * len(shares))  # each rounded to one per cent at worst
    assert any("4 parts as phases of one launch" in line for line in lines)
    worst = quantity(sequence.reconfigured_us / 1e6, "s")
    assert any(f"{worst} if each change loads the whole array" in line for line in lines)
    details = text_of(report, details=True)
    place = re.compile(r"tiles? \d \+ \d+")  # everything stays in L2
    assert place.search(details)
    assert not place.search(text_of(report))
    headings = [line.partition("(")[0] for line in text_of(report, details=True).splitlines() if line.startswith("@")]
    assert headings == ["@block", "@block_0", "@block_1", "@block_2", "@block_3"]


def test_json_has_sequences_beside_functions(report: Report) -> None:
    data = json.loads(json_of(report))
    (sequence,) = data["sequences"]
    assert sequence["parts"] == [function["name"] for function in data["functions"]]
    assert {function["part_of"] for function in data["functions"]} == {"block"}
    behind = sum(function["time_us"] - function["launch_us"] for function in data["functions"])
    assert sequence["launches"] == 1
    assert sequence["in_place_us"] == pytest.approx(behind + sequence["launch_us"])
    assert sequence["time_us"] == pytest.approx(sequence["in_place_us"] + sequence["change_us"])
    assert [one["part"] for one in sequence["phases"]] == sequence["parts"]
    assert sum(one["change_us"] for one in sequence["phases"]) == pytest.approx(sequence["change_us"])
    assert sequence["phases"][-1]["end_us"] == sequence["time_us"]
    between = [value for value in sequence["plan"]["values"] if value["role"] == "between"]
    assert [(value["first"], value["last"]) for value in between] == [(0, 1), (1, 2), (2, 3)]
    held = sequence["plan"]["workspace_bytes"] + sequence["plan"]["resident_bytes"]
    assert sequence["plan"]["alive_bytes"] <= held
    used = max(one["used_bytes"] for function in data["functions"] for one in function["occupancy"][1:])
    assert sequence["plan"]["left_bytes"] == 8 * (512 * 1024 - used)  # npu2 has 8 memory tiles
    assert sequence["time_us"] < sequence["reconfigured_us"]
    assert sequence["verified"]["status"] == "skipped"


def test_a_page_has_the_table_in_front_of_the_parts() -> None:
    compiled = block("toy", "residency")
    page = html_of(compiled.run(verify=False), compiled.timed_timelines(100))
    data = json.loads(re.search(r"const DATA = (.*);\n", page)[1])  # type: ignore[index]
    (sequence,) = data["sequences"]
    parts = [function["name"] for function in data["functions"]]
    assert [row[0] for row in sequence["rows"]] == [*parts, "launch", "changes"]
    assert [call[2] for call in sequence["calls"]] == [True, False, False, False]
    assert ["split", "asked for"] in sequence["facts"]
    (between,) = sequence["between"]
    assert between["name"] == "DRAM between parts"
    lives = [(first, last) for _, _, _, first, last in between["held"]]
    begins, ends = [call[1] for call in sequence["calls"]], [begin for begin, _ in lives[1:]]
    assert [begin for begin, _ in lives] == begins[:3]
    assert all(end > begin for (_, end), begin in zip(lives, ends)), "each lives until the next has been made"
    assert "<title>@block on toy</title>" in page


def test_a_trace_has_parts_one_after_the_other() -> None:
    compiled = block("toy")
    events = json.loads(trace_json(compiled.timelines(100_000)))["traceEvents"]
    owner = {e["pid"]: e["args"]["name"].split()[0] for e in events if e["name"] == "process_name"}
    spans: dict[str, list[float]] = {}
    for event in events:
        if event["ph"] == "X":
            spans.setdefault(owner[event["pid"]], []).extend((event["ts"], event["ts"] + event["dur"]))
    assert list(spans) == ["block_0", "block_1", "block_2", "block_3"]
    for earlier, later in zip(list(spans), list(spans)[1:]):
        assert max(spans[earlier]) <= min(spans[later]) + 1e-6  # sums of microseconds with three decimals
    (sequence,) = compiled.run(verify=False).sequences
    assert max(spans["block_3"]) == pytest.approx(sequence.time_us, abs=1e-2)  # a cycle for each phase
    assert sum(event["name"] == "launch" for event in events if event["ph"] == "X") == 1


def test_unknown_names_are_told_what_there_is() -> None:
    compiled = block("toy")
    with pytest.raises(npuflow.UsageError, match="@block runs as a sequence of 4 parts"):
        compiled["block"]
    with pytest.raises(npuflow.UsageError, match="unknown sequence 'blok'; hint: did you mean block"):
        compiled.sequence("blok")


@pytest.mark.speed
def test_compiling_takes_time_in_proportion_to_the_number_of_ops() -> None:
    def compiled(length: int) -> None:
        functions = npuflow.compile(chain(length, growth=1e-3), APART, device="toy").functions
        assert len(functions) > length / 2

    compiled(10)
    growths = []
    for _ in range(3):  # a processor that changes its pace in between makes one of them wrong
        growths.append(best_of(1, lambda: compiled(80)) / best_of(2, lambda: compiled(20)))
        if growths[-1] < 7:  # four times the ops; quadratic parts would show as up to sixteen times the time
            return
    pytest.fail(f"four times the ops take {growths} times as long")
