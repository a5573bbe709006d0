"""Messages on stderr: of errors that say the same of many places, the first few and how many more there are."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from npuflow.core.source_lines import source_lines
from npuflow.errors import Diagnostic, Severity, SourceReader, render
from npuflow.tools.colours import paint_for

MOST_ALIKE = 10
MOST_KINDS = 50

_COUNTED = (Severity.ERROR, Severity.WARNING)
_OTHERS = "others"
_PARTICULAR = re.compile(r"'[^']*'|[@%#]\w+|\d+")


@dataclass
class _Alike:
    """Messages that differ in names and numbers only."""

    first: Diagnostic
    count: int = 0


@dataclass
class Messages:
    """Prints messages as they come; `close` says what was left out. Remarks were asked for and are all printed."""

    read_source: SourceReader = source_lines
    _kinds: dict[str, _Alike] = field(default_factory=dict)

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity not in _COUNTED or self._is_among_first(diagnostic):
            print(render(diagnostic, self.read_source, paint_for(sys.stderr)), file=sys.stderr)

    def _is_among_first(self, diagnostic: Diagnostic) -> bool:
        text = f"{diagnostic.severity.value}: {_PARTICULAR.sub('', diagnostic.message)}"
        kind = text if text in self._kinds or len(self._kinds) < MOST_KINDS else _OTHERS
        alike = self._kinds.setdefault(kind, _Alike(diagnostic))
        alike.count += 1
        return kind != _OTHERS and alike.count <= MOST_ALIKE

    def close(self) -> None:
        """Prints how many messages of each kind were left out, and forgets them."""
        others = self._kinds.pop(_OTHERS, None)
        for kind in self._kinds.values():
            more = kind.count - MOST_ALIKE
            if more > 0:
                _print_rest(kind.first, f"and {more} more like: {kind.first.message}")
        if others is not None:
            _print_rest(others.first, f"and {others.count} more of other kinds")
        self._kinds.clear()


def _print_rest(first: Diagnostic, text: str) -> None:
    print(render(Diagnostic(first.severity, text), paint=paint_for(sys.stderr)), file=sys.stderr)


def print_messages(diagnostics: Iterable[Diagnostic]) -> None:
    """Prints the messages of something that has ended."""
    messages = Messages()
    for diagnostic in diagnostics:
        messages.add(diagnostic)
    messages.close()
