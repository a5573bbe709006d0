"""What a subcommand of `npuflow` understands: its flags, its help, and what is wrong with a command line."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from npuflow.errors import UsageError, unknown_name, with_hint
from npuflow.tools.flags import Flag, build, flags_of, parse_flags

_WIDTH = 120

Owner = TypeVar("Owner")


@dataclass(frozen=True)
class CommandLine(Generic[Owner]):
    """`owner` declares the flags, `help` among them; `notes` end the help, and `column` is where its texts begin.

    `operand` says what else may be named, in the words that a flag says it in for its value.
    """

    name: str
    owner: type[Owner]
    summary: str
    usage: str
    notes: tuple[str, ...]
    column: int = 30
    operand: str = "file"

    @property
    def flags(self) -> tuple[Flag, ...]:
        return flags_of(self.owner)

    def read(self, arguments: Sequence[str]) -> tuple[Owner, tuple[str, ...]] | None:
        """The flags and what is none; None where help was asked for, which is printed. Raises UsageError."""
        parsed = parse_flags(arguments, self.flags)
        if parsed.values.get("help"):
            print(self.help_text())
            return None
        if parsed.others:
            names = [known.written for known in self.flags]
            raise UsageError(unknown_name(f"flag of {self.name}", parsed.others[0].written, names))
        return build(self.owner, parsed), parsed.positional

    def help_text(self) -> str:
        lines = [f"{self.name}: {self.summary}", "", f"usage: {self.usage}", ""]
        for known in self.flags:
            left, indent = f"  {known.spelling}", " " * self.column
            if len(left) >= self.column:
                lines.append(left)
                left = ""
            first = f"{left:<{self.column}}"
            lines += textwrap.wrap(known.help, _WIDTH, initial_indent=first, subsequent_indent=indent)
        return "\n".join([*lines, "", *self.notes])


def the_only(named: Sequence[str], what: str, hint: str) -> str:
    """The one thing that is named without a flag; raises UsageError where there is none, or more."""
    if len(named) != 1:
        raise UsageError(with_hint(f"expected one {what}, got {len(named)}", hint))
    return named[0]
