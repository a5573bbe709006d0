"""What is printed of many messages, what of long lines, and that a file is read once for all messages about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npuflow import files
from npuflow.core import source_lines as quoting
from npuflow.core.source_lines import source_lines
from npuflow.errors import Diagnostic, Severity, SourceLocation, render
from npuflow.tools import npuflow, opt
from npuflow.tools.messages import MOST_ALIKE, MOST_KINDS, Messages

COUNT = 2000


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read for quoting."""
    found: list[str] = []

    def read(path: str, most_bytes: int) -> bytes:
        found.append(path)
        return files.read_bytes(path, most_bytes)

    monkeypatch.setattr(quoting, "read_bytes", read)
    return found


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A program of COUNT ops that nothing of ours can compile."""
    path = tmp_path / "many.mlir"
    ops = "\n".join(f"  %r{i + 1} = tensor.insert %x into %r{i}[%i] : tensor<4xf32>" for i in range(COUNT))
    head = "func.func @f(%r0: tensor<4xf32>) -> tensor<4xf32> {"
    constants = "  %x = arith.constant 1.0 : f32\n  %i = arith.constant 1 : index"
    path.write_text(f"{head}\n{constants}\n{ops}\n  return %r{COUNT} : tensor<4xf32>\n}}\n")
    return path


@pytest.mark.parametrize("command", ["npuflow", "npuflow-opt"])
def test_thousands_of_alike_errors_are_a_screen_and_one_read(
    command: str, many: Path, reads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "npuflow":
        assert npuflow.main(["run", str(many)]) == 1
    else:
        assert opt.main([str(many), "--npuflow-check-input", "-o", os.devnull]) == 1
    printed = capsys.readouterr().err
    assert printed.count("error: unsupported op tensor.insert") == MOST_ALIKE
    assert f"error: and {COUNT - MOST_ALIKE} more like: unsupported op tensor.insert" in printed
    assert reads.count(str(many)) <= 1


def test_messages_that_differ_in_names_and_numbers_are_alike(capsys: pytest.CaptureFixture[str]) -> None:
    messages = Messages()
    for number in range(30):
        messages.add(Diagnostic(Severity.ERROR, f"@f{number} needs {number} bytes of 'l{number}'"))
    messages.close()
    assert capsys.readouterr().err.splitlines()[-1] == "error: and 20 more like: @f0 needs 0 bytes of 'l0'"


def test_of_many_kinds_the_first_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    messages = Messages()
    for number in range(2 * MOST_KINDS):
        messages.add(Diagnostic(Severity.ERROR, f"something {'very ' * number}wrong"))
    messages.add(Diagnostic(Severity.ERROR, "something wrong"))
    messages.close()
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == MOST_KINDS + 2
    assert printed[-2:] == ["error: something wrong", f"error: and {MOST_KINDS} more of other kinds"]


def test_remarks_are_all_printed(capsys: pytest.CaptureFixture[str]) -> None:
    messages = Messages()
    for _ in range(100):
        messages.add(Diagnostic(Severity.REMARK, "chosen"))
    messages.close()
    assert capsys.readouterr().err.splitlines() == ["remark: chosen"] * 100


def test_a_file_that_has_changed_is_read_again(tmp_path: Path, reads: list[str]) -> None:
    path = tmp_path / "x.mlir"
    for text in ("one\ntwo", "one\nthree\n"):
        path.write_text(text)
        for _ in range(3):
            lines = source_lines(str(path))
            assert lines is not None
            assert list(lines) == text.split("\n")
            assert lines[:1] == ["one"]
    assert reads == [str(path)] * 2


def test_what_is_no_regular_file_is_not_quoted(tmp_path: Path) -> None:
    pipe, endless = tmp_path / "pipe", tmp_path / "endless"
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    for path in (pipe, endless, tmp_path, tmp_path / "missing", "a\0b"):
        assert source_lines(str(path)) is None


def test_bytecode_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "x.mlirbc"
    path.write_bytes(b"ML\xefR\0\n\1")
    assert source_lines(str(path)) is None


@pytest.mark.parametrize("column", [1, 100, 5000, 9997])
def test_of_a_long_line_what_is_around_the_place_is_quoted(column: int) -> None:
    text = "".join(f"{number:04}" for number in range(0, 10000, 4))  # at each place stands its number
    _, line, caret = render(Diagnostic(Severity.ERROR, "wrong", SourceLocation("x", 1, column, text))).splitlines()
    assert len(line) <= 242
    assert line[caret.index("^") :].startswith(text[column - 1 : column + 3])


def test_of_a_long_line_without_a_place_the_beginning_is_quoted() -> None:
    text = "x = " + 1000 * "1"
    _, line = render(Diagnostic(Severity.ERROR, "wrong", SourceLocation("x", 1, 0, text))).splitlines()
    assert line == text[:240] + "…"
