"""A real browser to click in: Chromium, driven by chromedriver over WebDriver's HTTP."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_server import HANG_SECONDS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
no_browser = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium or chromedriver on PATH")

# The keys that WebDriver has characters for.
ENTER, ESCAPE, SHIFT, CONTROL = "\ue007", "\ue00c", "\ue008", "\ue009"
ARROW_RIGHT, ARROW_DOWN = "\ue014", "\ue015"

Json = dict[str, object]


@dataclass(frozen=True)
class Browser:
    """One window; `call` speaks WebDriver."""

    session: str

    def call(self, path: str, body: Json | None = None) -> object:
        return request(f"{self.session}/{path}", body)

    def open(self, page: Path) -> None:
        """Returns when keys arrive: a page that is loaded but not yet drawn loses them."""
        self.call("url", {"url": page.as_uri()})
        self.run("window.keysHeard = 0; addEventListener('keydown', () => keysHeard++)")
        for _ in range(100):
            self.press(SHIFT)
            if self.run("return keysHeard"):
                return
        pytest.fail(f"{page} hears no keys")

    def resize(self, width: int, height: int) -> None:
        self.call("window/rect", {"width": width, "height": height})

    def run(self, script: str, *arguments: object) -> object:
        return self.call("execute/sync", {"script": script, "args": list(arguments)})

    def text(self, css: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", css))

    def click(self, css: str) -> None:
        self.call(f"element/{self._find(css)}/click", {})

    def type(self, css: str, text: str) -> None:
        """Into a box that is emptied first."""
        self.call(f"element/{self._find(css)}/clear", {})
        self.call(f"element/{self._find(css)}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Keys one by one; one that stands for itself, as SHIFT, is held until the last."""
        held = [key for key in keys if key in (SHIFT, CONTROL)]
        others = [key for key in keys if key not in held]
        steps = [{"type": "keyDown", "value": key} for key in held]
        steps += [{"type": kind, "value": key} for key in others for kind in ("keyDown", "keyUp")]
        steps += [{"type": "keyUp", "value": key} for key in held]
        self._act({"type": "key", "id": "keys", "actions": steps})

    def point(self, css: str, x: float, y: float, *, press: bool = False, to: Sequence[float] = ()) -> None:
        """Moves the pointer to a place, counted from an element's upper left; clicks, or drags to another place."""
        left, top = self.run(
            "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.x, b.y]", css
        )
        steps: list[Json] = [_move(left + x, top + y)]
        if press or to:
            steps.append({"type": "pointerDown", "button": 0})
            steps += [_move(left + to[0], top + to[1])] if to else []
            steps.append({"type": "pointerUp", "button": 0})
        self._act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps})

    def errors(self) -> list[str]:
        """What the page's script has complained about so far."""
        found = self.call("se/log", {"type": "browser"})
        return [entry["message"] for entry in found if entry["level"] == "SEVERE"]  # type: ignore[attr-defined]

    def save_picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(str(self.call("screenshot"))))

    def _act(self, source: Json) -> None:
        self.call("actions", {"actions": [source]})

    def _find(self, css: str) -> str:
        found = self.call("element", {"using": "css selector", "value": css})
        return str(next(iter(found.values())))  # type: ignore[attr-defined]


def _move(x: float, y: float) -> Json:
    return {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0, "origin": "viewport"}


def request(url: str, body: Json | None = None, method: str | None = None) -> object:
    data = None if body is None else json.dumps(body).encode()
    made = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(made, timeout=HANG_SECONDS) as answer:
        return json.loads(answer.read())["value"]


@contextmanager
def browser(profile: Path, width: int = 1600, height: int = 1200) -> Iterator[Browser]:
    """A window of its own; it ends with the block."""
    assert CHROMIUM is not None
    assert DRIVER is not None
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        line = next(line for line in driver.stdout if "started successfully on port" in line)
        port = line.rstrip().rstrip(".").rpartition(" ")[2]
        size = f"--window-size={width},{height}"
        own = (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--hide-scrollbars",
        )
        options = {"binary": CHROMIUM, "args": [*own, size, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        root = f"http://127.0.0.1:{port}/session"
        made = request(root, {"capabilities": {"alwaysMatch": wanted}})
        session = f"{root}/{made['sessionId']}"  # type: ignore[index]
        try:
            yield Browser(session)
        finally:
            request(session, method="DELETE")
    finally:
        driver.kill()
        driver.communicate()
