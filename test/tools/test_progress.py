"""What takes long is said on a terminal, and nowhere else: output that somebody keeps depends on no speed."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable

import pytest

from npuflow.execute.meter import meter_in_force
from npuflow.tools import progress
from npuflow.tools.progress import how_far

HANG_SECONDS = 60


class Terminal(io.StringIO):
    """A terminal, and somebody who waits for what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self._written = threading.Condition()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._written:
            self._written.notify_all()
            return super().write(text)

    def wait_for(self, text: str) -> None:
        with self._written:
            assert self._written.wait_for(lambda: text in self.getvalue(), HANG_SECONDS), self.getvalue()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> Callable[[io.StringIO], None]:
    def show(stream: io.StringIO) -> None:
        monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
        monkeypatch.setattr(progress, "_INTERVAL_SECONDS", 0.001)
        monkeypatch.setattr("sys.stderr", stream)

    return show


def test_a_long_step_is_said_on_a_terminal(hasty: Callable[[io.StringIO], None]) -> None:
    hasty(stream := Terminal())
    with progress.Progress() as shown:
        shown.step("compiling")
        stream.wait_for("npuflow: compiling ...")
    assert stream.getvalue() == "npuflow: compiling ...\n"


def test_nothing_is_said_in_a_log(hasty: Callable[[io.StringIO], None]) -> None:
    hasty(stream := io.StringIO())
    with progress.Progress() as shown:
        shown.step("compiling")
        with meter_in_force().expecting(2), meter_in_force().run() as done:
            done[0] = 1
    assert stream.getvalue() == ""


def test_a_short_step_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 3600.0)
    monkeypatch.setattr("sys.stderr", stream := Terminal())
    with progress.Progress() as shown:
        shown.step("compiling")
        shown.step("simulating")
    assert stream.getvalue() == ""


def test_a_functional_run_says_how_far_it_is(hasty: Callable[[io.StringIO], None]) -> None:
    hasty(stream := Terminal())
    with progress.Progress() as shown:
        shown.step("executing")
        with meter_in_force().expecting(200):
            with meter_in_force().run() as done:
                done[0] = 50
            with meter_in_force().run() as done:
                done[0] = 100
                stream.wait_for(" 75 %, about 0 s left")
        shown.step("comparing")
        stream.wait_for("npuflow: comparing ...")
    assert re.fullmatch(r"(.*\r\033\[K)?npuflow: executing \.\.\..*\nnpuflow: comparing \.\.\.\n", stream.getvalue())


def test_what_is_left_is_in_proportion() -> None:
    assert how_far(None, 1.0) == ""
    assert how_far(0.01, 100.0) == ""
    assert how_far(0.25, 1.0) == " 25 %, about 3 s left"
    assert how_far(0.5, 90.0) == " 50 %, about 1 min 30 s left"
    assert how_far(0.02, 150.0) == " 2 %, about 2 h 2 min left"


def test_what_is_counted_by_hand_is_shown_as_a_share() -> None:
    with progress.Progress() as shown:
        shown.counted_step("timing", 4)
        assert meter_in_force().share == 0.0
        shown.counted_step("", 1)
        assert meter_in_force().share == 0.25
        shown.counted_step("replaying", 0)
        assert meter_in_force().share is None
