"""What may be handed to the Python API: paths as text or as Paths, names of choices, and what is refused instead."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from os import PathLike, fspath
from pathlib import Path
from typing import TypeVar

from npuflow.errors import UsageError, unknown_name, with_hint

# A text of one line that ends so is the name of a file: no program does.
_FILES = (".mlir", ".mlirbc", ".bc")

Choice = TypeVar("Choice", bound=Enum)


def source_of(source: object) -> object:
    """A source with files as Paths, whether they were named by text or by a Path; raises UsageError."""
    if isinstance(source, str) and "\n" not in source and source.strip().endswith(_FILES):
        return Path(source.strip())
    if isinstance(source, PathLike):
        return Path(fspath(source))
    if isinstance(source, (str, bytes)) or hasattr(source, "operation"):
        return source
    hint = "give MLIR text, bytecode, a module, or the path of a file"
    raise UsageError(with_hint(f"the source is {_kind(source)}", hint))


def path_of(what: str, path: object) -> Path:
    """A file that is named by text or by a Path; raises UsageError."""
    if isinstance(path, (str, PathLike)) and str(path):
        return Path(path)
    raise UsageError(with_hint(f"{what} is {_kind(path)}", "give the path of a file, as text or as a Path"))


def name_of(what: str, name: object, example: str) -> str:
    """Text, or a Path, that isn't empty; raises UsageError."""
    if isinstance(name, (str, PathLike)) and str(name).strip():
        return str(name)
    raise UsageError(with_hint(f"{what} is {_kind(name)}", f"give {example}, or leave it out"))


def whole_number(what: str, number: object, *, least: int = 0) -> None:
    """Refuses anything else; raises UsageError."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        shown = number if isinstance(number, int) and not isinstance(number, bool) else _kind(number)
        raise UsageError(with_hint(f"{what} is {shown}", f"give a whole number, {least} or larger"))


def of_type(what: str, value: object, wanted: type | tuple[type, ...], hint: str) -> None:
    """Refuses what is of another type; raises UsageError."""
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise UsageError(with_hint(f"{what} is {_kind(value)}", hint))


def yes_or_no(what: str, value: object) -> None:
    """Refuses what is neither True, nor False, nor None for being left out; raises UsageError."""
    if value is not None and not isinstance(value, bool):
        raise UsageError(with_hint(f"{what} is {_kind(value)}", "give True or False, or leave it out"))


def choice(what: str, value: object, choices: type[Choice]) -> Choice:
    """A choice by itself or by its name; raises UsageError with the nearest names."""
    if isinstance(value, choices):
        return value
    known: Iterable[Choice] = choices
    by_name = {str(one.value): one for one in known}
    if isinstance(value, str) and value in by_name:
        return by_name[value]
    raise UsageError(unknown_name(what, str(value), by_name))


def _kind(value: object) -> str:
    return "empty" if isinstance(value, (str, bytes)) and not value.strip() else f"of type {type(value).__name__}"
