"""Error types and how they print.

Every message a user sees is one `Diagnostic`: a severity, a text (`<what, with numbers>; hint: <what to change>`),
and where it is. `render` quotes the source line with a caret under the column.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Literal


class ExitCode(IntEnum):
    """How a command ends: whose fault it was."""

    OK = 0
    INPUT = 1
    USAGE = 2
    BUG = 3


class Severity(Enum):
    """How bad a message is."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True)
class SourceLocation:
    """A place in a file; line and column count from 1, column 0 means the whole line.

    `text` is the line itself, where no file holds it (pipeline text, for one).
    """

    file: str
    line: int
    column: int = 0
    text: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Shortage:
    """What the schedule of a function lacks at a memory of a level.

    Of descriptors and bytes another choice of slots and tiles may need less, of locks and programs fewer ops.
    """

    level: int
    need: int
    have: int
    function: str = ""
    unit: Literal["descriptors", "bytes", "locks", "program"] = "descriptors"


def needs_text(where: str, need: int, unit: str, have: int, users: Sequence[str]) -> str:
    """What doesn't fit, in the words that every check has for it; `users` are whose need it is, the largest first."""
    return f"{where} needs {need} {unit}, has {have} ({first_of(users)})"


def first_of(users: Sequence[str]) -> str:
    """The first few of some users of what is lacking."""
    return ", ".join(users[:4]) + (", ..." if users[4:] else "")


@dataclass(frozen=True)
class Diagnostic:
    """A message, where it belongs, and notes on it; `shortage` is what it says as numbers."""

    severity: Severity
    message: str
    location: SourceLocation | None = None
    notes: tuple[Diagnostic, ...] = field(default=())
    shortage: Shortage | None = None

    @property
    def what(self) -> str:
        """The message without its hint."""
        return self.message.partition(_HINT)[0]

    def __str__(self) -> str:
        return _headline(self, plain)


SourceReader = Callable[[str], "Sequence[str] | None"]

# Of longer lines, as of constants written out, a message quotes what is around its place.
_QUOTED_COLUMNS = 240
_HINT = "; hint: "


def plain(_role: str, text: str) -> str:
    """Paints nothing."""
    return text


# Gives a part of a message a colour: of a severity's name, `hint` or `caret`, and its text.
Paint = Callable[[str, str], str]


def render(diagnostic: Diagnostic, read_source: SourceReader | None = None, paint: Paint = plain) -> str:
    """The diagnostic as text, with its source line and a caret where `read_source` knows the file."""
    place = diagnostic.location
    lines = [_headline(diagnostic, paint)]
    text = _line_at(place, read_source) if place else None
    if place and text is not None:
        lines += _quoted(text, place.column, paint)
    lines += [render(note, read_source, paint) for note in diagnostic.notes]
    return "\n".join(lines)


def _headline(diagnostic: Diagnostic, paint: Paint) -> str:
    severity = diagnostic.severity.value
    place = f"{diagnostic.location}: " if diagnostic.location else ""
    what, hint, change = diagnostic.message.partition(_HINT)
    return f"{place}{paint(severity, f'{severity}:')} {what}" + (f"; {paint('hint', 'hint:')} {change}" if hint else "")


def _quoted(text: str, column: int, paint: Paint) -> list[str]:
    """A source line, and below it a caret where there is a column."""
    if len(text) > _QUOTED_COLUMNS:
        begin = max(0, column - 1 - _QUOTED_COLUMNS // 2)
        left, right = "…" * (begin > 0), "…" * (begin + _QUOTED_COLUMNS < len(text))
        text = f"{left}{text[begin : begin + _QUOTED_COLUMNS]}{right}"
        column = column and column - begin + len(left)
    if not column:
        return [text]
    return [text, "".join("\t" if c == "\t" else " " for c in text[: column - 1]) + paint("caret", "^")]


def _line_at(place: SourceLocation, read_source: SourceReader | None) -> str | None:
    if place.text is not None:
        return place.text
    source = read_source(place.file) if read_source else None
    if source is None or not 1 <= place.line <= len(source):
        return None
    return source[place.line - 1].rstrip("\r\n")


def with_hint(message: str, hint: str | None) -> str:
    return f"{message}{_HINT}{hint}" if hint else message


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The `count` known names most like `name`, best first."""
    return difflib.get_close_matches(name, sorted(set(known)), n=count, cutoff=0.0)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """`unknown pass 'canonicalise'; hint: did you mean canonicalize, ...?`"""
    candidates = nearest(name, known)
    hint = f"did you mean {', '.join(candidates)}?" if candidates else None
    return with_hint(f"unknown {kind} '{name}'", hint)


class NpuflowError(Exception):
    """Base of every error the project raises on purpose; carries its diagnostics and the process's exit code."""

    exit_code: ExitCode = ExitCode.INPUT

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic] | str) -> None:
        if isinstance(diagnostics, str):
            diagnostics = Diagnostic(Severity.ERROR, diagnostics)
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n".join(render(d) for d in self.diagnostics))

    def __reduce__(self) -> tuple[type[NpuflowError], tuple[tuple[Diagnostic, ...]]]:
        """So that what a child process raises arrives whole."""
        return type(self), (self.diagnostics,)


class InputError(NpuflowError):
    """The input's fault: IR, shapes, tiles or files that cannot be compiled."""


class UsageError(NpuflowError):
    """The command line's or the API call's fault."""

    exit_code = ExitCode.USAGE


class InternalError(NpuflowError):
    """Our own bug."""

    exit_code = ExitCode.BUG
