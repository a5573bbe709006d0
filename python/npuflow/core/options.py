"""Typed options: how a dataclass field is read from pipeline text, printed back and documented.

Text is `key=value` with kebab-case keys; Python is snake_case fields. Tuples are comma lists (`64,64,256`; a grid
may also be `2x2`), bools `true`/`false`, enums their value, and an absent optional is simply not written.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache

from npuflow.errors import UsageError, unknown_name, with_hint

# A union by name, as it names itself.
OptionValue = typing.Union[None, bool, int, float, str, Enum, tuple["OptionValue", ...]]  # noqa: UP007


@dataclass(frozen=True)
class OptionSpec:
    """One documented option of a pass or pipeline."""

    key: str
    attribute: str
    type: object
    default: OptionValue
    help: str
    names_groups: bool

    @property
    def type_text(self) -> str:
        return _type_text(self.type)


def option(default: OptionValue, help: str, *, names_groups: bool = False) -> typing.Any:  # noqa: ANN401  (any type)
    """Declares a documented option: `tile: tuple[int, ...] = option((), "sizes of m, n, k")`.

    One that names groups of functions has names like FUNCTION_NUMBER.
    """
    return dataclasses.field(default=default, metadata={"help": help, "names_groups": names_groups})


@cache
def option_specs(owner: type) -> tuple[OptionSpec, ...]:
    """The options of a pass or pipeline class, in order of declaration."""
    hints = typing.get_type_hints(owner)
    return tuple(
        OptionSpec(
            f.name.replace("_", "-"),
            f.name,
            hints[f.name],
            f.default,
            f.metadata.get("help", ""),
            f.metadata.get("names_groups", False),
        )
        for f in dataclasses.fields(owner)
        if f.init
    )


def _strip_optional(annotation: object) -> object:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        inner = [a for a in typing.get_args(annotation) if a is not type(None)]
        return inner[0]
    return annotation


def _type_text(annotation: object) -> str:
    annotation = _strip_optional(annotation)
    if typing.get_origin(annotation) is tuple:
        return _type_text(typing.get_args(annotation)[0]) + " list"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(m.value) for m in annotation)
    return getattr(annotation, "__name__", str(annotation))


def parse_value(annotation: object, text: str) -> OptionValue:
    """Reads one value; raises ValueError with what was expected."""
    annotation = _strip_optional(annotation)
    if typing.get_origin(annotation) is tuple:
        return _parse_list(typing.get_args(annotation), text)
    if annotation is bool:
        return _parse_bool(text)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _parse_choice(annotation, text)
    if annotation is int:
        return int(_number(int, text, "an integer"))
    if annotation is float:
        return _number(float, text, "a number")
    return text


def _parse_list(kinds: tuple[object, ...], text: str) -> tuple[OptionValue, ...]:
    parts = [p for p in text.replace("x", ",").split(",") if p] if kinds[0] is int else text.split(",")
    if Ellipsis not in kinds and len(parts) != len(kinds):
        raise ValueError(f"expected {len(kinds)} values, got {len(parts)}")
    return tuple(parse_value(kinds[0], part.strip()) for part in parts)


def _parse_bool(text: str) -> bool:
    if text not in ("true", "1", "false", "0"):
        raise ValueError("expected true or false")
    return text in ("true", "1")


def _parse_choice(kind: type[Enum], text: str) -> Enum:
    for member in kind:
        if str(member.value) == text:
            return member
    raise ValueError(f"expected one of {', '.join(str(m.value) for m in kind)}")


def _number(read: Callable[[str], float], text: str, expected: str) -> float:
    try:
        return read(text)
    except ValueError:
        raise ValueError(f"expected {expected}") from None


def print_value(value: OptionValue) -> str:
    """The text `parse_value` reads back; strings with blanks or braces are braced as MLIR does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ",".join(print_value(v) for v in value)
    text = str(value)
    return f"{{{text}}}" if any(c in text for c in " {}") else text


def split_assignments(text: str) -> tuple[tuple[str, str], ...]:
    """`a=1 b={x y}` to (("a", "1"), ("b", "x y")); a key alone means true, as in MLIR."""
    pairs: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        end, depth, quote = position, 0, ""
        while end < len(text) and (depth or quote or not text[end].isspace()):
            c = text[end]
            if quote:
                quote = "" if c == quote else quote
            elif c in "'\"":
                quote = c
            else:
                depth += (c == "{") - (c == "}")
            end += 1
        key, equals, value = text[position:end].partition("=")
        if len(value) >= 2 and (value[0], value[-1]) in (("{", "}"), ('"', '"'), ("'", "'")):
            value = value[1:-1]
        pairs.append((key, value if equals else "true"))
        position = end
    return tuple(pairs)


def from_assignments(owner: type, kind: str, pairs: tuple[tuple[str, str], ...]) -> dict[str, OptionValue]:
    """Constructor arguments for `owner`; every wrong option is reported at once."""
    specs = {s.key: s for s in option_specs(owner)}
    values: dict[str, OptionValue] = {}
    problems: list[str] = []
    for key, text in pairs:
        spec = specs.get(key)
        if spec is not None and spec.attribute in values:
            problems.append(with_hint(f"option '{key}' of {kind} is given twice", "give it once"))
            continue
        if spec is None:
            what = unknown_name(f"option of {kind}", key, specs) if specs else f"{kind} has no option '{key}'"
            problems.append(what)
            continue
        try:
            values[spec.attribute] = parse_value(spec.type, text)
        except ValueError as error:
            problems.append(
                with_hint(f"option '{key}' of {kind} cannot be '{text}': {error}", f"{key}=<{spec.type_text}>")
            )
    if problems:
        raise UsageError("; ".join(problems))
    return values


def print_options(owner: object) -> str:
    """The options that differ from their defaults, as text."""
    kind: type = type(owner)
    specs = option_specs(kind)
    changed = [(s.key, getattr(owner, s.attribute)) for s in specs if getattr(owner, s.attribute) != s.default]
    return " ".join(f"{key}={print_value(value)}" for key, value in changed)
