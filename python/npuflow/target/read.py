"""A parsed device file to the device's dataclasses: every wrong key reported, each at its line."""

from __future__ import annotations

import dataclasses
import math
import reprlib
import typing
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import TypeVar

from npuflow.errors import Diagnostic, Severity, SourceLocation, unknown_name, with_hint
from npuflow.target.fields import bound_of, known_of
from npuflow.target.lines import Path, line_of

T = TypeVar("T")
Fields = dict[str, "dataclasses.Field[object]"]

_MOST_ENTRIES = 1000
_MOST_CHARACTERS = 200

_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


@dataclass
class TableReader:
    """Builds dataclasses from tables; problems are collected, and a table with one gives None."""

    file: str
    source: list[str]
    lines: dict[Path, int]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def error(self, path: Path, message: str, hint: str | None = None) -> None:
        line = line_of(path, self.lines)
        text = self.source[line - 1] if line <= len(self.source) else ""
        place = SourceLocation(self.file, line, len(text) - len(text.lstrip()) + 1, text)
        self.diagnostics.append(Diagnostic(Severity.ERROR, with_hint(message, hint), place))

    def table(self, owner: type[T], value: object, path: Path) -> T | None:
        """An `owner` from one table, or None if anything in it is wrong."""
        if not isinstance(value, dict):
            what = f"'{_text(path)}' must be a table, is {_shown(value)}"
            self.error(path, what, f"write [{_text(path)}] and its keys below")
            return None
        before = len(self.diagnostics)
        fields = {f.name: f for f in dataclasses.fields(owner)}  # type: ignore[arg-type]
        self._check_keys(value, fields, path)
        hints = _types_of(owner)  # type: ignore[arg-type]
        arguments = {
            name: self._value(declared, hints[name], value[name], (*path, name))
            for name, declared in fields.items()
            if name in value
        }
        return owner(**arguments) if len(self.diagnostics) == before else None

    def _check_keys(self, table: dict[str, object], fields: Fields, path: Path) -> None:
        for key in table:
            if key not in fields:
                name = key[:_MOST_CHARACTERS]
                self.error((*path, key), unknown_name(f"key of {_text(path) or 'a device'}", name, fields))
        missing = [n for n, f in fields.items() if n not in table and f.default is dataclasses.MISSING]
        if missing:
            self.error(path, f"{_text(path) or 'the device'} lacks {', '.join(missing)}", "add what is missing")

    def _value(self, declared: dataclasses.Field[object], wanted: object, value: object, path: Path) -> object:
        if typing.get_origin(wanted) is tuple:
            owner = typing.get_args(wanted)[0]
            return self._numbers(value, path) if owner is int else self._tables(owner, value, path)
        assert isinstance(wanted, type), "device classes have plain fields"
        if dataclasses.is_dataclass(wanted):
            return self.table(wanted, value, path)
        return self._scalar(declared, wanted, value, path)

    def _tables(self, owner: type[T], value: object, path: Path) -> tuple[T | None, ...]:
        if isinstance(value, list) and len(value) > _MOST_ENTRIES:
            self.error(path, f"there are {len(value)} of '{_text(path)}'", f"at most {_MOST_ENTRIES} are read")
            return ()
        if isinstance(value, list) and value:
            return tuple(self.table(owner, item, (*path, i)) for i, item in enumerate(value))
        what = f"'{_text(path)}' must be a list of tables, is {_shown(value)}"
        self.error(path, what, f"write [[{_text(path)}]] before each")
        return ()

    def _numbers(self, value: object, path: Path) -> tuple[int, ...]:
        if isinstance(value, list) and len(value) <= _MOST_ENTRIES:
            numbers = [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
            if len(numbers) == len(value):
                return tuple(numbers)
        what = f"'{_text(path)}' must be a list of whole numbers, is {_shown(value)}"
        self.error(path, what, "write [4, 4], for example")
        return ()

    def _scalar(self, declared: dataclasses.Field[object], wanted: type, value: object, path: Path) -> object:
        read, bound = _read_scalar(wanted, value), bound_of(declared)
        hint = f"it must be {bound}" if bound else None
        if read is None:
            self.error(path, f"'{_text(path)}' must be {_kind(wanted)}, is {_shown(value)}", hint)
            return None
        if bound is not None and isinstance(read, (int, float)) and not bound.holds(read):
            self.error(path, f"'{_text(path)}' is {_shown(value)}", hint)
        if isinstance(read, str):
            self._check_text(declared, read, path)
        return read

    def _check_text(self, declared: dataclasses.Field[object], text: str, path: Path) -> None:
        known = known_of(declared)
        if known and text not in known:
            named = ", ".join(f'"{name}"' for name in known if name)
            self.error(path, f"'{_text(path)}' is {_shown(text)}", f"it must be one of {named}")
        if len(text) > _MOST_CHARACTERS or not text.isprintable():
            hint = f"use at most {_MOST_CHARACTERS} printable characters, on one line"
            self.error(path, f"'{_text(path)}' is {_shown(text)}", hint)


@cache
def _types_of(owner: type) -> dict[str, object]:
    return typing.get_type_hints(owner)


def _read_scalar(wanted: type, value: object) -> object | None:
    """The value as the wanted type; None if it isn't one (a bool is no number, and numbers are finite)."""
    if issubclass(wanted, Enum):
        return next((member for member in wanted if member.value == value), None)
    if isinstance(value, bool) != (wanted is bool):
        return None
    if wanted is float and isinstance(value, (int, float)):
        return _finite(value)
    return value if isinstance(value, wanted) else None


def _finite(value: float) -> float | None:
    """The number as a float; None for one that no float holds."""
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _kind(wanted: type) -> str:
    if issubclass(wanted, Enum):
        return "one of " + ", ".join(f'"{member.value}"' for member in wanted)
    return _KINDS[wanted]


def _text(path: Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part[:_MOST_CHARACTERS]}" for part in path)
    return "".join(parts).lstrip(".")


def _shown(value: object) -> str:
    """A value as the file has it; of long or deep ones, the beginning."""
    return reprlib.repr(value)
