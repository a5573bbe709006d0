"""The page on which one goes through tiles: on its own, of one mind with `npuflow order`, and clicked in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import ARROW_DOWN, ARROW_RIGHT, CONTROL, ENTER, Browser, browser, no_browser

import npuflow
from npuflow.order.cache import PanelCache, Policy, TileGrid
from npuflow.order.explore import explore_page
from npuflow.order.named import named_orders
from npuflow.order.optimum import loads_bound


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explore") / "order.html"
    path.write_text(explore_page(PanelCache(TileGrid(4, 4), 4)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def window(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        found.open(written)
        yield found


@pytest.fixture
def page(window: Browser) -> Browser:
    window.run("begins()")
    return window


def shown(page: Browser) -> tuple[int, int]:
    """Loads so far, and tiles."""
    return int(page.text("#loads b")), int(page.text("#tiles").split()[0])


def there(page: Browser) -> set[str]:
    found = page.run("return [...document.querySelectorAll('.panel.there')].map(panel => panel.id)")
    assert isinstance(found, list)
    return set(found)


def exported(page: Browser) -> dict[str, object]:
    page.click("#export")
    found = json.loads(str(page.run("return document.getElementById('exported').value")))
    assert isinstance(found, dict)
    return found


def test_the_page_fetches_nothing(written: Path) -> None:
    text = written.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|\bsrc=|@import|<link|fetch\(", text)
    assert "/*" not in re.sub(r"/\*[^/]*\*/", "", text), "a mark was left"


@no_browser
def test_orders_and_loads_are_those_of_the_command(page: Browser) -> None:
    sizes = [(1, 1), (1, 5), (3, 3), (4, 4), (5, 3), (6, 7), (9, 4)]
    script = """
      return %s.map(([rows, columns, capacity, policy]) => {
        const how = { rows, columns, capacity, policy }, orders = namedOrders(how);
        const loads = tiles => walk(tiles, how).map(step => step.loaded.length);
        return [loadsBound(how), Object.fromEntries(Object.entries(orders).map(([name, t]) => [name, [t, loads(t)]]))];
      })"""
    caches = [
        PanelCache(TileGrid(rows, columns), capacity, policy)
        for rows, columns in sizes
        for capacity in range(2, rows + columns + 1)
        for policy in Policy
    ]
    asked = [(c.grid.rows, c.grid.columns, c.capacity, c.policy.value) for c in caches]
    found = page.run(script % json.dumps(asked))
    assert isinstance(found, list)
    for cache, (bound, orders) in zip(caches, found, strict=True):
        own = named_orders(cache.grid)
        wanted = {name: [list(map(list, order)), cache.loads_of(order)] for name, order in own.items()}
        assert orders == wanted, cache
        assert bound == loads_bound(cache), cache


@no_browser
def test_clicking_tiles_shows_loads_and_what_is_there(page: Browser) -> None:
    for tile, loads, panels in (
        ("0-0", 2, {"r0", "c0"}),
        ("0-1", 3, {"r0", "c0", "c1"}),
        ("1-1", 4, {"r0", "r1", "c0", "c1"}),
        ("1-0", 4, {"r0", "r1", "c0", "c1"}),
        ("0-0", 4, {"r0", "r1", "c0", "c1"}),  # a tile that is done is not done again
    ):
        page.click(f"#tile-{tile}")
        assert shown(page)[0] == loads
        assert there(page) == panels
    assert shown(page) == (4, 4)
    assert page.text("#best-label") == "optimum"
    assert (page.text("#best b"), page.text("#bound b")) == ("10", "10")
    assert page.run("return document.querySelectorAll('.path').length") == 3
    assert page.text("#moved") == "256 KiB"  # 4 panels of 64 x 512 elements of 2 bytes


@no_browser
def test_undo_redo_and_clear(page: Browser) -> None:
    for tile in ("0-0", "1-1", "2-2"):
        page.click(f"#tile-{tile}")
    assert shown(page) == (6, 3)
    page.click("#undo")
    page.click("#undo")
    assert shown(page) == (2, 1)
    page.click("#redo")
    assert shown(page) == (4, 2)
    page.click("#tile-0-1")  # another tile: what was undone is forgotten
    assert shown(page) == (4, 3)
    assert page.run("return document.getElementById('redo').disabled") is True
    page.click("#clear")
    assert shown(page) == (0, 0)


@no_browser
def test_the_keyboard_does_all_of_it(page: Browser) -> None:
    page.click("#tile-0-0")
    page.press(ARROW_RIGHT, ENTER, ARROW_DOWN, " ")
    assert exported(page)["tiles"] == [[0, 0], [0, 1], [1, 1]]
    page.click("#tile-0-0")
    page.press("u", "u", "r")
    assert shown(page) == (3, 2)
    page.press(CONTROL, "z")
    assert shown(page) == (2, 1)
    page.press(CONTROL, "y")
    page.press("c")
    assert shown(page) == (0, 0)


@no_browser
def test_the_optimum_and_named_orders_are_replayed(page: Browser) -> None:
    page.click("#whole")
    assert shown(page) == (10, 16)
    page.run("document.getElementById('named').value = 'row-major'")
    page.click("#step")
    page.click("#step")
    assert shown(page) == (3, 2)
    page.click("#whole")
    assert shown(page) == (12, 16)
    page.click("#play")
    page.run("return new Promise(done => setTimeout(done, 900))")
    assert 0 < shown(page)[1] < 16
    page.click("#undo")  # which stops it
    tiles = shown(page)[1]
    page.run("return new Promise(done => setTimeout(done, 600))")
    assert shown(page)[1] == tiles


@no_browser
def test_other_sizes_capacities_and_policies(page: Browser) -> None:
    page.run("document.getElementById('policy').value = 'lru'; restart()")
    assert page.text("#best b") == "10"
    page.click("#tile-0-0")
    page.run("document.getElementById('named').value = 'row-major'")
    page.click("#whole")
    assert shown(page) == (20, 16)
    page.type("#m", "1000")
    page.type("#tm", "100")
    page.press(ENTER)
    # 10x4 tiles with room for 4 panels: not searched for, so a named order and the bound stand for the optimum.
    page.run("restart()")
    assert page.text("#tiles") == "0 of 40"
    assert page.text("#best-label") == "best known"
    assert int(page.text("#bound b")) == loads_bound(PanelCache(TileGrid(10, 4), 4, Policy.LRU))
    page.type("#capacity", "1")
    page.run("restart()")
    assert "2 at least" in page.text("#problem")
    page.type("#capacity", "4")
    page.type("#tn", "1")
    page.run("restart()")
    assert "larger tiles" in page.text("#problem")


@no_browser
def test_a_strategy_that_is_exported_compiles(page: Browser) -> None:
    page.click("#whole")
    assert exported(page)["strategy"] is None
    page.run("document.getElementById('named').value = 'row-major'")
    page.click("#whole")
    found = exported(page)
    assert found["loads"] == 12
    source = """
      func.func @product(%a: tensor<256x512xi8>, %b: tensor<512x256xi8>) -> tensor<256x256xi32> {
        %zero = arith.constant 0 : i32
        %empty = tensor.empty() : tensor<256x256xi32>
        %sum = linalg.fill ins(%zero : i32) outs(%empty : tensor<256x256xi32>) -> tensor<256x256xi32>
        %c = linalg.matmul {npu.strategy = STRATEGY} ins(%a, %b : tensor<256x512xi8>, tensor<512x256xi8>)
          outs(%sum : tensor<256x256xi32>) -> tensor<256x256xi32>
        return %c : tensor<256x256xi32>
      }""".replace("STRATEGY", str(found["strategy"]))
    compiled = npuflow.compile(source, device="toy")
    assert compiled["product"].strategy["tile_l2"] == (64, 64, 512)


@no_browser
def test_light_and_dark(page: Browser) -> None:
    """As the system has it; what is there to be read is not the colour of what it stands on."""
    seen = []
    for theme in ("light", "dark"):
        wanted = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        page.call("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": wanted})
        style = "const style = getComputedStyle(document.querySelector(arguments[0]))"
        ground = page.run(f"{style}; return style.backgroundColor", "body")
        texts = [
            page.run(f"{style}; return style.{key}", css) for css, key in (("h1", "color"), (".panel text", "fill"))
        ]
        assert ground not in texts
        seen.append((ground, *texts))
    assert not set(seen[0]) & set(seen[1])
    page.call("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": []}})
