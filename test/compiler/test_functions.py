"""Functions compiled, executed and compared from Python: what is right, what is wrong, what nobody can compare."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import npuflow
from npuflow.compiler.compiled import Function
from npuflow.compiler.verify_function import verify_function
from npuflow.execute.iree_compile import compile_text
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.references import Judge, make_references
from npuflow.execute.verification import Status
from npuflow.report.json_report import json_of
from npuflow.report.text import text_of
from npuflow.simulate.program import Cause

SMALL = """func.func @matmul(%a: tensor<33x40xi8>, %b: tensor<40x50xi8>) -> tensor<33x50xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<33x50xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<33x50xi32>) -> tensor<33x50xi32>
  %sum = linalg.matmul
    ins(%a, %b : tensor<33x40xi8>, tensor<40x50xi8>) outs(%fill : tensor<33x50xi32>) -> tensor<33x50xi32>
  return %sum : tensor<33x50xi32>
}
"""


def function() -> Function:
    return npuflow.compile(SMALL, "npuflow-stream-k{grid=2,2 tile-l2=32,32,32 tile-l1=16,16,16}", device="toy")[
        "matmul"
    ]


def test_arrays_go_through_the_array() -> None:
    random = np.random.default_rng(1)
    a = random.integers(-128, 128, (33, 40)).astype(np.int8)
    b = random.integers(-128, 128, (40, 50)).astype(np.int8)
    (result,) = function().execute(a, b)
    assert np.array_equal(result, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ((np.zeros((33, 40), np.int8),), "takes 2 arrays, got 1"),
        ((np.zeros((33, 40), np.int8), np.zeros((40, 51), np.int8)), "argument 1 of @matmul is int8[40, 51]"),
        ((np.zeros((33, 40), np.int32), np.zeros((40, 50), np.int8)), "argument 0 of @matmul is int32[33, 40]"),
    ],
)
def test_wrong_arrays_are_refused(inputs: tuple[np.ndarray, ...], said: str) -> None:
    with pytest.raises(npuflow.UsageError) as refused:
        function().execute(*inputs)
    assert said in str(refused.value)


def test_an_unknown_function_gets_the_nearest_names() -> None:
    with pytest.raises(npuflow.UsageError, match="did you mean matmul"):
        npuflow.compile(SMALL)["matmull"]


def test_a_module_is_compiled_as_it_stays() -> None:
    module = npuflow.parse(SMALL, npuflow.new_context())
    before = str(module)
    assert npuflow.compile(module, device="toy").run().ok
    assert str(module) == before


def test_a_schedule_that_does_not_wait_is_found_out_and_both_steps_are_named() -> None:
    good = function().compiled
    semaphores = tuple(
        replace(s, initial=1, maximum=s.maximum + 1) if s.cause is Cause.DATA and s.name.startswith("l1_") else s
        for s in good.program.semaphores
    )
    bad = replace(good, program=replace(good.program, semaphores=semaphores))
    module = npuflow.parse(SMALL, npuflow.new_context())
    (reference,) = make_references(module.operation, "matmul", 0, Judge.IREE)
    assert verify_function(good, reference).status is Status.OK
    wrong = verify_function(bad, reference)
    assert wrong.status is Status.WRONG
    assert any("'matmul' of 'core (0,0)'" in hazard for hazard in wrong.hazards)
    races = [hazard for hazard in wrong.hazards if hazard.startswith("race")]
    assert all(hazard.count("' of '") == 2 for hazard in races)


def test_without_iree_nothing_is_compared_unless_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("iree", "iree.compiler", "iree.runtime"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("npuflow.execute.oracle.compile_text", compile_text.__wrapped__)
    compiled = npuflow.compile(SMALL, device="toy")
    verified = compiled.run().functions[0].verified
    assert verified.status is Status.SKIPPED
    assert "pip install iree-base-compiler" in verified.message
    with pytest.raises(npuflow.InputError, match="cannot be compared with IREE"):
        compiled.run(verify=True)


def test_what_iree_cannot_run_is_compared_with_its_own_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise NotExecutableError("IREE cannot run @matmul: it has no time\nsecond line")

    monkeypatch.setattr("npuflow.execute.references.run_iree", fails)
    report = npuflow.compile(SMALL, device="toy").run()
    assert report.functions[0].verified.status is Status.OK
    text = "against the input's own execution (IREE cannot run @matmul: it has no time)"
    assert text in text_of(report)
    verified = json.loads(json_of(report))["functions"][0]["verified"]
    assert (verified["status"], verified["against"]) == ("ok", "the input's own execution")
    assert verified["why_not_iree"].startswith("IREE cannot run @matmul")


def test_large_memories_are_executed_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuflow.compiler.checks.EXECUTED_MEMORY_BYTES", 1 << 10)
    compiled = npuflow.compile(SMALL, device="toy")
    skipped = compiled.run(judge=Judge.JIT).functions[0].verified
    assert (skipped.status, skipped.message) == (Status.SKIPPED, "more than 1024 bytes of memory, and not asked for")
    assert compiled.run(judge=Judge.JIT, verify=True).functions[0].verified.status is Status.OK


@pytest.mark.parametrize(
    ("kind", "value"), [("complex<f32>", "(1.0, 0.0)"), ("i128", "7"), ("i4", "7"), ("f80", "1.0")]
)
def test_constants_of_types_that_nobody_reads_are_no_matter(kind: str, value: str) -> None:
    text = f"""#same = affine_map<(i) -> (i)>
    func.func @f(%a: tensor<4xi32>) -> tensor<4xi32> {{
      %e = tensor.empty() : tensor<4xi32>
      %c = arith.constant dense<[{", ".join([value] * 4)}]> : tensor<4x{kind}>
      %r = linalg.generic {{indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}}
          ins(%a, %c : tensor<4xi32>, tensor<4x{kind}>) outs(%e : tensor<4xi32>) {{
      ^bb0(%x: i32, %y: {kind}, %out: i32):
        %twice = arith.addi %x, %x : i32
        linalg.yield %twice : i32
      }} -> tensor<4xi32>
      return %r : tensor<4xi32>
    }}"""
    given = np.arange(4, dtype=np.int32)
    (result,) = npuflow.compile(text, device="toy")["f"].execute(given)
    assert (result == 2 * given).all()
