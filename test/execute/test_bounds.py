"""Derived bounds: what they are for known programs, that no correct execution leaves them, and that faults do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npuflow
from npuflow.execute.arrays import Array, signature_of
from npuflow.execute.bounds import Bound, BoundKind, bounds_of
from npuflow.execute.compare import compare
from npuflow.execute.data import random_arrays
from npuflow.execute.jit import compile_function
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.numpy_reference import numpy_reference
from npuflow.execute.programs import MatmulProgram, Tail, Types

F32, BF16 = 2.0**-24, 2.0**-8


def bounds_for(text: str, seed: int = 0) -> tuple[list[Array], list[Bound]]:
    """The inputs and bounds of function @f."""
    module = npuflow.parse(text, npuflow.new_context())
    inputs = random_arrays(signature_of(module.body.operations[0].operation).inputs, seed)
    return inputs, bounds_of(module.operation, "f", inputs)


def elementwise(body: str, element: str = "f32", result: str = "f32") -> str:
    """A function @f of two arrays of eight; `body` computes %r of %x and %y."""
    maps = ", ".join(["affine_map<(d) -> (d)>"] * 3)
    return f"""
      func.func @f(%a: tensor<8x{element}>, %b: tensor<8x{element}>) -> tensor<8x{result}> {{
        %e = tensor.empty() : tensor<8x{result}>
        %o = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
          ins(%a, %b : tensor<8x{element}>, tensor<8x{element}>) outs(%e : tensor<8x{result}>) {{
        ^bb0(%x: {element}, %y: {element}, %unused: {result}):
          {body}
          linalg.yield %r : {result}
        }} -> tensor<8x{result}>
        return %o : tensor<8x{result}>
      }}"""


def matmul(m: int, n: int, k: int, element: str = "f32") -> str:
    lhs, rhs, acc = (f"tensor<{shape}x{element}>" for shape in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"))
    return f"""
      func.func @f(%a: {lhs}, %b: {rhs}, %c: {acc}) -> {acc} {{
        %r = linalg.matmul ins(%a, %b : {lhs}, {rhs}) outs(%c : {acc}) -> {acc}
        return %r : {acc}
      }}"""


def test_a_matmul_has_the_textbook_bound() -> None:
    (a, b, c), (bound,) = bounds_for(matmul(5, 6, 70))
    sums = np.abs(a).astype(np.float64) @ np.abs(b) + np.abs(c)
    expected = 2 * math.expm1(72 * F32) * sums
    assert bound.kind is BoundKind.DERIVED
    assert np.allclose(bound.allowed(c), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("body", "roundings", "terms"),
    [
        ("%r = arith.addf %x, %y : f32", 1, lambda x, y: x + y),
        ("%r = arith.subf %x, %y : f32", 1, lambda x, y: x + y),
        ("%r = arith.mulf %x, %y : f32", 1, lambda x, y: x * y),
        ("%r = arith.maximumf %x, %y : f32", 0, np.maximum),
        ("%r = arith.minimumf %x, %y : f32", 0, np.maximum),
        ("%n = arith.negf %x : f32\n %r = arith.addf %n, %y : f32", 1, lambda x, y: x + y),
        ("%c = arith.cmpf olt, %x, %y : f32\n %r = arith.select %c, %x, %y : f32", 0, np.maximum),
        (
            "%c = arith.constant -4.0 : f32\n %q = arith.divf %x, %c : f32\n %r = arith.subf %q, %y : f32",
            2,
            lambda x, y: x / 4 + y,
        ),
        (
            "%s = arith.addf %x, %y : f32\n %t = arith.mulf %s, %s : f32\n %r = arith.subf %t, %x : f32",
            3,
            lambda x, y: (x + y) ** 2 + x,
        ),
    ],
)
def test_elementwise_bounds(body: str, roundings: int, terms: object) -> None:
    (a, b), (bound,) = bounds_for(elementwise(body))
    assert callable(terms)
    expected = 2 * math.expm1(roundings * F32) * terms(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert bound.kind is BoundKind.DERIVED
    assert np.allclose(bound.allowed(a), expected, rtol=1e-4, atol=1e-40)


def test_a_conversion_at_the_end_is_relative_to_the_result() -> None:
    body = "%s = arith.addf %x, %y : f32\n %r = arith.truncf %s : f32 to bf16"
    (a, b), (bound,) = bounds_for(elementwise(body, result="bf16"))
    value = (a + b).astype(np.float64)
    floor = 2 * BF16 * np.abs(value)
    assert (bound.allowed(value) >= floor).all()
    assert (bound.allowed(value) <= 1.02 * floor + 1.02 * 2 * F32 * (np.abs(a) + np.abs(b)) + 1e-30).all()


def test_a_conversion_in_the_middle_counts_like_any_rounding() -> None:
    body = """%s = arith.truncf %x : f32 to bf16
      %w = arith.extf %s : bf16 to f32
      %r = arith.addf %w, %y : f32"""
    (a, b), (bound,) = bounds_for(elementwise(body))
    expected = 2 * math.expm1(BF16 + F32) * (np.abs(a) + np.abs(b))
    assert np.allclose(bound.allowed(a), expected, rtol=0.02)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%r = math.exp %x : f32", "math.exp"),
        ("%r = arith.divf %x, %y : f32", "a division by a value that is no constant"),
        (
            "%c = arith.cmpf olt, %x, %y : f32\n %z = arith.constant 0.0 : f32\n %r = arith.select %c, %x, %z : f32",
            "arith.cmpf",
        ),
    ],
)
def test_other_functions_get_the_normwise_bound_and_say_why(body: str, reason: str) -> None:
    (a, _), (bound,) = bounds_for(elementwise(body))
    assert (bound.kind, bound.reason) == (BoundKind.NORMWISE, reason)
    allowed = bound.allowed(a)
    assert 0 < allowed.max() < 1e-3
    assert allowed.min() == allowed.max()


def test_an_op_without_a_body_is_not_taken_for_a_movement() -> None:
    kind = "tensor<4x8xf32>"
    text = f"""
      func.func @f(%x: {kind}) -> {kind} {{
        %e = tensor.empty() : {kind}
        %r = linalg.softmax dimension(1) ins(%x : {kind}) outs(%e : {kind}) -> {kind}
        return %r : {kind}
      }}"""
    _, (bound,) = bounds_for(text)
    assert (bound.kind, bound.reason) == (BoundKind.NORMWISE, "linalg.softmax")


def test_sums_that_overflow_have_no_derived_bound() -> None:
    body = """%c = arith.constant 6.0e+4 : f16
      %s = arith.mulf %x, %c : f16
      %t = arith.mulf %s, %c : f16
      %r = arith.maximumf %t, %y : f16"""
    _, (bound,) = bounds_for(elementwise(body, "f16", "f16"))
    assert (bound.kind, bound.reason) == (BoundKind.NORMWISE, "sums that overflow")


def test_integers_are_exact_whatever_they_are_scaled_with() -> None:
    body = """%f = arith.sitofp %x : i32 to f32
      %c = arith.constant 0.1 : f32
      %g = arith.mulf %f, %c : f32
      %r = arith.fptosi %g : f32 to i8"""
    _, (bound,) = bounds_for(elementwise(body, "i32", "i8"))
    assert bound.kind is BoundKind.EXACT


def test_integers_made_of_floats_may_fall_to_the_next() -> None:
    _, (bound,) = bounds_for(elementwise("%r = arith.fptosi %x : f32 to i32", "f32", "i32"))
    assert bound.allowed(np.zeros(8, np.int32)).max() == 1.0


def test_integers_made_of_approximated_floats_may_fall_to_the_next() -> None:
    body = """%f = arith.sitofp %x : i8 to f32
      %g = math.tanh %f : f32
      %c = arith.constant 100.0 : f32
      %h = arith.mulf %g, %c : f32
      %r = arith.fptosi %h : f32 to i8"""
    _, (bound,) = bounds_for(elementwise(body, "i8", "i8"))
    assert bound.allowed(np.zeros(8, np.int8)).max() == 1.0


def test_integers_made_of_narrow_floats_may_fall_further() -> None:
    body = """%h = arith.mulf %x, %y : bf16
      %r = arith.fptosi %h : bf16 to i8"""
    _, (bound,) = bounds_for(elementwise(body, "bf16", "i8"))
    assert 1.5 < bound.allowed(np.full(8, 120, np.int8)).max() < 4.0
    assert bound.allowed(np.full(8, 1, np.int8)).max() < 1.1


def test_a_chain_of_matmuls_adds_up() -> None:
    sum_, result = "tensor<4x6xf32>", "tensor<4x5xf32>"
    text = f"""
      func.func @f(%a: tensor<4x20xf32>, %b: tensor<20x6xf32>, %c: tensor<6x5xf32>) -> {result} {{
        %z = arith.constant 0.0 : f32
        %e = tensor.empty() : {sum_}
        %i = linalg.fill ins(%z : f32) outs(%e : {sum_}) -> {sum_}
        %s = linalg.matmul ins(%a, %b : tensor<4x20xf32>, tensor<20x6xf32>) outs(%i : {sum_}) -> {sum_}
        %g = tensor.empty() : {result}
        %j = linalg.fill ins(%z : f32) outs(%g : {result}) -> {result}
        %r = linalg.matmul ins(%s, %c : {sum_}, tensor<6x5xf32>) outs(%j : {result}) -> {result}
        return %r : {result}
      }}"""
    (a, b, c), (bound,) = bounds_for(text)
    sums = np.abs(a).astype(np.float64) @ np.abs(b) @ np.abs(c)
    assert np.allclose(bound.allowed(np.zeros((4, 5))), 2 * math.expm1((22 + 8) * F32) * sums, rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 200), st.sampled_from(["f32", "f64", "f16", "bf16"]))
def test_no_order_of_summation_leaves_the_bound(seed: int, k: int, element: str) -> None:
    (a, b, c), (bound,) = bounds_for(matmul(3, 4, k, element), seed)
    order = np.random.default_rng(seed).permutation(k)
    total = c.copy()
    for step in order:
        total = (total + (a[:, step, None] * b[None, step, :]).astype(c.dtype)).astype(c.dtype)
    in_order = c.copy()
    for step in range(k):
        in_order = (in_order + (a[:, step, None] * b[None, step, :]).astype(c.dtype)).astype(c.dtype)
    assert compare(total, in_order, bound).ok


@pytest.mark.parametrize("types", [Types("f32", "f32"), Types("bf16", "f32")], ids=str)
@pytest.mark.parametrize("tails", [(), (Tail.BIAS, Tail.SCALE, Tail.TRUNCATE)], ids=len)
def test_one_missing_term_is_seen(types: Types, tails: tuple[Tail, ...]) -> None:
    reference = numpy_reference(MatmulProgram(16, 16, 512, types, tails=tails))
    inputs = [array.copy() for array in reference.inputs]
    inputs[0][:, 77] = 0
    module = npuflow.parse(MatmulProgram(16, 16, 512, types, tails=tails).text(), npuflow.new_context())
    (got,) = compile_function(module.operation, "matmul").run(inputs).results
    comparison = compare(got, reference.expected[0], reference.bounds[0])
    assert comparison.wrong > comparison.size / 2


@pytest.mark.parametrize("types", [Types("f32", "f32"), Types("bf16", "f32")], ids=str)
def test_numpys_bounds_are_the_derived_ones(types: Types) -> None:
    program = MatmulProgram(9, 10, 50, types, tails=(Tail.BIAS, Tail.SCALE, Tail.TRUNCATE), accumulate=True)
    reference = numpy_reference(program)
    module = npuflow.parse(program.text(), npuflow.new_context())
    (derived,) = bounds_of(module.operation, "matmul", reference.inputs)
    (expected,) = reference.expected
    ratio = derived.allowed(expected) / reference.bounds[0].allowed(expected)
    assert 0.99 < ratio.min() <= ratio.max() < 1.05


def test_what_rounds_too_often_has_no_bound() -> None:
    # 2^17 additions in bf16, one after the other: errors could grow by exp(2^17 u) = exp(512).
    total = """
      func.func @f(%x: tensor<131072xbf16>, %s: tensor<bf16>) -> tensor<bf16> {
        %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>],
          iterator_types = ["reduction"]} ins(%x : tensor<131072xbf16>) outs(%s : tensor<bf16>) {
        ^bb0(%in: bf16, %out: bf16):
          %more = arith.addf %out, %in : bf16
          linalg.yield %more : bf16
        } -> tensor<bf16>
        return %r : tensor<bf16>
      }"""
    with pytest.raises(NotExecutableError, match=r"by a factor of exp\(51\d\).*; hint: sum in a wider type"):
        bounds_for(total)
