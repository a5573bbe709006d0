"""The page holds all it needs, and a real browser draws it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_server import HANG_SECONDS
from matmuls import matmul

import npuflow
from npuflow.report.html import html_of

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

EVENTS = 400


@dataclass(frozen=True)
class Page:
    """A written page, and how many slices its first function's timeline has."""

    path: Path
    slices: int


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    source = matmul(64, 64, 64) + matmul(32, 32, 32, name="other")
    compiled = npuflow.compile(source, device="toy")
    path = tmp_path_factory.mktemp("html") / "page.html"
    runs = compiled.timed_timelines(EVENTS)
    path.write_text(html_of(compiled.run(verify=False), runs), encoding="utf-8")
    return Page(path, len(runs["matmul"][1].slices))


def test_the_page_fetches_nothing(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    without_namespace = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|\bsrc=|@import|<link|fetch\(", without_namespace)


def test_a_name_cannot_end_the_script() -> None:
    compiled = npuflow.compile(matmul(16, 16, 16).replace("@matmul", '@"</script><b>"'), device="toy")
    text = html_of(compiled.run(verify=False), compiled.timed_timelines(10))
    assert text.count("</script>") == 1
    assert "<b>" not in text.partition("<script>")[0]


def rendered(path: Path, profile: Path) -> str:
    assert BROWSER is not None
    run = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            "--window-size=1600,2200",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    return run.stdout


@pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome on PATH")
def test_a_browser_draws_every_part(page: Page, tmp_path: Path) -> None:
    dom = rendered(page.path, tmp_path / "profile")
    drawn = re.search(r'data-drawn="(\d+)"', dom)
    assert drawn is not None
    assert int(drawn[1]) == page.slices > 0
    assert "@matmul(64x64xi8, 64x64xi8) -&gt; (64x64xi32) on toy" in dom
    # Four cores, two memory tiles, two shims.
    assert dom.count('class="tile"') == 8
    assert dom.count('class="link"') >= 8
    assert dom.count('class="block"') >= 5
    assert dom.count('class="bank"') >= 3
    assert re.search(r"memory tile 0 to tile \(0,0\): [\d.]+ [KM]?i?B", dom)
    assert '<td class="left">launch</td>' in dom
    assert dom.count("<button>") == 2


# Turns the wheel ten times over the middle of the timeline, drags it by a tenth of its width, and double-clicks.
GESTURES = """<script>
const canvas = document.getElementById("timeline"), box = canvas.getBoundingClientRect();
const at = share => box.left + LABEL + share * (box.width - LABEL), seen = [];
const note = () => seen.push([view.from, view.to, +canvas.getAttribute("data-drawn")]);
note();
for (let turn = 0; turn < 10; turn++) canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, clientX: at(0.5) }));
note();
canvas.dispatchEvent(new MouseEvent("mousedown", { clientX: at(0.5) }));
canvas.dispatchEvent(new MouseEvent("mousemove", { clientX: at(0.6) }));
window.dispatchEvent(new MouseEvent("mouseup"));
note();
canvas.dispatchEvent(new MouseEvent("dblclick"));
note();
document.body.setAttribute("data-seen", JSON.stringify(seen));
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome on PATH")
def test_the_timeline_zooms_moves_and_shows_everything_again(page: Page, tmp_path: Path) -> None:
    copy = tmp_path / "gestures.html"
    copy.write_text(page.path.read_text(encoding="utf-8").replace("</body>", GESTURES + "</body>"), encoding="utf-8")
    found = re.search(r'data-seen="([^"]*)"', rendered(copy, tmp_path / "profile"))
    assert found is not None
    whole, zoomed, moved, again = json.loads(found[1])
    assert whole == again
    assert whole[0] == 0
    # Each turn leaves 0.8 of what is shown, around its middle; positions are whole pixels, of about 1400.
    span, pixel = whole[1] * 0.8**10, whole[1] / 1400
    assert zoomed[1] - zoomed[0] == pytest.approx(span)
    assert (zoomed[0] + zoomed[1]) / 2 == pytest.approx(whole[1] / 2, abs=pixel)
    assert 0 < zoomed[2] < whole[2]
    # Dragging to the right by a tenth shows what was a tenth of the span before.
    assert moved[0] == pytest.approx(zoomed[0] - span / 10, abs=pixel)
    assert moved[1] - moved[0] == pytest.approx(span)
