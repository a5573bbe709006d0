"""Devices by name or by file: `npu2`, `npu2:2` (two columns), `npu2:2x4` (rows x columns), `my.toml`, `my.toml:2`."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import resources
from pathlib import Path

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, UsageError, unknown_name
from npuflow.target.check import problems_of
from npuflow.target.lines import key_lines
from npuflow.target.model import Device
from npuflow.target.read import TableReader

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_DEVICE = "npu1"

_PARTIAL = re.compile(r"(?P<whole>.+?)(?::(?:(?P<rows>\d+)x)?(?P<columns>\d+))?")
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")


@cache
def device_names() -> tuple[str, ...]:
    """The devices that come with the package."""
    folder = resources.files("npuflow.target") / "devices"
    return tuple(sorted(entry.name[: -len(".toml")] for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_device(name: str = DEFAULT_DEVICE) -> Device:
    """The device of that name or file, whole or partial.

    Raises UsageError for an unknown name, InputError for a wrong file and an array that it doesn't have.
    """
    match = _PARTIAL.fullmatch(name)
    if match is None:
        raise UsageError(unknown_name("device", name, device_names()))
    device = _load_whole(match["whole"])
    if match["columns"] is None:
        return device
    rows, columns = int(match["rows"] or device.rows), int(match["columns"])
    device.check_grid(rows, columns)
    return device.partial(rows=rows, columns=columns)


def _load_whole(name: str) -> Device:
    if name in device_names():
        return _load_shipped(name)
    if not name.endswith(".toml"):
        nearest = unknown_name("device", name, device_names()).removesuffix("?")
        raise UsageError(f"{nearest}, or a file ending in .toml?")
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it isn't UTF-8 text"
        raise InputError(f"cannot read device file '{name}': {reason}") from error
    return parse_device(text, name)


@cache
def _load_shipped(name: str) -> Device:
    file = f"{name}.toml"
    return parse_device((resources.files("npuflow.target") / "devices" / file).read_text(encoding="utf-8"), file)


def parse_device(text: str, file: str) -> Device:
    """The device that a TOML text describes; raises InputError with every problem, each at its line of `file`."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(_syntax_error(str(error), text, file)) from error
    reader = TableReader(file, text.splitlines(), key_lines(text))
    device = reader.table(Device, tables, ())
    for path, what, hint in problems_of(device) if device else ():
        reader.error(path, what, hint)
    if device is None or reader.diagnostics:
        raise InputError(reader.diagnostics)
    return device


def _syntax_error(message: str, text: str, file: str) -> Diagnostic:
    match = _TOML_PLACE.fullmatch(message)
    lines = text.splitlines() or [""]
    if match is None:  # "at end of document"
        return Diagnostic(Severity.ERROR, message, SourceLocation(file, len(lines), 0, lines[-1]))
    line, column = int(match[2]), int(match[3])
    return Diagnostic(Severity.ERROR, match[1], SourceLocation(file, line, column, lines[min(line, len(lines)) - 1]))
