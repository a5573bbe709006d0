"""The round trip fails for what doesn't come back."""

import pytest

from npuflow import InputError, new_context, parse
from npuflow.bindings import ir
from npuflow.core import roundtrip
from npuflow.core.diagnostics import DiagnosticSink


def module() -> ir.Module:
    return parse("func.func @f() attributes {a = 1 : i8} { return }", new_context())


def test_an_ordinary_module_comes_back() -> None:
    roundtrip.verify_roundtrip(module(), DiagnosticSink())


def test_what_changes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    other = parse("func.func @f() attributes {a = 2 : i8} { return }", new_context())
    monkeypatch.setattr(roundtrip, "_bytecode", lambda _: str(other))
    with pytest.raises(InputError, match=r"through bytecode form changes it: .*a = 1 : i8.* became .*a = 2 : i8"):
        roundtrip.verify_roundtrip(module(), DiagnosticSink())


def test_what_does_not_parse_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roundtrip, "_bytecode", lambda _: "nonsense")
    with pytest.raises(InputError, match="through bytecode form does not parse"):
        roundtrip.verify_roundtrip(module(), DiagnosticSink())
