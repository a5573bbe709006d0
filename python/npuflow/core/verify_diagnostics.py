"""`--verify-diagnostics`: messages must match the `expected-*` comments of the input, and each of these a message.

    // expected-error @+1 {{grid 9x9 is larger than the device's 4x4}}
    // expected-warning-re @below {{takes {{[0-9]+}} cycles}}

A comment expects on its own line; `@+N`, `@-N` shift that, `@above` and `@below` mean the nearest line without such a
comment, `@unknown` a message without a location. The syntax and the wording are MLIR's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from npuflow.core.diagnostics import OP_NOTE
from npuflow.errors import Diagnostic, Severity, SourceLocation

_COMMENT = re.compile(
    r"expected-(?P<kind>error|warning|remark|note)(?P<regex>-re)? *"
    r"(?P<place>@(?:[+-][0-9]+|above|below|unknown))? *\{\{(?P<text>.*)\}\}$"
)
_NESTED_REGEX = re.compile(r"\{\{(.*?)\}\}")
UNKNOWN = 0
NOWHERE = -1


@dataclass
class Expectation:
    """One comment: what it expects, on which line (0: nowhere), and whether it was met."""

    kind: Severity
    text: str
    pattern: re.Pattern[str]
    line: int
    written_at: SourceLocation
    met: bool = False

    def matches(self, message: str) -> bool:
        return self.pattern.search(message) is not None


@dataclass
class DiagnosticVerifier:
    """Compares what was reported for a piece of a file, which starts after `lines_before` lines, with its comments."""

    file: str
    lines: Sequence[str]
    lines_before: int = 0
    only_expected: bool = False
    expectations: list[Expectation] = field(default_factory=list, init=False)
    malformed: list[Diagnostic] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        unplaced: list[Expectation] = []
        last_plain_line = NOWHERE
        for number, line in enumerate(self.lines, self.lines_before + 1):
            found = _COMMENT.search(line.rstrip())
            if found is None:
                last_plain_line = number
                for waiting in unplaced:
                    waiting.line = number
                unplaced.clear()
                continue
            expectation = self._expectation(found, number, last_plain_line)
            if expectation is None:
                continue
            self.expectations.append(expectation)
            if found["place"] == "@below":
                unplaced.append(expectation)

    def _expectation(self, found: re.Match[str], number: int, last_plain_line: int) -> Expectation | None:
        written_at = SourceLocation(self.file, number, found.start() + 1)
        try:
            pattern = _pattern(found["text"], bool(found["regex"]))
        except re.error as error:
            place = replace(written_at, column=found.start("text") - 1)
            self.malformed.append(Diagnostic(Severity.ERROR, f"invalid regex: {error}", place))
            return None
        line = _expected_line(found["place"], number, last_plain_line)
        return Expectation(Severity(found["kind"]), found["text"], pattern, line, written_at)

    def check(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Errors for malformed comments, for messages nobody expected and for those that never came."""
        problems = list(self.malformed)
        for diagnostic in _flattened(diagnostics):
            problem = self._problem_with(diagnostic)
            if problem is not None:
                problems.append(problem)
        return problems + [_missing(e) for e in self.expectations if not e.met]

    def _problem_with(self, diagnostic: Diagnostic) -> Diagnostic | None:
        near_miss = None
        for expectation in self._expected_at(diagnostic.location):
            if expectation.met or not expectation.matches(diagnostic.message):
                continue
            if expectation.kind is diagnostic.severity:
                expectation.met = True
                return None
            near_miss = near_miss or expectation
        kind = diagnostic.severity.value
        if near_miss is not None:
            text = f"'{kind}' diagnostic emitted when expecting a '{near_miss.kind.value}'"
            return Diagnostic(Severity.ERROR, text, near_miss.written_at)
        if self.only_expected:
            return None
        return Diagnostic(Severity.ERROR, f"unexpected {kind}: {diagnostic.message}", diagnostic.location)

    def _expected_at(self, place: SourceLocation | None) -> list[Expectation]:
        if place is not None and place.file != self.file:
            return []
        line = place.line if place is not None else UNKNOWN
        return [e for e in self.expectations if e.line == line]


def _expected_line(place: str | None, number: int, last_plain_line: int) -> int:
    """The line a comment on line `number` speaks of; one with `@below` is placed when that line comes."""
    if place is None:
        return number
    if place == "@unknown":
        return UNKNOWN
    if place == "@above":
        return last_plain_line
    return NOWHERE if place == "@below" else number + int(place[1:])


def _pattern(text: str, has_regexes: bool) -> re.Pattern[str]:
    """`text` literally; in the `-re` form with its `{{...}}` parts as regular expressions."""
    if not has_regexes:
        return re.compile(re.escape(text))
    parts = _NESTED_REGEX.split(text)
    return re.compile("".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(parts)))


def _flattened(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Every message with its notes, which are expected on their own; without those that only print the op."""
    for diagnostic in diagnostics:
        if diagnostic.message.startswith(OP_NOTE):
            continue
        yield diagnostic
        yield from _flattened(diagnostic.notes)


def _missing(expectation: Expectation) -> Diagnostic:
    text = f'expected {expectation.kind.value} "{expectation.text}" was not produced'
    return Diagnostic(Severity.ERROR, text, expectation.written_at)
