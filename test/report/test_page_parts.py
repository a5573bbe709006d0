"""The page in a real browser: sequences, parts of runs, small windows, and comparisons."""

from __future__ import annotations

from itertools import chain, combinations, product
from pathlib import Path

import pytest
from browser import Browser, no_browser
from matmuls import matmul

import npuflow
from npuflow.report.compare_differences import compared
from npuflow.report.compare_html import comparison_html
from npuflow.report.compare_read import read_report
from npuflow.report.compare_text import summary
from npuflow.report.html import html_of
from npuflow.report.window import Window
from npuflow.tools.npuflow import main

pytestmark = no_browser

SMALL = Path(__file__).resolve().parents[2] / "examples" / "matmul.mlir"
BLOCK = Path(__file__).resolve().parents[2] / "examples" / "block.mlir"
VIEW = "return [view.from, view.to]"
SLICES = "return now.timeline.lanes.reduce((sum, lane) => sum + lane.ends.length, 0)"


@pytest.fixture(scope="module")
def sequence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "sequence.html"
    path.write_text(npuflow.compile(BLOCK, device="npu2").run(verify=False).html(), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1024, 560])
def test_a_small_window_holds_everything_and_the_axis_stays(window: Browser, sequence: Path, width: int) -> None:
    window.resize(width, 700)
    window.open(sequence)
    for _ in ("the sequence", "a part of it"):
        assert window.run("return document.documentElement.scrollWidth <= innerWidth") is True
        window.run("openAll(true); paint(); byId('lanes').scrollTop = 200")
        top = "return byId('timeline').getBoundingClientRect().top - byId('lanes').getBoundingClientRect().top"
        assert window.run(f"byId('lanes').scrollTop = 200; {top}") == pytest.approx(1, abs=1)
        window.click("#parts a") if "sequence" in _ else None
    right = (
        "return Math.max(...[...document.querySelectorAll('#array .tile')].map(t => t.getBoundingClientRect().right))"
    )
    assert window.run(right) <= width  # type: ignore[operator]
    assert window.errors() == []


# What is computed in f32 as well as by vectors: three roofs of nearly the same height.
NEAR_ROOFS = """
!t = tensor<64x64xf32>
func.func @near(%a: !t, %b: !t) -> !t {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !t
  %z = linalg.fill ins(%zero : f32) outs(%e : !t) -> !t
  %p = linalg.matmul ins(%a, %b : !t, !t) outs(%z : !t) -> !t
  %m = linalg.softmax dimension(1) ins(%p : !t) outs(%e : !t) -> !t
  return %m : !t
}
"""


@pytest.mark.parametrize("width", [1600, 500])
@pytest.mark.parametrize("source", [BLOCK, NEAR_ROOFS], ids=["block", "near roofs"])
def test_what_the_roofline_says_can_be_read(window: Browser, tmp_path: Path, source: Path | str, width: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(npuflow.compile(source, device="npu2", split=True).run(verify=False).html(), encoding="utf-8")
    window.resize(width, 1200)
    window.open(path)
    boxes = "return [...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect().toJSON())"
    (picture,) = window.run(boxes, "#roofline svg")  # type: ignore[misc]
    points = window.run(boxes, "#roofline .point text")
    assert len(points) == window.run("return document.querySelectorAll('#roofline .point').length") > 1  # type: ignore[arg-type]
    names = window.run(boxes, "#roofline text:not(.soft):not([transform])")
    assert all(picture["left"] <= name["left"] and name["right"] <= picture["right"] for name in names)  # type: ignore[attr-defined]
    # Lines are 11 pixels apart, and letters within that.
    for one, other in combinations(names, 2):  # type: ignore[call-overload]
        beside = one["right"] <= other["left"] or other["right"] <= one["left"]
        assert beside or abs(one["bottom"] - other["bottom"]) >= 10.5
    # The letters of no name are crossed by a roof: they begin under their box's top, and end 3 pixels above its end.
    for name, roof in product(names, window.run(boxes, "#roofline line.roof")):  # type: ignore[call-overload]
        crossed = roof["left"] < name["left"] and name["top"] + 1 < roof["top"] < name["bottom"] - 3
        assert roof["height"] > 1 or not crossed
    assert window.errors() == []


def test_a_sequences_energy_is_on_its_page(window: Browser, sequence: Path) -> None:
    window.resize(1600, 1200)
    window.open(sequence)
    of_all = window.run("return [...byId('energy').rows].slice(1).map(row => row.cells[0].textContent)")
    assert of_all[:3] == ["L3", "L2", "L1"]  # type: ignore[index]
    assert window.run("return byId('energies').offsetHeight") > 0  # type: ignore[operator]
    before = window.text("#energy")
    window.click("#parts a")
    assert window.text("#energy") != before


def test_what_lies_at_a_memorys_end_is_drawn_large(window: Browser, sequence: Path) -> None:
    window.open(sequence)
    memory = "const one = now.timeline.memories[0];"
    bottom, top, least, most, size = window.run(  # type: ignore[misc]
        f"{memory} return [one.bottom, one.top, Math.min(...one.held.map(b => b.address)),"
        " Math.max(...one.held.map(b => b.address + b.bytes)), one.size]"
    )
    assert (bottom, top) == (least, most)
    assert 0 < bottom < top == size, "memory tiles hold it behind what parts work with"
    assert "addresses from " in window.text("#memory-note")


def test_a_sequence_is_one_timeline(window: Browser, sequence: Path) -> None:
    window.resize(1600, 1200)
    window.open(sequence)
    report = npuflow.compile(BLOCK, device="npu2").run(verify=False).sequences[0]
    phases = window.run("return now.timeline.phases.map(p => [p.kind, p.name, p.begin, p.end])")
    # What is done ahead of a phase leaves no change in front of it.
    kinds = [["change", "part"] if phase.change_us > 0 else ["part"] for phase in report.phases[1:]]
    assert [phase[0] for phase in phases] == ["launch", "part", *chain(*kinds)]  # type: ignore[attr-defined]
    assert phases[-1][3] == pytest.approx(report.cycles, abs=2)  # type: ignore[index]
    begins = [phase[2] for phase in phases if phase[0] == "part"]  # type: ignore[attr-defined]
    launch, *others = [phase.begin_us * 1800 for phase in report.phases]  # npu2 has 1.8 GHz
    assert begins == pytest.approx([launch + report.launch_us * 1800, *others])
    # What the control processor does before a phase is none of its launch, which it doesn't have.
    control = "const control = now.timeline.lanes.find(lane => lane.name === 'control');"
    assert window.run(f"{control} return control.words.filter(w => now.timeline.words[w][0] === 'launch').length") == 1
    overlaps = f"{control} return control.begins.filter((begin, i) => i && begin < control.ends[i - 1] - 1).length"
    assert window.run(overlaps) == 0
    assert str(window.run("return now.timeline.memories[0].name")).endswith("between parts")
    held = "return now.timeline.memories[0].held.map(block => [block.begin, block.end])"
    parts = [phase for phase in phases if phase[0] == "part"]  # type: ignore[attr-defined]
    begins, ends = [launch, *(part[2] for part in parts[1:])], [part[3] for part in parts]
    blocks = window.run(held)
    assert blocks
    for begin, end in blocks:  # type: ignore[attr-defined]
        # From the part that makes a tensor to one behind it that reads it.
        makers = [number for number, each in enumerate(begins) if abs(each - begin) <= 2]
        readers = [number for number, each in enumerate(ends) if abs(each - end) <= 2]
        assert makers < readers
        assert makers
    whole = window.run(SLICES)
    window.click("#parts a")
    assert window.text("#title").startswith("@block_0(")
    assert window.run("return now.timeline.phases.map(p => p.kind)") == ["launch", "part"]
    assert window.run(SLICES) < whole  # type: ignore[operator]
    assert window.errors() == []


def test_of_a_part_that_is_shown_the_rest_is_in_the_overview(window: Browser, tmp_path: Path) -> None:
    compiled = npuflow.compile(matmul(64, 64, 64), device="toy")
    runs = compiled.timed_timelines(10_000, Window(2, 3))
    path = tmp_path / "part.html"
    path.write_text(html_of(compiled.run(verify=False), runs), encoding="utf-8")
    window.open(path)
    assert window.run("return now.timeline.shown") == [[2000, 3000]]
    assert window.run("return now.timeline.phases.map(p => [p.kind, p.begin])") == [["launch", 0], ["part", 1000]]
    assert window.run("show(0, view.whole); return unknownPlaces(now.timeline).length; ") == 2
    window.run("fitShown()")
    assert tuple(window.run(VIEW)) == (2000, 3000)
    assert "npuflow run --window=" in window.text("#timeline-note")
    late = compiled.timed_timelines(10_000, Window(2))
    path.write_text(html_of(compiled.run(verify=False), late), encoding="utf-8")
    window.open(path)
    assert window.run("return now.timeline.isWhole") is False, "its beginning is missing"
    path.write_text(html_of(compiled.run(verify=False), runs), encoding="utf-8")
    window.open(path)
    window.press("0")
    assert tuple(window.run(VIEW)) == (0, runs["matmul"][0].cycles)
    assert window.errors() == []


def test_the_system_decides_at_first(window: Browser, sequence: Path) -> None:
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    window.call("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": dark})
    window.open(sequence)
    assert window.run("return document.documentElement.dataset.theme") == "dark"
    window.call("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": []}})


@pytest.mark.parametrize(
    "command",
    ["bounds --gemm=512,512,512 --device=npu2 --sweep=M=1..4096", f"tune {SMALL} --device=toy --candidates=3 --jobs=1"],
    ids=["sweep", "tune"],
)
def test_pages_of_pictures_fit_and_have_two_themes(window: Browser, tmp_path: Path, command: str) -> None:
    path = tmp_path / "pictures.html"
    assert main([*command.split(), f"--html={path}"]) == 0
    window.resize(500, 900)
    window.open(path)
    assert window.run("return document.documentElement.scrollWidth <= innerWidth") is True
    pictures = "return [...document.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().right)"
    assert 0 < max(window.run(pictures)) <= 500  # type: ignore[call-overload]
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = window.run(ground)
    window.click("#theme")
    assert window.run(ground) != light
    window.run("localStorage.clear()")
    assert window.errors() == []


def test_two_runs_side_by_side(window: Browser, tmp_path: Path) -> None:
    files = []
    for name, tiles in (("before", "32,16,64"), ("after", "32,32,64")):
        source = matmul(64, 64, 128) + matmul(16, 16, 16, name="other" if name == "before" else "new")
        compiled = npuflow.compile(source, f"npuflow-stream-k{{grid=2,2 tile-l2={tiles}}}", device="toy")
        files.append(tmp_path / f"{name}.json")
        compiled.run(verify=False).save(files[-1])
    first, second = map(read_report, map(str, files))
    pairing = compared(first, second)
    path = tmp_path / "compared.html"
    path.write_text(comparison_html(first, second, pairing), encoding="utf-8")
    window.open(path)
    assert window.text("#summary") == summary(pairing)
    blocks = (
        "return [...document.querySelectorAll('#runs > details > summary')].map(one => one.textContent.split('(')[0])"
    )
    assert window.run(blocks) == ["@matmul", "@new"]
    window.resize(430, 900)
    ends = "return [...document.querySelectorAll('#runs .growth')].map(one => one.getBoundingClientRect().right)"
    assert 0 < max(window.run(ends)) <= window.run("return innerWidth")  # type: ignore[call-overload,operator]
    cells = "return [...document.querySelectorAll('#runs td:first-child')].map(one => one.textContent)"
    assert {"time", "tile-l2", "L3 read"} <= set(window.run(cells))  # type: ignore[call-overload]
    assert "result" not in window.run(cells)  # type: ignore[operator]
    before = len(window.run(cells))  # type: ignore[arg-type]
    window.click("#all")
    assert len(window.run(cells)) > before  # type: ignore[arg-type]
    window.type("#filter", "@new")
    assert window.run(blocks) == ["@new"]
    window.click("#theme")
    assert window.run("return document.documentElement.dataset.theme") == "dark"
    window.run("localStorage.clear()")
    assert window.errors() == []


# A sequence of so many calls that not all of their slices are kept: the parts of the page's, again and again.
MANY_CALLS = """
const parts = DATA.functions, calls = [];
let at = 0;
for (let i = 0; i < 4800; i++) {
  const part = parts[i % parts.length];
  calls.push([part, at, true]);
  at += part.timeline.cycles;
}
const made = timelineOf(calls, at);
setTimeline(made);
const kept = made.lanes.reduce((sum, lane) => sum + lane.ends.length, 0);
const core = [...made.shares.get("core")], mean = core.reduce((sum, share) => sum + share, 0) / core.length;
return [kept <= MOST_SLICES, kept > MOST_SLICES / 2, made.isWhole, made.unknown.length > 0, made.phases.length, mean];
"""


def test_a_sequence_of_thousands_of_calls_is_drawn(window: Browser, sequence: Path) -> None:
    window.open(sequence)
    small, many, whole, unknown, phases, mean = window.run(MANY_CALLS)  # type: ignore[misc]
    assert (small, many, whole, unknown) == (True, True, False, True)
    assert phases == 2 * 4800, "a launch and a part each"
    (report,) = npuflow.compile(BLOCK, device="npu2").run(verify=False).sequences
    busy = sum(e.busy_share * part.cycles for part in report.parts for e in part.engines if e.kind == "core")
    # Pieces are in whole per cent, rounded up; engines of parts without work count nowhere.
    assert mean == pytest.approx(100 * busy / sum(part.cycles for part in report.parts), abs=1)
    assert window.errors() == []
