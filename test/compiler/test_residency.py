"""Tensors between parts that stay on the chip: right results, less traffic, no longer times."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.compiled import Sequence
from npuflow.compiler.home_phases import HomeSlabs, LatePhase, Ways
from npuflow.compiler.port_phases import PortPhases
from npuflow.compiler.sequence import execute_sequence
from npuflow.compiler.tile_phases import TilePhases
from npuflow.execute.limits import byte_text
from npuflow.execute.verification import Status
from npuflow.network.decisions import ALL_DECISIONS, Decision
from npuflow.network.plan import PlannedValue
from npuflow.network.residency import Home, Slab
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.home_ports import HOME_LEVEL
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.platform import Side

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program


def narrow() -> str:
    """Three matmuls of several widths with norms between, of few rows: phases with free channels, called once each."""
    p = Program("narrow")
    x, width = p.argument(32, 64), 64
    for wider in (96, 160):
        x = p.norm(p.matmul(x, p.argument(width, wider)), p.argument(wider))
        width = wider
    return p.text(p.matmul(x, p.argument(width, 64)))


@pytest.fixture(scope="module")
def compiled() -> npuflow.Compiled:
    return npuflow.compile(narrow(), "npuflow-stream-k{fuse=false}", device="npu2", split=True)


def test_tensors_stay_and_results_are_right(compiled: npuflow.Compiled) -> None:
    (sequence,) = compiled.sequences
    assert sequence.plan.resident_bytes > 0
    assert all((value.home is None) == (value.number in sequence.away) for value in sequence.plan.between)
    report = compiled.run(verify=True, judge=JUDGE)
    (shown,) = report.sequences
    assert shown.verified.status is Status.OK
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.RESIDENCY})
    assert apart.plan.resident_bytes == 0
    moved = sum(run.traffic[name].read_bytes for part, run in zip(apart.parts, apart.simulate())
                for name in part.compiled.arguments)  # fmt: skip
    assert shown.moved_bytes < moved + sum(v.bytes for v in apart.plan.values)
    # Phases take no longer in all.
    before, after = (sum(run.cycles for run in one.simulate()) for one in (apart, sequence))
    assert after <= before
    # And back again.
    assert apart.with_decided(ALL_DECISIONS).plan == sequence.plan


# Columns follow columns, and go through all rows.
TURNED = "grid = [4, 4], tile_l1 = [8, 200, 256], tile_l2 = [32, 800, 256], turned = 1 : i64"


def through_rows(strategy: str = "") -> str:
    """Two matmuls of i8: all columns go through the rows of what the first makes at the same time."""
    made = """
      %m{n} = linalg.matmul {said} ins(%w{n}, {x} : tensor<256x256xi8>, tensor<256x784xi8>)
          outs(%zeros : tensor<256x784xi32>) -> tensor<256x784xi32>
      %y{n} = linalg.generic {{indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
          iterator_types = ["parallel", "parallel"]}} ins(%m{n} : tensor<256x784xi32>) outs(%r : tensor<256x784xi8>) {{
      ^bb0(%a: i32, %b: i8):
        %t = arith.trunci %a : i32 to i8
        linalg.yield %t : i8
      }} -> tensor<256x784xi8>"""
    said = f"{{npu.strategy = #npu.strategy<{{{strategy}}}>}}" if strategy else ""
    return f"""func.func @f(%x: tensor<256x784xi8>, %w0: tensor<256x256xi8>, %w1: tensor<256x256xi8>)
        -> tensor<256x784xi8> {{
      %zero = arith.constant 0 : i32
      %e = tensor.empty() : tensor<256x784xi32>
      %zeros = linalg.fill ins(%zero : i32) outs(%e : tensor<256x784xi32>) -> tensor<256x784xi32>
      %r = tensor.empty() : tensor<256x784xi8>{made.format(n=0, x="%x", said=said)}{
        made.format(n=1, x="%y0", said=said)
    }
      return %y1 : tensor<256x784xi8>
    }}"""


def test_what_tiles_collect_stays_there_else_rows_are_dealt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    program = through_rows(TURNED)

    def seconds() -> float:
        compiled = npuflow.compile(program, "npuflow-stream-k{fuse=false}", device="npu2", split=True)
        (sequence,) = compiled.sequences
        (between,) = sequence.plan.between
        assert between.home is not None
        homes.append(between.home)
        assert [own for _, own in between.slabs] == [64 * 784] * 4
        (ran,) = compiled.run(verify=True, judge=JUDGE).sequences
        assert ran.verified.status is Status.OK
        return sequence.simulate()[0].seconds

    homes: list[Home] = []
    in_place = seconds()  # of the part that makes it, which needn't send it on then
    monkeypatch.setattr(TilePhases, "in_place", lambda *_: None)
    dealt_out = seconds()
    assert [home.in_place for home in homes] == [True, False]
    assert homes[1].piece_bytes == 784
    assert in_place < dealt_out


def test_each_slab_may_have_a_band_of_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What parts of rows are read from is in one slab then, whatever row it is of."""
    program = through_rows(TURNED)
    pieces = TilePhases.pieces

    def bands(self: TilePhases, value: PlannedValue, count: int) -> list[int]:
        assert (784 // count in pieces(self, value, count)) == (784 % (4 * count) == 0)
        return [784 // 4]

    monkeypatch.setattr(TilePhases, "in_place", lambda *_: None)
    monkeypatch.setattr(TilePhases, "pieces", bands)
    monkeypatch.setattr(TilePhases, "counts", lambda _: (4,))
    monkeypatch.setattr(TilePhases, "late_seconds", lambda *_: -1e-6)  # rows are faster here
    compiled = npuflow.compile(program, "npuflow-stream-k{fuse=false}", device="npu2", split=True, jobs=1)
    (between,) = compiled.sequences[0].plan.between
    assert between.home is not None
    assert between.home.piece_bytes == 784 // 4
    assert [own for _, own in between.slabs] == [64 * 784] * 4
    (ran,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert ran.verified.status is Status.OK


def test_another_home_is_taken_where_phases_are_faster_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was said of what each home costs by itself."""
    program = through_rows(TURNED)
    late_seconds = TilePhases.late_seconds

    def found() -> Home | None:
        compiled = npuflow.compile(program, "npuflow-stream-k{fuse=false}", device="npu2", split=True, jobs=1)
        (between,) = compiled.sequences[0].plan.between
        return between.home

    monkeypatch.setattr(TilePhases, "in_place", lambda *_: None)
    best = found()
    assert best is not None
    said = dict[HomeSlabs, float]()

    def wrong(self: TilePhases, value: PlannedValue, slabs: HomeSlabs) -> float:
        said[slabs] = late_seconds(self, value, slabs)
        return -1e-3 - said[slabs]

    monkeypatch.setattr(TilePhases, "late_seconds", wrong)
    assert found() == best
    assert max(said.values()) > min(said.values())


def test_parts_that_are_called_again_have_a_program_for_what_stays_where() -> None:
    p = Program("again")
    x = p.argument(32, 64)
    for _ in range(4):
        x = p.norm(p.matmul(x, p.argument(64, 64)), p.argument(64))
    compiled = npuflow.compile(p.text(x), "npuflow-stream-k{fuse=false}", device="npu2", split=True)
    (sequence,) = compiled.sequences
    assert {function.name for function in compiled.functions} == {part.name for part in sequence.parts}
    (shown,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK
    # What is brought for later ones makes all parts different.
    sequence = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH})
    assert all(value.home is not None for value in sequence.plan.between)
    # The first layer reads an argument, the last returns its result, those between do what is alike.
    unlike = {part.timing for part in sequence.parts}
    assert len(unlike) < len(sequence.parts)
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.RESIDENCY, Decision.PREFETCH})
    assert len({part.timing for part in apart.parts}) < len(unlike)


def recurrent(steps: int = 3) -> str:
    """A step that is done again and again, with the same weights."""
    p = Program("recurrent")
    x, weights, gain = p.argument(32, 128), p.argument(128, 128), p.argument(128)
    for _ in range(steps):
        x = p.norm(p.matmul(x, weights), gain)
    return p.text(x)


@pytest.mark.parametrize("device", ["npu1", "npu2"])
def test_what_several_phases_read_is_brought_once(device: str) -> None:
    compiled = npuflow.compile(recurrent(), "npuflow-stream-k{fuse=false}", device=device, split=True)
    (sequence,) = compiled.sequences
    (weights,) = sequence.plan.kept
    assert (weights.number, weights.stays) == (1, (0, 4))
    assert sequence.plan.resident_in(3) != {}
    report = compiled.run(verify=True, judge=JUDGE)
    (shown,) = report.sequences
    assert shown.verified.status is Status.OK
    assert "64 KiB of what several parts read are brought to the chip once" in report.text()
    data = json.loads(report.json())["sequences"][0]["plan"]
    assert data["kept_bytes"] == weights.bytes == 128 * 128 * 4
    assert data["values"][1]["stays"] == [0, 4]
    # Matmuls are the even phases; but the first they read nothing of it from DRAM.
    ran = sequence.simulate()
    dram = sequence.device.dram_level
    read = [run.level_traffic(dram).read_bytes for run in ran[::2]]
    assert read[0] >= weights.bytes > max(read[1:])
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.RESIDENCY})
    assert not apart.plan.kept
    assert sum(run.cycles for run in ran) < sum(run.cycles for run in apart.simulate())
    assert apart.with_decided(ALL_DECISIONS).plan == sequence.plan


def test_what_is_brought_lies_where_nobody_writes() -> None:
    compiled = npuflow.compile(recurrent(), "npuflow-stream-k{fuse=false}", device="npu2", split=True)
    (sequence,) = compiled.sequences
    random = np.random.default_rng(0)
    inputs = [random.random(spec.shape, np.float32) for spec in sequence.compiled.signature.inputs]
    (right,) = sequence.execute(*inputs)
    calls = sequence.compiled.calls
    low = tuple(
        replace(
            call,
            brought={
                number: replace(home, slabs=tuple(replace(slab, address=0) for slab in home.slabs))
                for number, home in call.brought.items()
            },
        )
        for call in calls.calls
    )
    (found,) = execute_sequence(replace(sequence.compiled, calls=replace(calls, calls=low)), inputs).outputs
    assert not np.array_equal(right, found)


def test_one_that_reads_it_otherwise_goes_on_reading_dram(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three readers the last can't read in place, nor has it channels: the second gains alone."""
    late_with = TilePhases.late_with

    def not_the_last(self: TilePhases, phase: int, homes: Mapping[int, HomeSlabs]) -> LatePhase | str:
        if phase == 4 and any(slabs.brought is not None and 4 in slabs.readers for slabs in homes.values()):
            return "it can't"
        return late_with(self, phase, homes)

    monkeypatch.setattr(TilePhases, "late_with", not_the_last)
    compiled = npuflow.compile(recurrent(), "npuflow-stream-k{fuse=false}", device="npu2", split=True, jobs=1)
    (sequence,) = compiled.sequences
    assert [value.stays for value in sequence.plan.kept] == [(0, 2)]
    (shown,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK


def test_the_report_says_what_stays(compiled: npuflow.Compiled) -> None:
    report = compiled.run(verify=False)
    text = report.text()
    assert "stay on the chip" in text
    assert "times its inputs, tables and results" in text
    (shown,) = report.sequences
    data = json.loads(report.json())["sequences"][0]
    assert data["plan"]["resident_bytes"] == shown.plan.resident_bytes > 0
    assert data["moved_bytes"] >= data["compulsory_bytes"] > 0
    assert set(data["peak_bytes"]) == {"L1", "L2"}
    page = report.html()
    assert "stay on the chip" in page
    assert '"name": "L2 ' in page.replace('"name":"', '"name": "')
    assert " between parts" in page


def test_the_report_says_what_it_costs_that_something_doesnt_stay(compiled: npuflow.Compiled) -> None:
    given = npuflow.compile(narrow(), "npuflow-stream-k{fuse=false}", device="npu2", split=True, disable=("residency",))
    (near,), report = compiled.run(verify=False).sequences, given.run(verify=False)
    (far,) = report.sequences
    # Each is written once and read once.
    assert (near.handed_bytes, far.handed_bytes) == (0, 2 * far.plan.apart_bytes)
    assert f"moves {byte_text(far.handed_bytes)} there and back" in report.text()
    assert json.loads(report.json())["sequences"][0]["handed_bytes"] == far.handed_bytes


def test_where_there_are_no_memory_tiles_no_reason_speaks_of_them(tmp_path: Path) -> None:
    text = (files("npuflow.target") / "devices" / "npu4.0.toml").read_text()
    small = tmp_path / "small.toml"
    small.write_text(text.replace("bytes = 1474560", "bytes = 49152"))
    (sequence,) = npuflow.compile(narrow(), "npuflow-stream-k{fuse=false}", device=small, split=True).sequences
    assert any("scratchpads" in why for why in sequence.away.values())
    assert not any("memory tile" in why for why in sequence.away.values())


def test_a_home_in_the_place_of_buffers_makes_results_wrong(compiled: npuflow.Compiled) -> None:
    (sequence,) = compiled.sequences
    inputs = [np.ones(spec.shape, spec.dtype) for spec in sequence.compiled.signature.inputs]
    (right,) = sequence.execute(*inputs)
    calls = sequence.compiled.calls

    def low(home: Home | None) -> Home | None:
        return home and replace(home, slabs=tuple(Slab(slab.column, 0) for slab in home.slabs))

    wrong = tuple(replace(call, homes=tuple(map(low, call.homes))) for call in calls.calls)
    spoilt = replace(sequence.compiled, calls=replace(calls, calls=wrong))
    (found,) = execute_sequence(spoilt, inputs).outputs
    assert not np.array_equal(right, found)


def test_what_saves_least_leaves_where_not_all_can_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A phase that has room for the descriptors of one tensor alone keeps the one whose way to DRAM is longest."""
    moved = TilePhases.moved

    def one_alone(self: TilePhases, phase: int, homes: Mapping[int, HomeSlabs]) -> AtHome:
        own = [number for number in homes if any(each == phase for each, _, _ in self.ports[number])]
        if len(own) > 1:
            raise NotAtHomeError("there is room for one")
        return moved(self, phase, homes)

    monkeypatch.setattr(TilePhases, "moved", one_alone)
    compiled = npuflow.compile(narrow(), "npuflow-stream-k{fuse=false}", device="npu2", split=True, jobs=1)
    (sequence,) = compiled.sequences
    values = {value.number: value for value in sequence.plan.between}
    left = [values[number] for number, why in sequence.away.items() if why.startswith("together with others")]
    stay = [value for value in values.values() if value.home is not None]
    assert left
    assert stay
    for value in left:
        beside = [each for each in stay if each.last == value.first or value.last == each.first]
        assert any(each.bytes >= value.bytes for each in beside)


def test_tensors_that_are_in_each_others_way_are_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be beside others where it is best by itself has another home, not none."""
    moved = TilePhases.moved

    def apart(self: TilePhases, phase: int, homes: Mapping[int, HomeSlabs]) -> AtHome:
        own = [slabs.columns for number, slabs in homes.items() if phase in self.phases_of(number, slabs)]
        columns = [column for each in own for column in each]
        if len(columns) > len(set(columns)):
            raise NotAtHomeError("a memory tile has one")
        return moved(self, phase, homes)

    monkeypatch.setattr(TilePhases, "moved", apart)
    compiled = npuflow.compile(narrow(), "npuflow-stream-k{fuse=false}", device="npu2", split=True, jobs=1)
    (sequence,) = compiled.sequences
    homes = [value.home for value in sequence.plan.between]
    assert len(homes) > 2
    for before, after in pairwise(homes):
        assert before is not None
        assert after is not None
        assert {slab.column for slab in before.slabs}.isdisjoint(slab.column for slab in after.slabs)
    (shown,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK


def test_what_has_channels_of_one_group_takes_them_first(compiled: npuflow.Compiled) -> None:
    """Else what may take any would take the descriptors that it alone has."""
    (sequence,) = compiled.sequences
    own = sequence.with_decided(ALL_DECISIONS - {Decision.RESIDENCY}).compiled
    phases = TilePhases(own.calls, own.parts, sequence.device, HOME_LEVEL)
    read, made = (value.number for value in sequence.plan.between[:2])
    (phase,) = {phase for phase, _, side in phases.ports[made] if side is Side.IN}
    for side, free in ((Side.OUT, (0, 1)), (Side.IN, (2,))):
        phases.unused.update({(own.calls.calls[phase].name, side, column): free for column in range(8)})
    homes = {number: HomeSlabs((0, 1), 64) for number in (read, made)}
    assert [way.side for way in phases.ways(phase, homes)] == [Side.IN, Side.OUT]


def test_scratchpads_keep_what_dram_reaches_there_in_as_few_as_have_room() -> None:
    compiled = npuflow.compile(through_rows(), "npuflow-stream-k{fuse=false}", device="npu4.0", split=True)
    (sequence,) = compiled.sequences
    (between,) = sequence.plan.between
    assert [own for _, own in between.slabs] == [256 * 784]
    (ran,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert ran.verified.status is Status.OK
    assert ran.moved_bytes == ran.compulsory_bytes


def test_scratchpads_keep_slabs_of_what_has_no_room_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PortPhases, "in_place", lambda *_: None)
    monkeypatch.setattr(PortPhases, "counts", lambda _: (3,))
    monkeypatch.setattr(PortPhases, "late_seconds", lambda *_: 0.0)
    compiled = npuflow.compile(through_rows(), "npuflow-stream-k{fuse=false}", device="npu4.0", split=True)
    (sequence,) = compiled.sequences
    (between,) = sequence.plan.between
    assert [own for _, own in between.slabs] == [66944, 66944, 66816]
    (ran,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert ran.verified.status is Status.OK
    assert ran.moved_bytes == ran.compulsory_bytes


def test_where_nothing_can_stay_it_says_why() -> None:
    compiled = npuflow.compile(narrow(), "npuflow-stream-k{fuse=false}", device="toy", split=True)
    (sequence,) = compiled.sequences
    assert isinstance(sequence, Sequence)
    assert set(sequence.away) == {value.number for value in sequence.plan.between if value.home is None}
    assert all(sequence.away.values())


def test_programs_of_phases_that_are_alike_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, wanted = list[tuple[str, Ways]](), list[tuple[str, Ways]]()
    make, want = TilePhases.made, TilePhases.ways

    def counted(self: TilePhases, name: str, ways: Ways) -> AtHome:
        made.append((name, ways))
        return make(self, name, ways)

    def asked(self: TilePhases, phase: int, homes: Mapping[int, HomeSlabs]) -> Ways:
        wanted.append((self.calls.calls[phase].name, want(self, phase, homes)))
        return wanted[-1][1]

    monkeypatch.setattr(TilePhases, "made", counted)
    monkeypatch.setattr(TilePhases, "ways", asked)
    p = Program("alike")
    x, w = p.argument(64, 64), p.argument(64, 64)
    for _ in range(6):
        x = p.matmul(x, w)
    (sequence,) = npuflow.compile(p.text(x), "npuflow-stream-k{fuse=false}", device="npu2", split=True).sequences
    assert sequence.plan.resident_bytes > 0
    narrow = [ways for _, ways in made if all(way.channels == 1 for way in ways)]
    assert len(made) == len(set(made))
    assert len(narrow) < len(wanted) / 2
    # What is moved in place would be the same by more channels.
    tried = [way for _, ways in made for way in ways]
    assert any(not way.has_channels for way in tried)
    assert all(way.channels == 1 for way in tried if not way.has_channels)


def test_what_homes_cost_is_found_by_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left for this one are a part of them, and the programs that are chosen."""
    made, make = list[tuple[str, Ways]](), TilePhases.made

    def counted(self: TilePhases, name: str, ways: Ways) -> AtHome:
        made.append((name, ways))
        time.sleep(0.01)  # so that the other process has its turns
        return make(self, name, ways)

    monkeypatch.setattr(TilePhases, "made", counted)
    plans, counts = [], []
    for jobs in (1, 2):
        made.clear()
        compiled = npuflow.compile(narrow(), "npuflow-stream-k{fuse=false}", device="npu2", split=True, jobs=jobs)
        (sequence,) = compiled.sequences
        plans.append((sequence.plan, sequence.away))
        counts.append(len(made))
    assert plans[0] == plans[1]
    assert sequence.plan.resident_bytes > 0
    assert counts[1] < counts[0]


def test_channels_that_nobody_takes_make_phases_faster() -> None:
    program = through_rows(TURNED)
    (sequence,) = npuflow.compile(program, "npuflow-stream-k{fuse=false}", device="npu2", split=True).sequences
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.RESIDENCY}).compiled
    phases = TilePhases(apart.calls, apart.parts, sequence.device, HOME_LEVEL)
    (value,) = sequence.plan.between
    # All columns' results go to one slab, and all read it.
    homes = {value.number: HomeSlabs((6,), value.bytes)}
    for phase in (0, 1):
        moved = phases.moved(phase, homes)
        wide = phases.widened(phase, moved, homes)
        assert phases.seconds_at_home(phase, wide) < phases.seconds_at_home(phase, moved)
        assert phases.widened(phase, wide, homes) == wide


_WHOLE_NUMBERS = """
func.func @main(%x: tensor<33x2xi32>) -> tensor<33x33xi64> {
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<33x2xi64>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<33x2xi32>) outs(%e : tensor<33x2xi64>) {
  ^bb0(%in: i32, %out: i64):
    %n = arith.muli %in, %in : i32
    %s = arith.extsi %n : i32 to i64
    linalg.yield %s : i64
  } -> tensor<33x2xi64>
  %r = tensor.empty() : tensor<33x33xi64>
  %f = linalg.fill ins(%zero : i64) outs(%r : tensor<33x33xi64>) -> tensor<33x33xi64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>,
      affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %a : tensor<33x2xi64>, tensor<33x2xi64>) outs(%f : tensor<33x33xi64>) {
  ^bb0(%p: i64, %q: i64, %out: i64):
    %m = arith.maxsi %p, %q : i64
    %s = arith.addi %out, %m : i64
    linalg.yield %s : i64
  } -> tensor<33x33xi64>
  return %b : tensor<33x33xi64>
}"""


def test_bands_are_of_whole_elements() -> None:
    """Rows of two numbers of 8 bytes, in four bands of 4 bytes, would be halves of numbers."""
    compiled = npuflow.compile(_WHOLE_NUMBERS, device="npu2", split=True)
    (sequence,) = compiled.sequences
    assert sequence.plan.resident_bytes > 0
    (report,) = compiled.run(verify=True).sequences
    assert report.verified.status.value == "ok"
