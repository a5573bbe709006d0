"""The schedule of hand-written.mlir: its text, what reads it, and what checks it."""

from __future__ import annotations

from pathlib import Path

import npuflow
from npuflow.bindings import ir

TEXT = (Path(__file__).parent / "hand-written.mlir").read_text()
CHECKS = "npuflow-check-schedule,npuflow-check-handover"


def parsed(text: str = TEXT) -> ir.Module:
    return npuflow.parse(text, npuflow.new_context())


def changed(*changes: tuple[str, str], function: str = "", text: str = TEXT) -> str:
    """The text with each old string, which must be there, replaced: everywhere, or in one function."""
    begin = text.index(f"\n  func.func @{function}(") if function else 0
    end = text.index("  func.func", begin + 4) if function and "  func.func" in text[begin + 4 :] else len(text)
    part = text[begin:end]
    for old, new in changes:
        assert old in part, f"{old!r} is not in {function or 'the schedule'}"
        part = part.replace(old, new)
    return text[:begin] + part + text[end:]


def without(what: str, function: str, text: str = TEXT) -> str:
    """The text without the lines of a function that contain `what`."""
    begin = text.index(f"\n  func.func @{function}(")
    end = text.index("\n  }\n", begin)
    kept = [line for line in text[begin:end].split("\n") if what not in line]
    assert len(kept) < text[begin:end].count("\n") + 1, f"{what!r} is not in {function}"
    return text[:begin] + "\n".join(kept) + text[end:]


def errors(text: str) -> list[str]:
    """What both checks say of a schedule, each message with its place; empty if it is right."""
    try:
        npuflow.run_pipeline(parsed(text), CHECKS)
    except npuflow.InputError as error:
        return [str(diagnostic) for diagnostic in error.diagnostics]
    return []
