"""The page in a real browser: what it draws, and what clicks and keys do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CONTROL, ENTER, ESCAPE, SHIFT, Browser, no_browser
from matmuls import matmul

import npuflow

pytestmark = no_browser

VIEW = "return [view.from, view.to]"
SLICES = "return now.timeline.lanes.reduce((sum, lane) => sum + lane.ends.length, 0)"
ROWS = "return rows.list.map(row => row.group || row.lane.name)"
# The canvas column where lanes begin, and how high rows are.
LABEL, HEAD, ROW = 170, 38, 16


@pytest.fixture
def page(window: Browser, two: Path) -> Iterator[Browser]:
    window.resize(1600, 1200)
    window.open(two)
    yield window
    assert window.errors() == []


def span(page: Browser) -> tuple[float, float]:
    begin, end = page.run(VIEW)  # type: ignore[misc]
    return begin, end


def count(page: Browser, css: str) -> int:
    return int(page.run("return document.querySelectorAll(arguments[0]).length", css))  # type: ignore[call-overload]


def test_every_part_is_drawn(page: Browser) -> None:
    function = npuflow.compile(matmul(64, 64, 64), "npuflow-stream-k", device="toy")
    ((_, timeline),) = function.timed_timelines(10**6).values()
    assert page.run(SLICES) == len(timeline.slices)
    assert int(page.run("return document.getElementById('timeline').dataset.drawn")) > 50  # type: ignore[call-overload]
    assert page.text("#title") == "@matmul(64x64xi8, 64x64xi8) -> (64x64xi32) on toy (2x2 cores, 1 GHz)"
    # Four cores, two memory tiles, two shims.
    assert count(page, "#array .tile") == 8
    assert count(page, "#array .link") >= 8
    assert count(page, "#memories .block") >= 5
    assert count(page, "#memories .bank") >= 3
    assert count(page, "#roofline .point") == 2
    assert int(page.run("return +document.getElementById('overview').dataset.kinds")) == 8  # type: ignore[call-overload]
    assert int(page.run("return +document.getElementById('held').dataset.drawn")) > 4  # type: ignore[call-overload]
    facts = page.text("#facts")
    for said in ("2x2 cores, rows along n, columns along m", "blocks of", "bound by"):
        assert said in facts
    assert page.run("return document.title") == "@matmul, @other on toy"


def test_another_function_can_be_chosen(page: Browser) -> None:
    before = page.run(SLICES)
    page.run("const box = byId('run'); box.selectedIndex = 1; box.dispatchEvent(new Event('change'))")
    assert page.text("#title").startswith("@other(")
    assert page.run(SLICES) != before
    page.click("#roofline .point[data-run=matmul] circle")
    assert page.text("#title").startswith("@matmul(")
    assert page.run(SLICES) == before


def test_a_filter_leaves_rows_and_opens_their_groups(page: Browser) -> None:
    page.click("#collapse")
    everything = page.run("return rows.lanes.length")
    page.type("#filter", "core (0,1)")
    left = page.run(ROWS)
    assert left == ["tile (0,1)", "core (0,1)"] + [name for name in left if name.startswith("core dma (0,1)")]  # type: ignore[attr-defined]
    assert page.text("#filtered") == f"{len(left) - 1} of {everything}"  # type: ignore[arg-type]
    page.type("#filter", "no such row")
    assert page.run(ROWS) == []
    page.type("#filter", " ")
    assert all("(" not in name or "core" not in name for name in page.run(ROWS)), "all are closed as before"  # type: ignore[attr-defined]


def test_groups_close_and_open(page: Browser) -> None:
    names = page.run(ROWS)
    assert names[:2] == ["tile (0,0)", "core (0,0)"], "cores come first"  # type: ignore[index]
    page.point("#timeline", 40, HEAD + ROW / 2, press=True)
    assert page.run(ROWS)[:2] == ["tile (0,0)", "tile (0,1)"]  # type: ignore[index]
    page.point("#timeline", 40, HEAD + ROW / 2, press=True)
    assert page.run(ROWS) == names
    page.click("#collapse")
    assert len(page.run(ROWS)) == 9  # type: ignore[arg-type]  # four cores, two memory tiles, two shims, control
    page.click("#expand")
    assert page.run(ROWS) == names
    page.run("const box = byId('grouping'); box.value = 'kind'; box.dispatchEvent(new Event('change'))")
    assert page.run(ROWS)[:5] == ["core", "core (0,0)", "core (0,1)", "core (1,0)", "core (1,1)"]  # type: ignore[index]


def test_keys_zoom_and_move(page: Browser) -> None:
    page.point("#title", 1, 1)
    whole = span(page)
    page.press("w", "w")
    near = span(page)
    assert near[1] - near[0] == pytest.approx(0.7**2 * (whole[1] - whole[0]))
    assert sum(near) == pytest.approx(sum(whole)), "around the middle, as the pointer is elsewhere"
    page.press("d")
    right = span(page)
    assert right[0] - near[0] == pytest.approx(0.15 * (near[1] - near[0]))
    page.press("a")
    assert span(page) == pytest.approx(near)
    page.press("s", "s", "s")
    assert span(page) == pytest.approx(whole), "no further out than the whole run"
    # Around the pointer: what is under it stays there.
    width = page.run("return view.width")
    quarter = LABEL + (width - LABEL) / 4  # type: ignore[operator]
    page.point("#timeline", quarter, HEAD + 3 * ROW)
    page.press("w")
    begin, end = span(page)
    assert begin + (end - begin) / 4 == pytest.approx(whole[1] / 4, abs=whole[1] / 400)
    page.press("0")
    assert span(page) == pytest.approx(whole)


def test_a_click_selects_and_f_fits(page: Browser) -> None:
    lane = "const lane = now.timeline.lanes[0], i = lane.words.findIndex(w => now.timeline.words[w][1] === 'compute');"
    middle, begin, end = page.run(  # type: ignore[misc]
        f"{lane} return [placeOf((lane.begins[i] + lane.ends[i]) / 2), lane.begins[i], lane.ends[i]]"
    )
    page.point("#timeline", middle, HEAD + 1.5 * ROW, press=True)
    assert page.text("#chosen").startswith("core (0,0): ")
    assert f"{end - begin} cycles" in page.text("#chosen")
    page.press("f")
    shown = span(page)
    assert shown[0] <= begin < end <= shown[1]
    assert shown[1] - shown[0] <= 1.3 * (end - begin) + 4
    page.press(ESCAPE)
    assert page.text("#chosen").startswith("Nothing is selected")
    page.point("#timeline", 400, HEAD + 1.5 * ROW, to=(300, HEAD + 1.5 * ROW))
    assert span(page)[0] > shown[0], "dragged to the left"


def test_a_click_on_a_launch_shows_just_that(page: Browser) -> None:
    launch = page.run("const one = now.timeline.phases[0]; return [one.kind, one.begin, one.end]")
    assert launch == ["launch", 0, 1000]
    page.point("#timeline", LABEL + 20, HEAD - 6, press=True)
    assert span(page) == (0, 1000)


def test_search_goes_from_one_to_the_next(page: Browser) -> None:
    page.press("/")
    page.press(*"matmul")
    kernels = "lane.words.filter(w => now.timeline.words[w][0] === 'matmul').length"
    number = page.run(f"return now.timeline.lanes.reduce((sum, lane) => sum + {kernels}, 0)")
    assert page.text("#found") == f"{number} found"
    page.press(ENTER)
    first = page.text("#chosen")
    assert page.text("#found") == f"1 of {number}"
    assert ": matmul" in first
    page.click("#next")
    assert page.text("#found") == f"2 of {number}"
    assert page.text("#chosen") != first
    page.click("#search")
    page.press(SHIFT, ENTER)
    assert page.text("#chosen") == first
    page.press(SHIFT, ENTER)
    assert page.text("#found") == f"{number} of {number}", "round"
    page.type("#search", "there is no such thing")
    assert page.text("#found") == "nothing found"
    page.press(ESCAPE)
    page.press(CONTROL, "f")
    assert page.run("return document.activeElement.id") == "search"


def test_a_hit_in_a_closed_group_is_brought_onto_the_screen(page: Browser) -> None:
    page.click("#collapse")
    page.type("#search", "send result0")
    page.press(ENTER)
    name = page.text("#chosen").partition(":")[0]
    row = page.run(ROWS).index(name)  # type: ignore[attr-defined]
    top = page.run("return byId('lanes').scrollTop")
    height = page.run("return byId('lanes').clientHeight")
    assert 0 <= HEAD + row * ROW - top <= height - ROW  # type: ignore[operator]


def test_keys_are_listed(page: Browser) -> None:
    page.press("?")
    assert page.run("return byId('help').open") is True
    before = span(page)
    page.press("w")
    assert span(page) == before, "keys belong to what is open"
    page.press(ESCAPE)
    assert page.run("return byId('help').open") is False
    page.click("#keys")
    assert page.run("return byId('help').open") is True
    page.click("#help button")


def test_light_and_dark(page: Browser) -> None:
    pixel = "return [...byId('timeline').getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3)"
    back = "return getComputedStyle(document.body).backgroundColor"
    assert (page.run(pixel), page.run(back)) == ([255, 255, 255], "rgb(255, 255, 255)")
    page.click("#theme")
    assert (page.run(pixel), page.run(back)) == ([18, 22, 28], "rgb(18, 22, 28)")
    page.click("#theme")
    assert page.run(pixel) == [255, 255, 255]
    page.run("localStorage.clear()")


def test_the_overview_moves_what_is_shown(page: Browser) -> None:
    page.run("show(0.4 * view.whole, 0.6 * view.whole)")
    before = span(page)
    width = page.run("return view.width")
    page.point("#overview", width - 10, 30, press=True)  # type: ignore[operator]
    after = span(page)
    assert after[1] == pytest.approx(page.run("return view.whole"))
    assert after[1] - after[0] == pytest.approx(before[1] - before[0])
    page.point("#overview", LABEL + 100, 30, to=(LABEL + 300, 30))
    drawn = span(page)
    whole = page.run("return view.whole / (view.width - LABEL)")
    assert drawn == pytest.approx((100 * whole, 300 * whole), abs=2 * whole)  # type: ignore[operator]


def test_the_wheel_scrolls_rows_and_zooms_with_control(page: Browser) -> None:
    event = "new WheelEvent('wheel', {{ deltaY: -1, clientX: 800, ctrlKey: {}, cancelable: true }})"
    before = span(page)
    assert page.run(f"return byId('timeline').dispatchEvent({event.format('false')})") is True
    assert span(page) == before
    assert page.run(f"return byId('timeline').dispatchEvent({event.format('true')})") is False
    assert span(page)[1] - span(page)[0] == pytest.approx(0.8 * (before[1] - before[0]))


def test_a_memory_can_be_chosen(page: Browser) -> None:
    names = page.run("return memory.all.map(one => one.name)")
    assert names == [f"L1 ({r},{c})" for r in range(2) for c in range(2)] + ["L2 0", "L2 1"]
    page.run("const box = byId('memory'); box.value = 'L2 1'; box.dispatchEvent(new Event('change'))")
    assert page.run("return memory.chosen.name") == "L2 1"
    block = "const one = memory.chosen.held[0], top = Math.max(...memory.chosen.held.map(b => b.address + b.bytes));"
    place = "HELD_HEIGHT - 4 - (one.address + one.bytes / 2) / top * (HELD_HEIGHT - 12)"
    x, y = page.run(f"{block} return [placeOf((one.begin + one.end) / 2), {place}]")  # type: ignore[misc]
    page.run("byId('held').scrollIntoView()")
    page.point("#held", x, y)
    assert page.text("#tip").startswith(str(page.run("return memory.chosen.held[0].tensor")))


def test_a_fused_group_is_drawn_as_a_tree(window: Browser, tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "two_layers.mlir"
    made = npuflow.compile(example.read_text().replace("8192", "864"), device="npu4.0:1x1")
    (tmp_path / "layers.html").write_text(made.run(verify=False).html(), encoding="utf-8")
    window.open(tmp_path / "layers.html")
    assert window.text("#dataflow > li > .node") == "DRAM"
    assert "result0" in window.text("#dataflow > li > .edge .written")
    assert count(window, "#dataflow > li > ul > li") == 2
    assert "elementwise" in window.text("#dataflow > li > ul > li:last-child .op")
    assert count(window, "#dataflow > li > ul > li:last-child .kept") == 2
    assert window.errors() == []
