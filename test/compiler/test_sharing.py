"""What is alike is compiled, simulated and verified once; what differs is compiled side by side, to the same result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from judges import JUDGE

import npuflow
from npuflow.api import timed
from npuflow.bindings import ir
from npuflow.compiler import checks, references, units, verify_function
from npuflow.compiler.compiled_function import CompiledFunction, FunctionalRun
from npuflow.compiler.sources import first_alike, sources_of
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.registry import PASSES
from npuflow.execute.arrays import Array
from npuflow.execute.verification import Status
from npuflow.network.calls import CallList
from npuflow.report.json_report import json_of
from npuflow.report.text import text_of

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program, attention_like, chain, layers

# Parts of sequences are groups; matmuls in a row would be one.
APART = "npuflow-stream-k{fuse=false}"


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


def wrongly(execute: Callable[..., FunctionalRun]) -> Callable[..., FunctionalRun]:
    """An execution that gets one element wrong."""

    def executed(function: CompiledFunction, inputs: Sequence[Array]) -> FunctionalRun:
        run = execute(function, inputs)
        (output,) = run.outputs
        return replace(run, outputs=(np.concatenate([output.flat[:1] + 100, output.flat[1:]]).reshape(output.shape),))

    return executed


def alike(text: str) -> list[int]:
    return first_alike([source.alone() for source in sources_of(npuflow.parse(text, npuflow.new_context()))])


def test_functions_are_alike_by_what_they_compute() -> None:
    assert alike(matmul("a")) == [0]
    assert alike(matmul("a") + matmul("b") + matmul("c", 24) + matmul("d")) == [0, 0, 2, 0]


def test_functions_are_alike_only_on_the_same_constants() -> None:
    # 256 elements, which a first look leaves out, and 16, which it doesn't.
    for size in (16, 4):
        assert alike(on_table("a", 1, size) + on_table("b", 1, size) + on_table("c", 2, size)) == [0, 0, 2]


RESOURCES = """
func.func @a() -> tensor<2xf32> { %0 = arith.constant dense_resource<one> : tensor<2xf32> return %0 : tensor<2xf32> }
func.func @b() -> tensor<2xf32> { %0 = arith.constant dense_resource<two> : tensor<2xf32> return %0 : tensor<2xf32> }
func.func @c() -> tensor<2xf32> { %0 = arith.constant dense_resource<one> : tensor<2xf32> return %0 : tensor<2xf32> }
{-# dialect_resources: {builtin: {
  one: "0x040000000000803F0000803F", two: "0x040000000000004000000040"}} #-}
"""


def test_constants_that_are_resources_are_told_apart() -> None:
    assert alike(RESOURCES) == [0, 1, 0]


CALLS = """
func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func private @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.constant dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
CALL = """
func.func @{0}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %y = call @{1}(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""


def test_what_functions_call_counts() -> None:
    callers = [CALL.format(name, callee) for name, callee in (("a", "same"), ("b", "one"), ("c", "same"))]
    assert alike(CALLS + "".join(callers)) == [0, 1, 0]


def test_equal_functions_are_compiled_simulated_and_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compilations = Counted(monkeypatch, units, "compile_functions")
    reports = Counted(monkeypatch, timed, "report_function")
    executions = Counted(monkeypatch, checks, "verify_function")
    judgements = Counted(monkeypatch, references, "judged")
    names = [f"f{number}" for number in range(10)]
    compiled = npuflow.compile("".join(map(matmul, names)) + matmul("larger", 24), device="toy")
    report = compiled.run(verify=True)  # by IREE: how often it is asked is counted as well
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


def test_what_is_wrong_is_wrong_under_every_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_function, "execute_function", wrongly(verify_function.execute_function))
    report = npuflow.compile(matmul("a") + matmul("b"), device="toy").run(verify=True, judge=JUDGE)
    assert [function.verified.status for function in report.functions] == [Status.WRONG, Status.WRONG]
    assert not report.ok


def test_functions_that_differ_in_constants_are_verified_each_and_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    executions = Counted(monkeypatch, checks, "verify_function")
    simulations = Counted(monkeypatch, timed, "report_function")
    report = npuflow.compile(on_table("a", 1) + on_table("b", 2), device="toy").run(verify=True, judge=JUDGE)
    assert [function.verified.status for function in report.functions] == [Status.OK, Status.OK]
    assert [function.like for function in report.functions] == ["", ""]
    assert (executions.calls, simulations.calls) == (2, 1)


def test_sequences_that_are_equal_have_parts_of_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    compilations = Counted(monkeypatch, units, "compile_fitting")
    executions = Counted(monkeypatch, checks, "verify_function")
    text = layers(3, name="f") + layers(3, name="g") + matmul("g_0")
    compiled = npuflow.compile(text, APART, device="toy", split=True, disable="residency")
    assert compilations.calls == 2
    owners = [(function.name, function.part_of, function.like) for function in compiled.functions]
    assert owners == [("f_0", "f", ""), ("g__0", "g", "f_0"), ("g_0", "", "")]
    report = compiled.run(verify=True, judge=JUDGE)
    assert [(one.like, one.verified.status) for one in report.sequences] == [("", Status.OK), ("f", Status.OK)]
    assert [part.name for part in report.sequences[1].parts] == ["g__0"] * 3
    assert executions.calls == 2
    assert "like        @f but for its name" in text_of(report)


def test_parts_of_different_functions_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    compilations = Counted(monkeypatch, units, "compile_fitting")
    text = chain(3) + chain(4).replace("@chain", "@longer")
    compiled = npuflow.compile(text, APART, device="toy", split=True, disable="residency")
    assert compilations.calls == 2
    assert [(f.name, f.like) for f in compiled.functions] == [
        ("chain_0", ""),
        ("chain_1", ""),
        ("longer_0", "chain_0"),
        ("longer_1", "chain_1"),
    ]


def test_layers_that_differ_in_weights_alone_are_one_part() -> None:
    compiled = npuflow.compile(layers(4), APART, device="toy", split=True, disable="residency")
    assert [function.name for function in compiled.functions] == ["layers_0"]
    (sequence,) = compiled.sequences
    report = compiled.run(verify=True, judge=JUDGE)
    assert report.sequences[0].verified.status is Status.OK, report.sequences[0].verified
    assert (len(sequence.parts), report.sequences[0].changes) == (4, 0)
    # Each call has its own: with the first two exchanged, it is another function.
    calls: CallList = sequence.compiled.calls
    first, second, *others = calls.calls
    one, other = ((call.inputs[0], twin.inputs[1]) for call, twin in ((first, second), (second, first)))
    swapped = replace(calls, calls=(replace(first, inputs=one), replace(second, inputs=other), *others))
    wrong = replace(sequence, compiled=replace(sequence.compiled, calls=swapped))
    found = replace(compiled, sequences=(wrong,)).run(verify=True, judge=JUDGE).sequences[0].verified
    assert found.status is Status.WRONG


# Side by side

DIFFERENT = "".join(matmul(f"f{size}", size) for size in (8, 12, 16, 20, 24)) + attention_like(is_long=True)


def test_processes_side_by_side_find_the_same() -> None:
    said: list[DiagnosticSink] = [DiagnosticSink(), DiagnosticSink()]
    one, two = (npuflow.compile(DIFFERENT, device="toy", jobs=jobs, sink=sink) for jobs, sink in zip((1, 3), said))
    assert str(one.module) == str(two.module)
    assert said[0].diagnostics == said[1].diagnostics
    reports = [compiled.run(verify=True, judge=JUDGE, jobs=jobs) for compiled, jobs in ((one, 1), (two, 3))]
    assert json_of(reports[0]) == json_of(reports[1])
    assert reports[1].ok


def test_processes_side_by_side_refuse_the_same() -> None:
    tiles = "npuflow-stream-k{tile-l2=512,512,512 tile-l1=512,512,512}"
    said = []
    for jobs in (1, 3):
        with pytest.raises(npuflow.InputError) as refused:
            npuflow.compile(matmul("a", 512) + matmul("b", 516), tiles, device="toy", jobs=jobs)
        said.append(refused.value.diagnostics)
    assert said[0] == said[1]
    assert len({diagnostic.location for diagnostic in said[0]}) == 2


@dataclass(frozen=True)
class Fails(npuflow.Pass):
    """Has a defect."""

    name = "test-fails"

    def run(self, op: ir.Operation, context: npuflow.PassContext) -> None:
        raise RuntimeError("a defect")


def test_a_defect_is_met_where_its_traceback_shows() -> None:
    npuflow.register_pass(Fails)
    try:
        with pytest.raises(npuflow.InternalError, match="a defect") as failed:
            npuflow.compile(matmul("a") + matmul("b", 24), "test-fails,npuflow-stream-k", device="toy", jobs=2)
    finally:
        del PASSES[Fails.name]
    assert str(failed.value.__cause__) == "a defect"  # which no other process would hand over


def test_jobs_are_a_number_of_processes() -> None:
    with pytest.raises(npuflow.UsageError, match="jobs is 0; hint: give a whole number, 1 or larger"):
        npuflow.compile(matmul("a"), jobs=0)
    with pytest.raises(npuflow.UsageError, match="jobs is of type str"):
        npuflow.compile(matmul("a"), device="toy").run(jobs="2")  # type: ignore[arg-type]
