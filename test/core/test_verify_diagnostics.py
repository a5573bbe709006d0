"""Where an expectation expects, and what matches it."""

import pytest

from npuflow.core.verify_diagnostics import DiagnosticVerifier
from npuflow.errors import Diagnostic, Severity, SourceLocation

FILE = "f.mlir"


def problems(text: str, *reported: Diagnostic, lines_before: int = 0, only_expected: bool = False) -> list[str]:
    verifier = DiagnosticVerifier(FILE, text.split("\n"), lines_before, only_expected)
    return [str(p) for p in verifier.check(reported)]


def at(line: int, message: str = "no", severity: Severity = Severity.ERROR, file: str = FILE) -> Diagnostic:
    return Diagnostic(severity, message, SourceLocation(file, line, 3))


@pytest.mark.parametrize(
    ("place", "line"),
    [("", 3), ("@+1", 4), (" @+2", 5), ("@-2", 1), ("@above", 2), ("@below", 4), (" @below", 4)],
)
def test_place(place: str, line: int) -> None:
    text = f"one\ntwo\n// expected-error{place} {{{{no}}}}\nfour\nfive"
    assert problems(text, at(line)) == []
    others = [n for n in range(1, 6) if n != line]
    assert all(len(problems(text, at(other))) == 2 for other in others)


def test_neighbouring_comments_share_the_line_above_and_below() -> None:
    text = "one\n// expected-error @above {{x}}\n// expected-error @below {{y}}\n// expected-error @above {{z}}\nfive"
    assert problems(text, at(1, "x"), at(5, "y"), at(1, "z")) == []


def test_unknown_place() -> None:
    assert problems("// expected-error @unknown {{no}}", Diagnostic(Severity.ERROR, "no")) == []
    assert len(problems("// expected-error @unknown {{no}}", at(1))) == 2


def test_a_message_about_another_file_is_unexpected() -> None:
    assert problems("// expected-error {{no}}", at(1, file="other.mlir")) == [
        "other.mlir:1:3: error: unexpected error: no",
        'f.mlir:1:4: error: expected error "no" was not produced',
    ]


def test_each_comment_is_for_one_message() -> None:
    assert problems("// expected-error {{no}}", at(1), at(1)) == ["f.mlir:1:3: error: unexpected error: no"]


def test_text_is_literal_unless_it_says_otherwise() -> None:
    assert problems("// expected-error {{a.c}}", at(1, "abc")) != []
    assert problems("// expected-error-re {{a.c {{[0-9]+}}}}", at(1, "say a.c 42 times")) == []
    assert problems("// expected-error-re {{a.c {{[0-9]+}}}}", at(1, "abc 42")) != []


def test_lines_count_from_the_beginning_of_the_file() -> None:
    assert problems("// expected-error {{no}}", at(8), lines_before=7) == []
    assert problems("// expected-error @below {{no}}\nx", at(9), lines_before=7) == []


def test_only_expected_lets_others_pass_but_not_go_missing() -> None:
    assert problems("", at(1), only_expected=True) == []
    assert len(problems("// expected-error {{yes}}", at(1), only_expected=True)) == 1


def test_notes_are_expected_on_their_own() -> None:
    note = at(2, "because", Severity.NOTE)
    reported = Diagnostic(Severity.ERROR, "no", SourceLocation(FILE, 1, 1), (note,))
    assert problems("// expected-error {{no}}", reported) == ["f.mlir:2:3: error: unexpected note: because"]
    assert problems("// expected-error {{no}}\n// expected-note {{because}}", reported) == []
