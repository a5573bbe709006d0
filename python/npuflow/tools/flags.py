"""Command lines as LLVM's tools read them, declared as a dataclass of flags.

`--x=y`, `--x y` and `-x y` all work; a flag whose value may be left out takes it only as `--x=y`; `--` ends the flags,
and `-h` is `--help`.
The name and kind of a flag come from its field: `split_input_file: str` is `--split-input-file`, a bool needs no value,
a tuple may be repeated and takes comma lists.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from npuflow.errors import UsageError, unknown_name, with_hint

# More than any count that makes sense, and less than Python refuses to convert.
_MOST_DIGITS = 18

FlagValue = bool | int | str | tuple[str, ...] | None
Owner = TypeVar("Owner")


class FileUse(Enum):
    """What a command does with the file that a flag names; a value of several names may be none (`name|file`)."""

    NONE = "none"
    READ = "read"
    WRITTEN = "written"
    WRITTEN_ON_FAILURE = "written on failure"


def as_written(name: str) -> str:
    """A flag as a command line has it: `--json`, `-o`."""
    return f"{'-' if len(name) == 1 else '--'}{name}"


@dataclass(frozen=True)
class Flag:
    """One flag: `bare` is its value when it is written without one (None: the value is required).

    An empty value is refused, unless that is the default or what no value stands for.
    """

    name: str
    attribute: str
    kind: type
    help: str
    group: str
    metavar: str
    bare: FlagValue
    choices: tuple[str, ...] = ()
    default: FlagValue = None
    file: FileUse = FileUse.NONE
    least: int = 0

    @property
    def written(self) -> str:
        return as_written(self.name)

    @property
    def spelling(self) -> str:
        if self.kind is bool or not self.metavar:
            return self.written
        if self.bare is not None:
            return f"{self.written}[=<{self.metavar}>]"
        return f"{self.written}{' ' if len(self.name) == 1 else '='}<{self.metavar}>"

    def read(self, text: str) -> FlagValue:
        """The value of `text`; raises UsageError."""
        if self.kind is bool:
            return self._read_bool(text)
        if self.kind is int:
            return self._read_count(text)
        parts = tuple(part.strip() for part in text.split(",") if part.strip())
        is_empty = not parts if self.kind is tuple else not text.strip()
        if is_empty and "" not in (self.default, self.bare) and self.bare != ():
            raise UsageError(
                with_hint(f"flag '{self.written}' has an empty value", f"{self.spelling}, or leave it out")
            )
        if self.kind is tuple:
            return parts
        if self.choices and text not in self.choices:
            raise UsageError(unknown_name(f"value of flag '{self.written}'", text, self.choices))
        return text

    def _read_bool(self, text: str) -> bool:
        if text.lower() in ("true", "1", "false", "0"):
            return text.lower() in ("true", "1")
        raise UsageError(
            with_hint(f"flag '{self.written}' cannot be '{text}'", f"{self.written}=true or {self.written}=false")
        )

    def _read_count(self, text: str) -> int:
        if text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) >= self.least:
            return int(text)
        shown = text if len(text) <= _MOST_DIGITS else f"{text[:_MOST_DIGITS]}..."
        raise UsageError(
            with_hint(f"flag '{self.written}' cannot be '{shown}'", f"give a number, {self.least} or larger")
        )


@dataclass(frozen=True)
class OtherFlag:
    """A flag the table doesn't have, as written: `--canonicalize`, `--my-pass=option=1`."""

    name: str
    value: str | None

    @property
    def written(self) -> str:
        return as_written(self.name)


@dataclass(frozen=True)
class ParsedFlags:
    """Values by attribute for the flags that were given; the rest in the order it was written."""

    values: dict[str, FlagValue]
    others: tuple[OtherFlag, ...]
    positional: tuple[str, ...]


def flag(  # noqa: PLR0913  (each says something else of a flag, by name)
    default: FlagValue,
    help: str,
    *,
    group: str,
    metavar: str = "",
    bare: FlagValue = None,
    name: str = "",
    choices: tuple[str, ...] = (),
    file: FileUse = FileUse.NONE,
    least: int = 0,
) -> Any:  # noqa: ANN401  (a field of any type)
    """Declares a flag as a dataclass field; a number is `least` or larger."""
    metadata = {
        "default": default,
        "help": help,
        "group": group,
        "metavar": metavar or "|".join(choices),
        "bare": bare,
        "name": name,
        "choices": choices,
        "file": file,
        "least": least,
    }
    return dataclasses.field(default=default, metadata=metadata)


def build(owner: Callable[..., Owner], parsed: ParsedFlags) -> Owner:
    """The dataclass with the values that were given."""
    return owner(**parsed.values)


def flags_of(owner: type) -> tuple[Flag, ...]:
    """The flags that a dataclass declares, in order."""
    hints = typing.get_type_hints(owner)
    return tuple(_flag_of(f, hints[f.name]) for f in dataclasses.fields(owner) if "group" in f.metadata)


def _flag_of(declared: dataclasses.Field[Any], annotation: object) -> Flag:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        annotation = next(a for a in typing.get_args(annotation) if a is not type(None))
    kind = typing.get_origin(annotation) or annotation
    assert isinstance(kind, type)
    data = declared.metadata
    name = data["name"] or declared.name.replace("_", "-")
    bare = True if kind is bool else data["bare"]
    return Flag(
        name,
        declared.name,
        kind,
        data["help"],
        data["group"],
        data["metavar"],
        bare,
        data["choices"],
        default=data["default"],
        file=data["file"],
        least=data["least"],
    )


def parse_flags(arguments: Sequence[str], flags: Sequence[Flag]) -> ParsedFlags:
    """Reads a command line; flags that aren't in the table are kept for the caller to judge."""
    by_name = {f.name: f for f in flags}
    values: dict[str, FlagValue] = {}
    others: list[OtherFlag] = []
    positional: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            positional += rest
        elif argument == "-" or not argument.startswith("-"):
            positional.append(argument)
        else:
            _take(argument, rest, by_name, values, others)
    return ParsedFlags(values, tuple(others), tuple(positional))


def _take(
    argument: str,
    rest: Iterator[str],
    by_name: dict[str, Flag],
    values: dict[str, FlagValue],
    others: list[OtherFlag],
) -> None:
    name, equals, text = argument.removeprefix("-").removeprefix("-").partition("=")
    known = by_name.get(name) or (by_name.get("help") if name == "h" else None)
    if known is None:
        others.append(OtherFlag(name, text if equals else None))
        return
    value = known.read(text) if equals else _unwritten(known, rest)
    before = values.get(known.attribute)
    if isinstance(before, tuple) and isinstance(value, tuple):
        value = before + value
    values[known.attribute] = value


def _unwritten(known: Flag, rest: Iterator[str]) -> FlagValue:
    """The value of a flag written without `=`: implied, or the next argument."""
    if known.bare is not None:
        return known.bare
    following = next(rest, None)
    if following is None:
        raise UsageError(with_hint(f"flag '{known.written}' needs a value", known.spelling))
    return known.read(following)
