"""Windows in a row, in tiles that overlap, compute what they do apart, and move what the closed form says."""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from judges import JUDGE
from profiles import drawn

import npuflow
from npuflow.compiler import units
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.errors import InputError
from npuflow.execute.verification import Status
from npuflow.report.model import FunctionReport
from npuflow.split.steps import Steps
from npuflow.split.windows import SlidingWindow

sys.path.insert(0, str(Path(__file__).parent))
from small_devices import with_programs_of
from window_chains import Window, chain

TWO = chain(20, 8, Window(channels=8), Window(channels=8))


def fused(text: str, tiles: tuple[int, int], device: str = "npu2") -> FunctionReport:
    """What is reported of a program in tiles, all of which is one part."""
    pipeline = f"npuflow-stream-k{{window-tiles={tiles[0]},{tiles[1]}}}"
    compiled = npuflow.compile(text, device=device, pipeline=pipeline, split=False)
    assert len(compiled.functions) == 1, "the windows are in parts of their own"
    report = compiled.run(verify=True, judge=JUDGE)
    (function,) = report.functions
    assert function.verified.status is Status.OK, function.verified.message
    return function


CASES = {
    "valid": (TWO, (4, 8)),
    "padded": (chain(16, 8, Window(pad=1, channels=8), Window(pad=1, channels=8)), (4, 8)),
    "skip": (chain(16, 8, Window(pad=1, channels=8), Window(pad=1, channels=8), skip=True), (8, 4)),
    "three": (chain(16, 8, *[Window(pad=1, channels=8)] * 3), (8, 8)),
    "strides": (chain(33, 8, Window(stride=2, channels=8), Window(stride=2, pad=1, channels=16)), (2, 4)),
    "depthwise": (chain(16, 8, Window(5, pad=2), Window(1, channels=16)), (8, 8)),
    "inverted residual": (
        chain(14, 8, Window(1, channels=32), Window(pad=1), Window(1, channels=8), skip=True),
        (7, 7),
    ),
    "one row": (chain(9, 8, Window(pad=1, channels=8), Window(pad=1, channels=8)), (1, 9)),
}


@pytest.mark.parametrize("name", CASES)
def test_windows_in_tiles_compute_what_they_do_apart(name: str) -> None:
    fused(*CASES[name])


def test_a_machine_without_l2() -> None:
    fused(CASES["padded"][0], (8, 8), "npu4.0")


BEGUN = {
    "bias": (chain(16, 8, *[Window(pad=1, channels=8, bias=True)] * 2), (4, 8)),
    "skip": (chain(16, 8, *[Window(pad=1, channels=8, bias=True)] * 2, skip=True), (8, 4)),
    "one of them": (chain(16, 8, Window(pad=1, channels=8, bias=True), Window(channels=8)), (7, 2)),
    "depthwise": (chain(13, 16, Window(5, pad=2, bias=True), Window(1, channels=24, bias=True)), (13, 1)),
    "strides": (chain(31, 8, Window(stride=2, channels=8), Window(stride=2, channels=16, bias=True)), (7, 1)),
}


@pytest.mark.parametrize("device", ["npu2.7", "npu4.0"])
@pytest.mark.parametrize("name", BEGUN)
def test_sums_that_begin_with_a_bias_which_another_engine_writes(name: str, device: str) -> None:
    fused(*BEGUN[name], device)


def test_sums_that_begin_with_a_bias_stay_apart_where_one_engine_does_all() -> None:
    sink, text = DiagnosticSink(), BEGUN["bias"][0]
    npuflow.compile(text, "npuflow-stream-k{window-tiles=4,8}", device="npu2", sink=sink)
    assert any("stay apart: a sum begins with a tensor" in one.message for one in sink.diagnostics)


@pytest.fixture
def estimates_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a program fits is estimated before there is one: here, all do."""
    monkeypatch.setattr("npuflow.fusion.window_ways.kernels_fit", lambda *_: True)
    monkeypatch.setattr("npuflow.strategy.bundle_times.program_fits", lambda *_: True)


def beside(first: int, second: int) -> str:
    """Two chains of so many windows in one function, which have nothing to do with each other."""
    count = first + second
    text = chain(20 + 2 * count, 8, *[Window(channels=8)] * count)
    last, middle = "tensor<1x20x20x8xi8>", f"tensor<1x{20 + 2 * second}x{20 + 2 * second}x8xi8>"
    text = text.replace(f"ins(%r{first - 1}, %w{first} ", f"ins(%y, %w{first} ").replace("(%x:", f"(%y: {middle}, %x:")
    text = text.replace(f"-> {last} {{\n  %none", f"-> ({middle}, {last}) {{\n  %none")
    return text.replace(f"return %r{count - 1} : {last}", f"return %r{first - 1}, %r{count - 1} : {middle}, {last}")


@pytest.mark.usefixtures("estimates_fit")
def test_what_a_schedule_refuses_stays_apart_unless_asked_for(tmp_path: Path) -> None:
    small = with_programs_of(4096, "npu2", tmp_path)
    sink = DiagnosticSink()
    compiled = npuflow.compile(TWO, device=small, sink=sink)
    assert len(compiled.functions) == 2
    apart = "groups chain_0, chain_1 stay apart: as one, the program of 'core' needs"
    assert any(apart in said.message for said in sink.diagnostics)
    with pytest.raises(InputError, match="the program of 'core' needs"):
        npuflow.compile(TWO, "npuflow-stream-k{window-tiles=8,8}", device=small)


@pytest.mark.usefixtures("estimates_fit")
def test_four_that_are_refused_as_one_are_two_and_two(tmp_path: Path) -> None:
    """The program of four windows has no room, nor that of three; that of two has."""
    sink = DiagnosticSink()
    small = with_programs_of(8192, "npu2", tmp_path)
    compiled = npuflow.compile(chain(24, 8, *[Window(channels=8)] * 4), device=small, sink=sink, disable="tries")
    assert [function.name for function in compiled.functions] == ["chain_0", "chain_1"]
    (sequence,) = compiled.sequences
    made_of = [call.made_of for call in sequence.compiled.calls.calls]
    assert made_of == [("chain_0", "chain_1"), ("chain_2", "chain_3")]
    for groups in ("chain_0, chain_1, chain_2, chain_3", "chain_1, chain_2, chain_3"):
        assert any(f"groups {groups} stay apart: as one, the program" in said.message for said in sink.diagnostics)
    assert compiled.run(verify=True, judge=JUDGE).ok


@pytest.mark.usefixtures("estimates_fit")
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_nothing_is_refused_of_stays_one_and_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jobs: int
) -> None:
    """Three windows have no room as one, so that two of them are; the two beside them are one from the first."""
    compiled_units: list[str] = []
    compile_anew = units.UnitCompiler.compile_anew

    def counted(compiler: units.UnitCompiler, given: list[units.Unit]) -> list[units.UnitOutcome]:
        compiled_units.extend(str(unit.module) for unit in given)
        return compile_anew(compiler, given)

    monkeypatch.setattr(units.UnitCompiler, "compile_anew", counted)
    small = with_programs_of(7000, "npu2", tmp_path)
    compiled = npuflow.compile(beside(3, 2), device=small, jobs=jobs, split=True, disable="tries")
    (sequence,) = compiled.sequences
    made_of = {call.name: call.made_of for call in sequence.compiled.calls.calls}
    assert len(made_of) == 3
    assert ("chain_0", "chain_1", "chain_2") not in made_of.values()
    assert made_of["chain_2"] == ("chain_3", "chain_4")
    assert [function.like for function in compiled.functions] == ["", "", ""]
    assert len(compiled_units) == len(set(compiled_units)) == 4
    assert compiled.run(verify=True, judge=JUDGE).ok


def test_dram_traffic_is_the_closed_form() -> None:
    """A block of the array's tiles reads its part of the image with two halos of a row on each side.

    What is between stays where it is, and weights come once.
    """
    function = fused(TWO, (4, 8))
    spread, tiles = function.strategy["spread"], function.strategy["tile_l1"]
    read = 8
    for axis, tile in ((1, 4), (2, 8)):
        block = tile * tiles[axis] * prod(n for loop, n in zip(spread, function.grid) if loop == axis)
        read *= 16 // block * Steps(block, 0, block).read(SlidingWindow(3)).read(SlidingWindow(3)).extent
    assert function.traffic[0].write_bytes == 16 * 16 * 8
    assert function.traffic[0].read_bytes == read + 2 * 3 * 3 * 8 * 8


@settings(drawn(few=3, many=100), phases=(Phase.explicit, Phase.generate))
@given(
    st.integers(1, 3),
    st.integers(1, 4),
    st.lists(
        st.builds(
            lambda kernel, stride, padded, channels: Window(kernel, stride, padded * (kernel // 2), channels),
            st.sampled_from([1, 3, 5]),
            st.integers(1, 2),
            st.integers(0, 1),
            st.sampled_from([None, 8, 16]),
        ),
        min_size=2,
        max_size=3,
    ),
)
def test_drawn_chains(rows: int, columns: int, windows: list[Window]) -> None:
    """Tiles of `rows` x `columns` of a result that they divide; the sizes of the image follow from it."""
    size = 12
    for window in reversed(windows):
        size = (size - 1) * window.stride + window.kernel - 2 * window.pad
    if all(window.kernel == 1 and window.stride == 1 for window in windows[1:]):
        windows = [*windows, Window(pad=1)]
    fused(chain(size, 8, *windows), (rows, columns))
