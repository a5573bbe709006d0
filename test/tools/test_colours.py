"""Colours are for terminals: the same text without them everywhere else."""

from __future__ import annotations

import io
import re

import pytest

from npuflow.errors import Diagnostic, Severity, SourceLocation, render
from npuflow.tools.colours import comparison_for, paint_for, report_for
from npuflow.tools.npuflow import main

MESSAGE = Diagnostic(Severity.ERROR, "too wide; hint: use less", SourceLocation("a.mlir", 1, 3, "x = yz"))
PLAIN = "a.mlir:1:3: error: too wide; hint: use less\nx = yz\n  ^"
REPORT = "@f(8xi8) -> (8xi8) on toy\n  time        1 us\n  verified    {}\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def shows_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_message_has_colours_on_a_terminal_only() -> None:
    painted = render(MESSAGE, paint=paint_for(Terminal()))
    assert "\x1b[1;31merror:\x1b[0m too wide; \x1b[32mhint:\x1b[0m use less" in painted
    assert painted.endswith("\n  \x1b[1;32m^\x1b[0m")
    assert without_colours(painted) == PLAIN
    assert render(MESSAGE, paint=paint_for(io.StringIO())) == PLAIN == render(MESSAGE)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_none_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert render(MESSAGE, paint=paint_for(Terminal())) == PLAIN
    assert report_for(Terminal(), REPORT) == REPORT


@pytest.mark.parametrize(
    ("verdict", "code"), [("bit-exact, against IREE", "32"), ("WRONG: 3 hazards", "1;31"), ("no: too large", "33")]
)
def test_a_report_shows_what_is_wrong(verdict: str, code: str) -> None:
    text = REPORT.format(verdict)
    painted = report_for(Terminal(), text)
    assert painted.startswith("\x1b[1m@f(8xi8) -> (8xi8) on toy\x1b[0m\n")
    assert f"  verified    \x1b[{code}m{verdict}\x1b[0m" in painted
    assert without_colours(painted) == text
    assert report_for(io.StringIO(), text) == text


def test_a_comparison_shows_what_became_more_or_less() -> None:
    text = (
        "a -> b\n\n@f(8xi8) -> (8xi8)\n  time   2 us -> 1 us   -50 %\n  L3 read  1 B -> 2 B  +100 %\n  core  1 % -> 2 %"
    )
    painted = comparison_for(Terminal(), text)
    assert "\x1b[32m-50 %\x1b[0m" in painted
    assert "\x1b[1;31m+100 %\x1b[0m" in painted
    assert painted.endswith("1 % -> 2 %")
    assert without_colours(painted) == text
    assert comparison_for(io.StringIO(), text) == text


def test_a_wrong_command_line_is_told_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stream := Terminal())
    assert main(["verfy"]) == 2
    assert stream.getvalue().startswith("npuflow: \x1b[1;31merror:\x1b[0m unknown command 'verfy'")
