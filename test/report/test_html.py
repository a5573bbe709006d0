"""The page holds all it needs, whatever things are called; what a browser makes of it is in `test_page.py`."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from matmuls import SMALL, TILES, matmul, small

import npuflow
from npuflow.report.html import SCRIPTS, STYLES, html_of
from npuflow.report.model import Report
from npuflow.report.page_timeline import timeline_json
from npuflow.report.read_trace import timeline_of
from npuflow.report.traffic import occupancies
from npuflow.report.window import Window

PAGE = Path(npuflow.__file__).parent / "report" / "page"
TEXT, DRAWN = 4.5, 3.0  # WCAG AA: text, and what else one must see
COLOUR = re.compile(r"--([\w-]+): #([0-9a-f]{6})")


def data_of(page: str) -> dict[str, list[dict[str, object]]]:
    return json.loads(re.search(r"const DATA = (.*);\n", page)[1])  # type: ignore[index]


def test_the_page_fetches_nothing() -> None:
    text = npuflow.compile(SMALL, f"npuflow-stream-k{TILES}", device="toy").run(verify=False).html()
    without_namespace = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|\bsrc=|@import|<link|fetch\(|url\(", without_namespace)
    assert "{{" not in text


@pytest.mark.parametrize("name", ["</script><b>", "{{SCRIPTS}}", "<!--<script>", "a\\22b"])
def test_no_name_is_taken_for_a_part_of_the_page(name: str) -> None:
    compiled = npuflow.compile(matmul(16, 16, 16).replace("@matmul", f'@"{name}"'), device="toy")
    text = html_of(compiled.run(verify=False), compiled.timed_timelines(10))
    assert text.count("</script>") == 1
    assert "<b>" not in text.partition("<script>")[0]
    assert text.count("function showRun(") == 1
    assert data_of(text)["functions"][0]["name"] == compiled.functions[0].name


def test_rows_of_numbers_are_the_slices() -> None:
    function = small().compiled
    timeline = timeline_of(function, 100_000)
    data = timeline_json(timeline, occupancies(function.program, function.device))
    words, found = data["words"], []
    for name, _, _, _, row in data["engines"]:  # type: ignore[attr-defined]
        at = 0
        for word, gap, cycles in zip(row[::3], row[1::3], row[2::3]):
            found.append((name, words[word], at + gap, at + gap + cycles))  # type: ignore[index]
            at += gap + cycles
    expected = [
        (function.program.engines[s.engine].name, (s.name, s.kind, s.step.partition("[")[0], s.bytes), s.begin, s.end)
        for s in timeline.slices
    ]
    assert sorted(found) == sorted(expected)


def test_tiles_are_shown_from_the_cores_outward() -> None:
    function = small().compiled
    data = timeline_json(timeline_of(function, 1000), occupancies(function.program, function.device))
    places = {name: place for name, _, _, place, _ in data["engines"]}  # type: ignore[attr-defined]
    order = [
        "core (0,0)",
        "core dma (0,0) in 0",
        "core (0,1)",
        "core (1,1)",
        "memory tile dma 0 in 0",
        "shim dma 0 out 0",
    ]
    assert all(places[one] < places[other] for one, other in pairwise([*order, "control"]))


def test_levels_may_have_names_of_several_words(tmp_path: Path) -> None:
    text = (Path(npuflow.__file__).parent / "target" / "devices" / "toy.toml").read_text()
    file = tmp_path / "mine.toml"
    file.write_text(text.replace('name = "L1"', 'name = "near by"').replace('name = "L2"', 'name = "far off"'))
    compiled = npuflow.compile(SMALL, f"npuflow-stream-k{TILES}", device=file)
    (data,) = data_of(html_of(compiled.run(verify=False), compiled.timed_timelines(1000)))["functions"]
    held = {memory["name"]: memory["size"] for memory in data["timeline"]["memories"]}  # type: ignore[index]
    assert (held["near by (0,0)"], held["far off 0"]) == (32768, 262144)
    maps = {memory["title"].partition(" and ")[0]: memory["size"] for memory in data["memories"]}  # type: ignore[attr-defined]
    assert maps == {"near by (0,0)": 32768, "far off 0": 262144}


def test_all_functions_share_what_a_page_holds() -> None:
    source = "".join(matmul(64, 64, 64, name=f"f{i}") for i in range(4)) + matmul(8, 8, 8, name="tiny")
    compiled = npuflow.compile(source, device="toy")
    whole = {name: len(t.slices) for name, (_, t) in compiled.timed_timelines(10**6).items()}
    shared = {name: len(t.slices) for name, (_, t) in compiled.timed_timelines(800).items()}
    assert sum(shared.values()) <= 800 < sum(whole.values())
    assert shared["tiny"] == whole["tiny"], "what is small is whole"
    assert len({shared[f"f{i}"] for i in range(4)}) == 1, "what is alike has alike shares"


def test_a_large_run_makes_no_large_page() -> None:
    compiled = npuflow.compile(matmul(1024, 1024, 1024, "bf16", "f32"), device="npu2")
    report: Report = compiled.run(verify=False)
    runs = compiled.timed_timelines(8_000)
    (_, timeline) = runs["matmul"]
    assert timeline.is_cut
    assert timeline.overview.known == timeline.cycles, "the overview is of all of it"
    assert len(html_of(report, runs)) < 60 * 8_000


def test_a_windows_events_are_those_of_the_whole_run() -> None:
    function = small().compiled
    whole = timeline_of(function, 100_000)
    begin, end = whole.cycles // 3, whole.cycles // 2
    part = timeline_of(function, 100_000, Window(begin / 1e3, end / 1e3))  # toy has 1 GHz
    assert (part.begin, part.covered, part.is_cut) == (begin, end, False)
    inside = [s for s in whole.slices if s.end > begin and s.begin < end]
    assert list(part.slices) == inside
    assert 0 < len(inside) < len(whole.slices)
    # What was held all through the window is held at the same addresses.
    among = {(h.memory, h.address_bytes, h.tensor) for h in whole.held}
    assert {(h.memory, h.address_bytes, h.tensor) for h in part.held} <= among
    cut = timeline_of(function, 20, Window(begin / 1e3, end / 1e3))
    assert (cut.is_cut, len(cut.slices)) == (True, 20)
    assert begin < cut.covered < end


def test_what_is_not_known_cannot_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuflow.report.read_trace.MOST_TRACED", 200)
    compiled = npuflow.compile(matmul(64, 64, 128), f"npuflow-stream-k{TILES}", device="toy")
    ((_, begun),) = compiled.timed_timelines(10_000).values()
    assert 0 < begun.overview.known < begun.cycles
    assert (begun.is_cut, begun.covered) == (True, begun.overview.known)
    with pytest.raises(npuflow.UsageError, match=r"nothing of the window .* can be shown: events are known for"):
        compiled.timed_timelines(10_000, Window((begun.cycles - 100) / 1e3))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """As WCAG defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_as_it_is_defined() -> None:
    assert contrast("ffffff", "000000") == pytest.approx(21)
    assert contrast("777777", "ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_told_apart(theme: str) -> None:
    light, _, dark = (PAGE / "colours.css").read_text().partition("[data-theme")
    colours = dict(COLOUR.findall(light)) | (dict(COLOUR.findall(dark)) if theme == "dark" else {})
    for back in ("back", "panel"):
        for name in ("ink", "soft", "accent"):
            assert contrast(colours[name], colours[back]) >= TEXT, (name, back)
    on = {name.removeprefix("on-"): colour for name, colour in colours.items() if name.startswith("on-")}
    for name, colour in colours.items():
        if name in on:
            assert contrast(on[name], colour) >= TEXT, name
        if name in on and name != "part":
            assert contrast(colour, colours["back"]) >= DRAWN, name
        if name in ("compute", "read", "written"):
            assert contrast(colour, colours["back"]) >= TEXT, name
        if name.startswith("tensor-"):
            assert contrast(on["tensor"], colour) >= TEXT, name
    assert {"compute", "send", "receive", "control", "launch", "change", "wait"} <= set(on)


@pytest.mark.parametrize("file", sorted(PAGE.iterdir()), ids=lambda file: file.name)
def test_scripts_and_styles_are_to_be_read(file: Path) -> None:
    lines = file.read_text().splitlines()
    assert len(lines) < 300
    assert max(map(len, lines)) <= 120
    others = {f"{name}.{end}" for name in ("compare", "pictures") for end in ("css", "js")}
    assert file.name in {"frame.html", "page.html", "compare.html", *STYLES, *SCRIPTS, *others}
