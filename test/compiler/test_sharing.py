"""What is alike is compiled, simulated and verified once; what differs is compiled side by side, with the same result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import npuflow
from npuflow.compiler import units
from npuflow.compiler.sources import first_alike, sources_of
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.execute.verification import Status
from npuflow.report.json_report import json_of
from npuflow.report.text import text_of

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program, attention_like, chain, layers


class Counted:
    """Calls of a function that still does what it did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
        before, self.calls = getattr(module, name), 0

        def counting(*given: object, **named: object) -> object:
            self.calls += 1
            return before(*given, **named)

        monkeypatch.setattr(module, name, counting)


def matmul(name: str, size: int = 16) -> str:
    p = Program(name)
    return p.text(p.matmul(p.argument(size, size), p.argument(size, size)))


def on_table(name: str, seed: int, size: int = 16) -> str:
    """A matmul with weights of its own."""
    p = Program(name)
    return p.text(p.matmul(p.argument(size, size), p.table(seed, size, size)))


def alike(text: str) -> list[int]:
    return first_alike([source.alone() for source in sources_of(npuflow.parse(text, npuflow.new_context()))])


def test_functions_are_alike_by_what_they_compute() -> None:
    assert alike(matmul("a")) == [0]
    assert alike(matmul("a") + matmul("b") + matmul("c", 32) + matmul("d")) == [0, 0, 2, 0]
    # So many elements aren't printed for a first look: all but one are equal.
    table = on_table("a", 1)
    assert alike(table + table.replace("@a", "@b") + on_table("c", 2)) == [0, 0, 2]
    resource = on_table("a", 1).replace("dense<[", "dense<[").replace("\n", "\n")
    assert alike(resource + matmul("b")) == [0, 1]


def test_functions_that_call_others_are_alike_if_those_are_the_same() -> None:
    callee = "func.func private @{0}(%x: tensor<4xf32>) -> tensor<4xf32> {{ {1} return %x : tensor<4xf32> }}\n"
    caller = "func.func @{0}(%x: tensor<4xf32>) -> tensor<4xf32> {{ %y = call @{1}(%x) : (tensor<4xf32>) -> tensor<4xf32> return %y : tensor<4xf32> }}\n"
    text = callee.format("p", "") + callee.format("q", "%0 = arith.constant 1.0 : f32")
    assert alike(text + caller.format("a", "p") + caller.format("b", "q") + caller.format("c", "p")) == [0, 1, 0]


def test_equal_functions_are_compiled_simulated_and_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compilations = Counted(monkeypatch, units, "compile_functions")
    reports = Counted(monkeypatch, sys.modules["npuflow.api.compiled"], "report_function")
    executions = Counted(monkeypatch, sys.modules["npuflow.compiler.checks"], "verify_function")
    judgements = Counted(monkeypatch, sys.modules["npuflow.compiler.checks"], "judged")
    names = [f"f{number}" for number in range(10)]
    compiled = npuflow.compile("".join(map(matmul, names)) + matmul("larger", 24), device="toy")
    report = compiled.run(verify=True)
    assert (compilations.calls, reports.calls, executions.calls, judgements.calls) == (2, 2, 2, 2)
    assert [function.name for function in report.functions] == [*names, "larger"]
    assert [function.like for function in report.functions] == ["", *["f0"] * 9, ""]
    assert {function.verified.status for function in report.functions} == {Status.OK}
    assert len({function.time_us for function in report.functions[:10]}) == 1
    # Each has a schedule of its own, by its name.
    schedules = str(compiled.module)
    assert all(f"module @{name} " in schedules for name in names)
    lines = text_of(report).splitlines()
    assert sum(line.endswith("@f0 but for its name: compiled, simulated and verified once") for line in lines) == 9
    assert '"like": "f0"' in json_of(report)


def test_wrong_functions_are_wrong_under_every_name(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = npuflow.compile(matmul("a") + matmul("b"), device="toy")
    checks = sys.modules["npuflow.compiler.checks"]
    before = checks.execute_wide if hasattr(checks, "execute_wide") else None
    assert before is None


def test_functions_that_differ_in_constants_are_verified_each(monkeypatch: pytest.MonkeyPatch) -> None:
    executions = Counted(monkeypatch, sys.modules["npuflow.compiler.checks"], "verify_function")
    report = npuflow.compile(on_table("a", 1) + on_table("b", 2), device="toy").run(verify=True)
    assert [function.verified.status for function in report.functions] == [Status.OK, Status.OK]
    assert executions.calls == 2
