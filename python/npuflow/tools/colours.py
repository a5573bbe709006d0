"""Colours, on a terminal and nowhere else: what is kept, or read by a program, has none; NO_COLOR is respected."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TextIO

from npuflow.errors import Paint, plain

_RESET = "\033[0m"
_CODES: Mapping[str, str] = MappingProxyType(
    {
        "error": "1;31",
        "warning": "1;35",
        "remark": "1;34",
        "note": "1;36",
        "hint": "32",
        "caret": "1;32",
        "heading": "1",
        "right": "32",
        "wrong": "1;31",
        "unknown": "33",
    }
)
_HEADING = re.compile(r"^@.*$", re.MULTILINE)
_GROWTH = re.compile(r"([+-])[\d.]+ %$", re.MULTILINE)
_VERIFIED = re.compile(r"^(  verified +)(.*)$", re.MULTILINE)


def paint_for(stream: TextIO) -> Paint:
    """How messages on a stream are painted: not at all unless it is a terminal that shows colours."""
    return paint if has_colours(stream) else plain


def has_colours(stream: TextIO) -> bool:
    """Whether what reads the stream shows colours, and wants them (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(role: str, text: str) -> str:
    """`text` in the colour of its role."""
    return f"\033[{_CODES[role]}m{text}{_RESET}"


def report_for(stream: TextIO, text: str) -> str:
    """A report as a stream shows it: headings stand out, and so does what is wrong."""
    if not has_colours(stream):
        return text
    text = _HEADING.sub(lambda found: paint("heading", found[0]), text)
    return _VERIFIED.sub(lambda found: found[1] + paint(_verdict(found[2]), found[2]), text)


def comparison_for(stream: TextIO, text: str) -> str:
    """Two runs side by side as a stream shows them: headings stand out, and what became more or less."""
    if not has_colours(stream):
        return text
    text = _HEADING.sub(lambda found: paint("heading", found[0]), text)
    return _GROWTH.sub(lambda found: paint("wrong" if found[1] == "+" else "right", found[0]), text)


def _verdict(text: str) -> str:
    return "wrong" if text.startswith("WRONG") else "unknown" if text.startswith(("no:", "executed:")) else "right"
