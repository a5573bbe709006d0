"""What takes long is said on a terminal, and nowhere else: output that somebody keeps depends on no speed."""

from __future__ import annotations

import io

import pytest

from npuflow.tools import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "said"), [(Terminal(), "npuflow: compiling ...\n"), (io.StringIO(), "")])
def test_a_long_step_is_said_on_a_terminal(stream: io.StringIO, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", stream)
    with progress.Progress() as shown:
        shown.step("compiling")
        if shown._timer is not None:
            shown._timer.join()
    assert stream.getvalue() == said


def test_a_short_step_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 3600.0)
    monkeypatch.setattr("sys.stderr", stream := Terminal())
    with progress.Progress() as shown:
        shown.step("compiling")
    assert shown._timer is not None
    shown._timer.join()  # cancelled
    assert stream.getvalue() == ""
