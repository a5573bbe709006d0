"""IREE as the judge: all types pass through it, its refusals are clear, and its programs are compiled once."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import npuflow
from npuflow.execute import iree_compile, oracle
from npuflow.execute.arrays import Array, functions_of, signature_of
from npuflow.execute.data import random_arrays
from npuflow.execute.limits import LimitError, Limits, limited
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.oracle import run_iree, text_for_iree
from npuflow.execute.references import Judge, judged, make_reference, make_references
from npuflow.ops.allowed_ops import ELEMENT_TYPES


def run(text: str, seed: int = 0) -> tuple[list[Array], list[Array]]:
    """Inputs and results of a module's one public function."""
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = functions_of(module.operation)
    signature = signature_of(function)
    inputs = random_arrays(signature.inputs, seed)
    return inputs, run_iree(module.operation, signature, inputs)


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_every_element_type_passes(element: str) -> None:
    inputs, results = run(
        f"func.func @f(%t: tensor<3x4x{element}>) -> tensor<3x4x{element}> {{ return %t : tensor<3x4x{element}> }}"
    )
    assert results[0].dtype == inputs[0].dtype
    assert np.array_equal(results[0], inputs[0])


def test_scalars_several_results_and_none() -> None:
    inputs, results = run(
        "func.func @f(%i: i8, %x: f32, %t: tensor<f64>) -> (tensor<f64>, f32, i8) {"
        " return %t, %x, %i : tensor<f64>, f32, i8 }"
    )
    assert [r.item() for r in results] == [i.item() for i in reversed(inputs)]
    assert run("func.func @f() { return }") == ([], [])


def test_a_tensor_of_rank_0_is_passed_as_one() -> None:
    inputs, results = run(
        "func.func @f(%t: tensor<i32>) -> tensor<i32> { %r = arith.addi %t, %t : tensor<i32> return %r : tensor<i32> }"
    )
    assert results[0] == inputs[0] + inputs[0]


def test_more_tensors_than_iree_binds() -> None:
    kinds = ["tensor<2x3xi32>", "tensor<4xi8>", "tensor<f32>", "i16", "tensor<1x2x2xi1>"] * 8
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(kinds))
    results = ", ".join(f"%a{i}" for i in (39, 38, 37, 36, 35, 0))
    types = ", ".join(kinds[i] for i in (39, 38, 37, 36, 35, 0))
    inputs, got = run(f"func.func @f({arguments}) -> ({types}) {{ return {results} : {types} }}")
    assert all(np.array_equal(inputs[i], result) for i, result in zip((39, 38, 37, 36, 35, 0), got, strict=True))


def test_named_ops_that_iree_no_longer_has_are_generalised() -> None:
    kind = "tensor<4xf32>"
    inputs, results = run(
        f"func.func @f(%a: {kind}, %b: {kind}) -> {kind} {{\n"
        f"  %e = tensor.empty() : {kind}\n"
        f"  %r = linalg.add ins(%a, %b : {kind}, {kind}) outs(%e : {kind}) -> {kind}\n"
        f"  return %r : {kind}\n}}"
    )
    assert np.array_equal(results[0], inputs[0] + inputs[1])


def test_what_only_we_know_stays_behind() -> None:
    text = """
      module attributes {npu.device = #npu.device<"npu1", {}>, transform.with_named_sequence} {
        func.func @f(%t: tensor<4xi32> {npu.x = 1, bufferization.writable = false}) -> tensor<4xi32>
            attributes {npu.y} { return %t : tensor<4xi32> }
        transform.named_sequence @s(%op: !transform.any_op) { transform.yield }
      }"""
    module = npuflow.parse(text, npuflow.new_context())
    assert "npu" not in text_for_iree(module.operation, "f", generalise=False)
    assert "transform" not in text_for_iree(module.operation, "f", generalise=False)
    assert np.array_equal(*(arrays[0] for arrays in run(text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(%m: memref<4xi32>) { return }", "takes memrefs"),
        ("func.func @f(%x: bf16) -> bf16 { return %x : bf16 }", "scalars of 16-bit floats"),
        (
            "func.func @f() -> i1 { %i = index.constant 1 %r = index.cmp eq(%i, %i) return %r : i1 }",
            "IREE cannot run @f",
        ),
    ],
)
def test_refusals_say_why_and_what_to_do(text: str, message: str) -> None:
    with pytest.raises(NotExecutableError) as caught:
        run(text)
    assert message in str(caught.value)


def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "func.func @once(%t: tensor<4xi32>) -> tensor<4xi32> { return %t : tensor<4xi32> }"
    run(text)
    monkeypatch.setattr(iree_compile, "run_program", None)
    run(text, seed=1)


RESOURCES = """
  func.func @f() -> (tensor<4xbf16>, tensor<2xf32>, tensor<4xi1>) {
    %w = arith.constant dense_resource<torch.w_1> : tensor<4xbf16>
    %x = arith.constant dense_resource<"a name"> : tensor<2xf32>
    %y = arith.constant dense<[1, 0, 1, 1]> : tensor<4xi1>
    return %w, %x, %y : tensor<4xbf16>, tensor<2xf32>, tensor<4xi1>
  }
  {-# dialect_resources: { builtin: {
    torch.w_1: "0x02000000803F004040408040",
    "a name": "0x040000000000803F00000040"
  } } #-}"""


def test_constants_as_resources_stand_in_the_text() -> None:
    module = npuflow.parse(RESOURCES, npuflow.new_context())
    assert "dense_resource" not in text_for_iree(module.operation, "f", generalise=False)
    _, (w, x, y) = run(RESOURCES)
    assert (w.tolist(), x.tolist(), y.tolist()) == ([1, 2, 3, 4], [1, 2], [True, False, True, True])


def test_the_compiler_is_limited() -> None:
    text = "func.func @slow(%t: tensor<4xi32>) -> tensor<4xi32> { return %t : tensor<4xi32> }"
    with limited(Limits(time_seconds=0)), pytest.raises(LimitError, match="IREE's compilation of @slow did not end"):
        run(text)


def test_a_crash_of_what_it_compiled_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "_call", lambda *_: os.kill(os.getpid(), signal.SIGSEGV))
    with pytest.raises(NotExecutableError, match="IREE cannot run @f: IREE's run of @f crashed with SIGSEGV"):
        run("func.func @f(%t: tensor<4xi32>) -> tensor<4xi32> { return %t : tensor<4xi32> }")


SUMS_OF_PAIRS = """
#whole = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
func.func @f(%x: tensor<9x7xf32>) -> tensor<9x9xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %s = linalg.generic {indexing_maps = [#whole, #first], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<9x7xf32>) outs(%f : tensor<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %a, %o : f32
    linalg.yield %q : f32
  } -> tensor<9xf32>
  %g = tensor.empty() : tensor<9x9xf32>
  %d = linalg.generic {indexing_maps = [#first, affine_map<(d0, d1) -> (d1)>, #whole],
    iterator_types = ["parallel", "parallel"]}
    ins(%s, %s : tensor<9xf32>, tensor<9xf32>) outs(%g : tensor<9x9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.subf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<9x9xf32>
  return %d : tensor<9x9xf32>
}"""


def test_a_result_that_is_read_in_two_ways_is_judged_right() -> None:
    module = npuflow.parse(SUMS_OF_PAIRS, npuflow.new_context())
    (reference,) = make_references(module.operation, "f", 0, Judge.IREE)
    assert reference.judge is Judge.IREE
    assert not reference.dispute
    sums = reference.inputs[0].astype(np.float64).sum(1)
    assert np.allclose(reference.expected[0], sums[:, None] - sums[None, :], atol=1e-12)


SUMS_TWICE = """
func.func @f(%a: tensor<2x6xf32>) -> tensor<2x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %e1 = tensor.empty() : tensor<2xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2xf32>) -> tensor<2xf32>
  %first:2 = tm_tensor.scan dimension(1) inclusive(true)
    ins(%a : tensor<2x6xf32>) outs(%z, %z1 : tensor<2x6xf32>, tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    tm_tensor.yield %s : f32
  } -> tensor<2x6xf32>, tensor<2xf32>
  %second:2 = tm_tensor.scan dimension(1) inclusive(true)
    ins(%a : tensor<2x6xf32>) outs(%z, %z1 : tensor<2x6xf32>, tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    tm_tensor.yield %s : f32
  } -> tensor<2x6xf32>, tensor<2xf32>
  %d = tensor.empty() : tensor<2x6x6xf32>
  %pairs = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, j)>,
      affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%first#0, %second#0 : tensor<2x6xf32>, tensor<2x6xf32>) outs(%d : tensor<2x6x6xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.subf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<2x6x6xf32>
  return %pairs : tensor<2x6x6xf32>
}"""


def test_what_is_computed_twice_and_read_by_one_is_judged_right() -> None:
    """As PyTorch writes differences of cumulative sums: IREE makes one of the two sums."""
    report = npuflow.compile(npuflow.parse(SUMS_TWICE, npuflow.new_context()), device="npu2").run(verify=True)
    assert report.functions[0].verified.status.value == "ok"


ROWS_COPIED = """
func.func @f(%x: tensor<8x5xf32>, %other: tensor<8x5xf32>) -> (tensor<8x5xf32>, tensor<8x5xf32>) {
  %places = arith.constant dense<[5, 1, 0, 7]> : tensor<4xi64>
  %here = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %rows = tensor.extract_slice %x[2, 0] [4, 5] [1, 1] : tensor<8x5xf32> to tensor<4x5xf32>
  %copied = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k)>,
      affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%rows, %places, %here : tensor<4x5xf32>, tensor<4xi64>, tensor<8xi64>) outs(%x : tensor<8x5xf32>) {
  ^bb0(%row: f32, %place: i64, %at: i64, %o: f32):
    %is_here = arith.cmpi eq, %place, %at : i64
    %v = arith.select %is_here, %row, %o : f32
    linalg.yield %v : f32
  } -> tensor<8x5xf32>
  return %other, %copied : tensor<8x5xf32>, tensor<8x5xf32>
}"""


def test_what_reads_a_slice_of_what_it_writes_is_judged_right() -> None:
    module = npuflow.parse(ROWS_COPIED, npuflow.new_context())
    (reference,) = make_references(module.operation, "f", 0, Judge.IREE)
    assert (reference.judge, reference.dispute) == (Judge.IREE, "")
    x = reference.inputs[0]
    expected = x.copy()
    expected[[5, 1, 0, 7]] = x[2:6]
    assert np.array_equal(reference.expected[1].astype(np.float32), expected)


def test_what_is_wrong_alone_too_is_disputed() -> None:
    module = npuflow.parse(ROWS_COPIED, npuflow.new_context())
    (function,) = functions_of(module.operation)
    right = make_reference(module.operation, function, 0)
    wrong = replace(right, expected=(right.expected[0], right.expected[1] + 1.0))
    assert not judged(module.operation, right, Judge.IREE).dispute
    assert "40 of 40 elements are wrong" in judged(module.operation, wrong, Judge.IREE).dispute


def test_a_sine_near_zero_is_judged_right() -> None:
    """What IREE's is off by is small beside 1, but not beside what it is divided by."""
    module = npuflow.parse(
        """
func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  %small = arith.constant dense<1.0e-4> : tensor<64xf32>
  %y = arith.mulf %x, %small : tensor<64xf32>
  %s = math.sin %y : tensor<64xf32>
  %r = arith.divf %s, %y : tensor<64xf32>
  return %r : tensor<64xf32>
}""",
        npuflow.new_context(),
    )
    (reference,) = make_references(module.operation, "f", 0, Judge.IREE)
    assert (reference.judge, reference.dispute) == (Judge.IREE, "")
