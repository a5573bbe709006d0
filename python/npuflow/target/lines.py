"""Where each key of a TOML text stands; the standard parser doesn't say."""

from __future__ import annotations

import re

Path = tuple["str | int", ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\-]+)\s*\]")
_KEY = re.compile(r"\s*([\w\-]+)\s*=")


def key_lines(text: str) -> dict[Path, int]:
    """Line numbers, from 1, of the tables and keys of a text that parses as TOML: `("levels", 1, "bytes") -> 14`.

    Device files put a key on a line of its own; keys in inline tables and quoted keys are not listed.
    """
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _enter(tuple(header[2].split(".")), header[1] == "[[", counts)
            lines.setdefault(table, number)
        elif key:
            lines.setdefault((*table, key[1]), number)
    return lines


def _enter(names: tuple[str, ...], is_array: bool, counts: dict[Path, int]) -> Path:
    """The path of a table header; a name that was an array stands for its last element."""
    path: Path = ()
    for position, name in enumerate(names):
        path = (*path, name)
        if is_array and position == len(names) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def line_of(path: Path, lines: dict[Path, int]) -> int:
    """The line of a key, or of the nearest table around it; 1 where neither is known."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)
