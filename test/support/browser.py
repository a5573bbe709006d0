"""A real browser, driven through WebDriver: clicks and keys arrive as a person's do."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")

_ANSWER_SECONDS = 60
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name for a reference to an element
ARROW_LEFT, ARROW_UP, ARROW_RIGHT, ARROW_DOWN, ENTER = "\ue012", "\ue013", "\ue014", "\ue015", "\ue007"
CONTROL = "\ue009"


class Page:
    """A page that is open."""

    def __init__(self, session: str) -> None:
        self._session = session

    def click(self, css: str) -> None:
        self._post(f"element/{self._find(css)}/click", {})

    def type(self, css: str, text: str) -> None:
        """Replaces what a field holds."""
        element = self._find(css)
        self._post(f"element/{element}/clear", {})
        self._post(f"element/{element}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Presses keys one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def press_with_control(self, key: str) -> None:
        held = [("keyDown", CONTROL), ("keyDown", key), ("keyUp", key), ("keyUp", CONTROL)]
        actions = [{"type": kind, "value": value} for kind, value in held]
        self._post("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def run(self, script: str) -> object:
        """What a script returns."""
        return self._post("execute/sync", {"script": script, "args": []})

    def text(self, css: str) -> str:
        found = self.run(f"return document.querySelector({json.dumps(css)}).textContent")
        assert isinstance(found, str)
        return found

    def screenshot(self, path: Path) -> None:
        image = _request("GET", f"{self._session}/screenshot", None)
        assert isinstance(image, str)
        path.write_bytes(base64.b64decode(image))

    def _find(self, css: str) -> str:
        found = self._post("element", {"using": "css selector", "value": css})
        assert isinstance(found, dict)
        return found[_ELEMENT]

    def _post(self, what: str, body: object) -> object:
        return _request("POST", f"{self._session}/{what}", body)


def _request(method: str, url: str, body: object) -> object:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
        return json.loads(answer.read())["value"]


@contextmanager
def opened(path: Path, profile: Path, size: str = "1280,1000") -> Iterator[Page]:
    """A file in a browser of its own."""
    assert BROWSER is not None
    assert DRIVER is not None
    with subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None
            port = next(found[1] for line in driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
            flags = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                f"--window-size={size}",
                f"--user-data-dir={profile}",
            ]
            wanted = {"goog:chromeOptions": {"binary": BROWSER, "args": [*flags, "--disable-background-networking"]}}
            made = _request("POST", f"http://127.0.0.1:{port}/session", {"capabilities": {"alwaysMatch": wanted}})
            assert isinstance(made, dict)
            session = f"http://127.0.0.1:{port}/session/{made['sessionId']}"
            try:
                _request("POST", f"{session}/url", {"url": path.as_uri()})
                yield Page(session)
            finally:
                _request("DELETE", session, None)
        finally:
            driver.terminate()
