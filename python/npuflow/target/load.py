"""Devices by name or by file: `npu2`, `npu2:2` (two columns), `npu2:2x4` (rows x columns), `my.toml`, `my.toml:2`."""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, UsageError, unknown_name, with_hint
from npuflow.files import read_bytes
from npuflow.target.check import array_problems, problems_of
from npuflow.target.device import Device
from npuflow.target.lines import key_lines
from npuflow.target.read import TableReader

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_DEVICE = "npu1"

# More than any file needs that a person wrote; parsing takes time for each byte.
_MOST_BYTES = 1 << 20

# Every pass asks for its device; a file is read each time, and parsed (some 30 ms) if it isn't what it was.
_FILES_KEPT = 16

_PARTIAL = re.compile(r"(?P<whole>.+?)(?::(?:(?P<rows>\d{1,9})x)?(?P<columns>\d{1,9}))?")
_LONG_NUMBER = re.compile(r"\d{1000}")
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")


@cache
def device_names() -> tuple[str, ...]:
    """The devices that come with the package."""
    folder = resources.files("npuflow.target") / "devices"
    return tuple(sorted(entry.name[: -len(".toml")] for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_device(name: str = DEFAULT_DEVICE, *, scheduled: bool = False) -> Device:
    """The device of that name or file, whole or partial; with `scheduled`, one that programs can be scheduled for.

    Raises UsageError for an unknown name, InputError for a wrong file and an array that it doesn't have.
    """
    match = _PARTIAL.fullmatch(name)
    if match is None:
        raise UsageError(unknown_name("device", name, device_names()))
    device = _load_whole(match["whole"], scheduled)
    if match["columns"] is None:
        return device
    rows, columns = int(match["rows"] or device.rows), int(match["columns"])
    device.check_grid(rows, columns)
    return device.partial(rows=rows, columns=columns)


def device_file(name: str) -> Path:
    """Where the file of a device is, one's own or one that comes with the package; it is read to see that it is one."""
    load_device(name)
    whole = name if (match := _PARTIAL.fullmatch(name)) is None else match["whole"]
    with resources.as_file(resources.files("npuflow.target") / "devices" / f"{whole}.toml") as file:
        return file if whole in device_names() else Path(whole).resolve()


def _load_whole(name: str, scheduled: bool) -> Device:
    if name in device_names():
        return _load_shipped(name)
    if not name.endswith(".toml"):
        nearest = unknown_name("device", name, device_names()).removesuffix("?")
        raise UsageError(f"{nearest}, or a file ending in .toml?")
    try:
        text = read_bytes(name, _MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(_not_text(name, error)) from error
    return _parse_once(text, name, scheduled)


@lru_cache(maxsize=_FILES_KEPT)
def _parse_once(text: str, file: str, scheduled: bool) -> Device:
    return parse_device(text, file, scheduled=scheduled)


@cache
def _load_shipped(name: str) -> Device:
    file = f"{name}.toml"
    return parse_device((resources.files("npuflow.target") / "devices" / file).read_text(encoding="utf-8"), file)


def parse_device(text: str, file: str, *, scheduled: bool = False) -> Device:
    """The device that a TOML text describes; raises InputError with every problem, each at its line of `file`."""
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise InputError(_too_deep(text, file)) from None
    except ValueError as error:
        raise InputError(_syntax_error(str(error), text, file)) from error
    reader = TableReader(file, text.splitlines(), key_lines(text))
    device = reader.table(Device, tables, ())
    for find in (problems_of, array_problems) if scheduled else (problems_of,):
        for path, what, hint in find(device) if device and not reader.diagnostics else ():
            reader.error(path, what, hint)
    if device is None or reader.diagnostics:
        raise InputError(reader.diagnostics)
    return device


def _not_text(name: str, error: UnicodeDecodeError) -> Diagnostic:
    line = error.object.count(b"\n", 0, error.start) + 1
    what = f"device file '{name}' isn't UTF-8 text: byte {error.start} is 0x{error.object[error.start]:02x}"
    return Diagnostic(Severity.ERROR, what, SourceLocation(name, line))


def _too_deep(text: str, file: str) -> Diagnostic:
    """The parser doesn't say where; it is in the line that opens most brackets."""
    lines = text.splitlines()
    opened = [line.count("[") + line.count("{") for line in lines]
    number = opened.index(max(opened)) + 1
    what = with_hint("lists or tables are nested too deeply", "a device file has tables in lists, and no more")
    return Diagnostic(Severity.ERROR, what, SourceLocation(file, number, 0, lines[number - 1]))


def _syntax_error(message: str, text: str, file: str) -> Diagnostic:
    match = _TOML_PLACE.fullmatch(message)
    lines = text.splitlines() or [""]
    if match is None:  # a number that is too long, or "at end of document"
        number = next((i for i, line in enumerate(lines, start=1) if _LONG_NUMBER.search(line)), len(lines))
        return Diagnostic(Severity.ERROR, message, SourceLocation(file, number, 0, lines[number - 1]))
    line, column = int(match[2]), int(match[3])
    return Diagnostic(Severity.ERROR, match[1], SourceLocation(file, line, column, lines[min(line, len(lines)) - 1]))
