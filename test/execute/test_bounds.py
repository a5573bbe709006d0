"""Running errors: what they are for known programs, that no correct execution leaves them, and that faults do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npuflow
from npuflow.execute.arrays import Array, functions_of, signature_of
from npuflow.execute.bounds import WIDE_ROUNDOFF, BoundKind, Evaluation, evaluate
from npuflow.execute.compare import compare
from npuflow.execute.data import random_arrays
from npuflow.execute.jit import compile_function
from npuflow.testing.numpy_reference import numpy_reference
from npuflow.testing.programs import MatmulProgram, Tail, Types

F32, BF16 = 2.0**-24, 2.0**-8
# How often a rounding counts.
TIMES = 4


def evaluated(text: str, seed: int = 0) -> tuple[list[Array], Evaluation]:
    """The inputs of the first function, and what it computes."""
    module = npuflow.parse(text, npuflow.new_context())
    signature = signature_of(next(functions_of(module.operation)))
    inputs = random_arrays(signature.inputs, seed)
    return inputs, evaluate(module.operation, signature, inputs)


def allowed(text: str, seed: int = 0) -> tuple[list[Array], np.ndarray, np.ndarray]:
    """The inputs, the only result in 64 bits, and what executions in the program's types may differ by."""
    inputs, found = evaluated(text, seed)
    (bound,) = found.narrow
    assert bound.allowed is not None
    return inputs, found.expected[0].astype(np.float64), bound.allowed


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


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("%r = arith.addf %x, %y : f32", lambda x, y: np.abs(x + y)),
        ("%r = arith.subf %x, %y : f32", lambda x, y: np.abs(x - y)),
        ("%r = arith.mulf %x, %y : f32", lambda x, y: np.abs(x * y)),
        ("%r = arith.divf %x, %y : f32", lambda x, y: np.abs(x / y)),
        ("%n = arith.negf %x : f32\n %r = arith.addf %n, %y : f32", lambda x, y: np.abs(y - x)),
        (
            "%s = arith.addf %x, %y : f32\n %r = arith.mulf %s, %s : f32",
            lambda x, y: 3 * (x + y) ** 2,  # the sum's rounding twice, and the product's
        ),
        (
            "%s = arith.addf %x, %y : f32\n %r = arith.subf %s, %y : f32",
            lambda x, y: np.abs(x + y) + np.abs(x),  # what cancels leaves its errors behind
        ),
    ],
)
def test_errors_run_along_with_the_values(body: str, error: object) -> None:
    (a, b), _, found = allowed(elementwise(body))
    assert callable(error)
    expected = TIMES * F32 * error(a.astype(np.float64), b.astype(np.float64))
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-40)


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.maximumf %x, %y : f32",
        "%r = arith.minimumf %x, %y : f32",
        "%c = arith.cmpf olt, %x, %y : f32\n %r = arith.select %c, %x, %y : f32",
        "%r = math.floor %x : f32",
        "%r = arith.negf %x : f32",
    ],
)
def test_what_never_rounds_is_exact(body: str) -> None:
    _, found = evaluated(elementwise(body))
    assert [bound.kind for bound in (*found.narrow, *found.wide)] == [BoundKind.EXACT] * 2


@pytest.mark.parametrize(("name", "function"), [("exp", np.exp), ("tanh", np.tanh), ("sqrt", np.sqrt), ("log", np.log)])
def test_functions_move_errors_as_they_bend(name: str, function: object) -> None:
    body = f"%p = math.absf %x : bf16\n %s = arith.addf %p, %p : bf16\n %r = math.{name} %s : bf16"
    (a, _), value, found = allowed(elementwise(body, "bf16", "bf16"))
    assert callable(function)
    given = 2 * np.abs(a.astype(np.float64))
    error = TIMES * BF16 * given
    moved = np.maximum(*(np.abs(function(given + way * error) - function(given)) for way in (-1, 1)))
    assert np.allclose(value, function(given))
    assert (found >= moved).all()
    own = (TIMES * BF16 + 1e-4) * (np.abs(value) + moved)
    assert (found <= 1.01 * moved + own).all()


def test_conversions_round_once_to_the_narrower_type() -> None:
    body = "%s = arith.addf %x, %y : f32\n %r = arith.truncf %s : f32 to bf16"
    _, value, found = allowed(elementwise(body, result="bf16"))
    assert np.allclose(found, TIMES * (F32 + BF16) * np.abs(value), rtol=1e-3)


def test_a_comparison_of_what_rounds_allows_both_outcomes_only_where_it_is_close() -> None:
    body = """%t = arith.truncf %x : f32 to bf16
      %w = arith.extf %t : bf16 to f32
      %c = arith.cmpf olt, %w, %y : f32
      %one = arith.constant 1.0 : f32
      %hundred = arith.constant 100.0 : f32
      %r = arith.select %c, %one, %hundred : f32"""
    (a, b), _, found = allowed(elementwise(body))
    close = np.abs(a.astype(np.float64) - b) <= TIMES * BF16 * np.abs(a)
    assert (found == np.where(close, 99.0, 0.0)).all()


def test_no_rounding_turns_what_is_a_number_into_none() -> None:
    body = """%s = arith.addf %x, %y : f32
      %c = arith.cmpf uno, %s, %s : f32
      %one = arith.constant 1.0 : f32
      %hundred = arith.constant 100.0 : f32
      %r = arith.select %c, %one, %hundred : f32"""
    _, value, found = allowed(elementwise(body))
    assert (value == 100.0).all()
    assert (found == 0.0).all()


def test_integers_made_of_exact_floats_are_exact() -> None:
    _, found = evaluated(elementwise("%r = arith.fptosi %x : f32 to i32", "f32", "i32"))
    assert found.narrow[0].kind is BoundKind.EXACT


def test_integers_made_of_what_rounds_may_fall_to_the_next_where_that_is_near() -> None:
    body = """%f = arith.sitofp %x : i8 to f32
      %c = arith.constant 0.5 : f32
      %h = arith.mulf %f, %c : f32
      %r = arith.fptosi %h : f32 to i8"""
    (a, _), _, found = allowed(elementwise(body, "i8", "i8"))
    assert (found == np.where(a % 2 == 0, np.abs(a) > 0, 0)).all()  # whole numbers lie on the edge, halves do not


def test_integers_made_of_what_may_be_anything_are_not_checked() -> None:
    """The exponential's error is larger than what it is added to, so that the divisor may be 0."""
    sigmoid = """%p = arith.mulf %x, %y : bf16
          %q = arith.mulf %p, %p : bf16
          %many = arith.constant 3.0e+01 : bf16
          %t = arith.mulf %q, %many : bf16
          %u = math.exp %t : bf16
          %one = arith.constant 1.0 : bf16
          %v = arith.addf %u, %one : bf16
          %i = arith.divf %one, %v : bf16
          %w = arith.mulf %i, %many : bf16
          %l = arith.minimumf %w, %many : bf16
          %r = arith.fptosi %l : bf16 to i8"""
    (x, y), _, bound = allowed(elementwise(sigmoid, "bf16", "i8"))
    exponent = 30 * (x.astype(np.float64) * y.astype(np.float64)) ** 2
    # Three products and the exponential, each off by 4 u at most, are off by more than doubles what exp gives.
    unknown = exponent * 12 * BF16 > 1
    assert unknown.any()
    assert not (bound[unknown] <= 30).any()


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_what_may_overflow_is_not_checked(element: str) -> None:
    large = "6.0e+4" if element == "f16" else "3.0e+38"
    body = f"""%c = arith.constant {large} : {element}
      %s = arith.mulf %x, %c : {element}
      %t = arith.addf %s, %s : {element}
      %r = arith.divf %y, %t : {element}"""
    (a, _), value, found = allowed(elementwise(body, element, element))
    overflows = np.abs(2 * a.astype(np.float64) * float(large)) > np.finfo(a.dtype).max
    assert np.isinf(found[overflows]).all()
    assert (found[~overflows] < 0.1 * np.abs(value[~overflows])).all()
    _, evaluation = evaluated(elementwise(body, element, element))
    assert (evaluation.narrow[0].checkable(evaluation.expected[0]) == ~overflows).all()
    assert evaluation.wide[0].checkable(evaluation.expected[0]).all()  # 64 bits have room for it


def test_a_mask_of_infinity_leaves_nothing_to_round() -> None:
    chosen = "%far = arith.constant 0xFF800000 : f32\n %none = arith.constant 0.0 : f32"
    chosen += "\n %p = arith.cmpf olt, %x, %y : f32\n %m = arith.select %p, %far, %none : f32"
    (a, b), expected, found = allowed(
        elementwise(f"{chosen}\n %s = arith.addf %x, %y : f32\n %r = arith.addf %s, %m : f32")
    )
    assert (a < b).any()
    assert (np.isneginf(expected) == (a < b)).all()
    assert (found[a < b] == 0).all()
    assert ((found > 0) & np.isfinite(found))[a >= b].all()


def test_elements_with_errors_are_sorted_where_they_are_apart() -> None:
    body = """
      func.func @f(%a: tensor<1x9xf32>, %b: tensor<1x9xf32>) -> tensor<1x9xf32> {
        %e = tensor.empty() : tensor<1x9xf32>
        %s = linalg.add ins(%a, %b : tensor<1x9xf32>, tensor<1x9xf32>) outs(%e : tensor<1x9xf32>) -> tensor<1x9xf32>
        %r = tm_tensor.sort dimension(1) outs(%s : tensor<1x9xf32>) {
        ^bb0(%x: f32, %y: f32):
          %p = arith.cmpf oge, %x, %y : f32
          tm_tensor.yield %p : i1
        } -> tensor<1x9xf32>
        return %r : tensor<1x9xf32>
      }"""
    _, expected, found = allowed(body)
    assert (np.diff(expected[0]) < 0).all()
    assert ((found > 0) & (found < 1e-5 * np.abs(expected).max())).all()


def test_wide_bounds_are_those_of_a_type_of_forty_bits() -> None:
    (a, b), found = evaluated(elementwise("%r = arith.mulf %x, %y : bf16", "bf16", "bf16"))
    (bound,) = found.wide
    assert bound.allowed is not None
    assert np.allclose(bound.allowed, WIDE_ROUNDOFF * np.abs(a.astype(np.float64) * b.astype(np.float64)))


def test_what_compilers_compute_in_advance_rounds_in_its_own_type_in_wide_runs_too() -> None:
    body = """%c = arith.constant 0.1 : bf16
      %d = math.exp %c : bf16
      %r = arith.mulf %x, %d : bf16"""
    (a, _), found = evaluated(elementwise(body, "bf16", "bf16"))
    (bound,) = found.wide
    assert bound.allowed is not None
    assert np.allclose(bound.allowed, TIMES * BF16 * np.exp(0.1) * np.abs(a.astype(np.float64)), rtol=0.01)


def test_a_loop_has_a_bound_that_was_observed() -> None:
    text = """
      func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %three = arith.constant 3 : index
        %r = scf.for %i = %zero to %three step %one iter_args(%s = %x) -> tensor<8xf32> {
          %t = arith.mulf %s, %y : tensor<8xf32>
          scf.yield %t : tensor<8xf32>
        }
        return %r : tensor<8xf32>
      }"""
    _, found = evaluated(text)
    (bound,) = found.narrow
    assert (bound.kind, bound.reason) == (BoundKind.OBSERVED, "scf.for")
    assert bound.allowed is not None
    assert 0 < bound.allowed < 1e-5


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 200), st.sampled_from(["f32", "f64", "f16", "bf16"]))
def test_no_order_of_summation_leaves_the_bound(seed: int, k: int, element: str) -> None:
    (a, b, c), found = evaluated(matmul(3, 4, k, element), seed)
    for order in (range(k), np.random.default_rng(seed).permutation(k)):
        total = c.copy()
        for step in order:
            total = (total + (a[:, step, None] * b[None, step, :]).astype(c.dtype)).astype(c.dtype)
        assert compare(total, found.expected[0], found.narrow[0]).ok


@pytest.mark.parametrize("count", [2**12, 2**18])
def test_sums_that_stall_are_not_called_wrong(count: int) -> None:
    # bf16 has 8 bits: from 256 on, terms of less than 1 are lost, one after the other.
    text = f"""
      func.func @f(%x: tensor<{count}xbf16>, %s: tensor<bf16>) -> tensor<bf16> {{
        %r = linalg.generic {{indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>],
          iterator_types = ["reduction"]}} ins(%x : tensor<{count}xbf16>) outs(%s : tensor<bf16>) {{
        ^bb0(%in: bf16, %out: bf16):
          %size = math.absf %in : bf16
          %more = arith.addf %out, %size : bf16
          linalg.yield %more : bf16
        }} -> tensor<bf16>
        return %r : tensor<bf16>
      }}"""
    module = npuflow.parse(text, npuflow.new_context())
    inputs, found = evaluated(text)
    (got,) = compile_function(module.operation, "f").run(inputs).results
    assert abs(float(got) - float(found.expected[0])) > 0.5 * float(found.expected[0])
    assert compare(got, found.expected[0], found.narrow[0]).is_blind


@pytest.mark.parametrize("types", [Types("f32", "f32"), Types("bf16", "f32")], ids=str)
@pytest.mark.parametrize("tails", [(), (Tail.BIAS, Tail.SCALE, Tail.TRUNCATE)], ids=len)
def test_one_missing_term_is_seen_in_every_element(types: Types, tails: tuple[Tail, ...]) -> None:
    reference = numpy_reference(MatmulProgram(16, 16, 512, types, tails=tails))
    inputs = [array.astype(np.float64) for array in reference.inputs]
    inputs[0][:, 77] = 0
    product = inputs[0] @ inputs[1]
    whole = reference.inputs[0].astype(np.float64) @ reference.inputs[1].astype(np.float64)
    comparison = compare(reference.expected[0] + product - whole, reference.expected[0], reference.wide_bounds[0])
    assert comparison.wrong == comparison.size


@pytest.mark.parametrize("types", [Types("f32", "f32"), Types("bf16", "f32")], ids=str)
def test_numpy_and_running_errors_agree(types: Types) -> None:
    program = MatmulProgram(9, 10, 50, types, tails=(Tail.BIAS, Tail.SCALE, Tail.TRUNCATE), accumulate=True)
    reference = numpy_reference(program)
    module = npuflow.parse(program.text(), npuflow.new_context())
    found = evaluate(module.operation, program.signature, reference.inputs)
    assert compare(found.expected[0], reference.expected[0], reference.wide_bounds[0]).ok
    assert compare(reference.expected[0], found.expected[0], found.wide[0]).ok


def test_errors_of_a_chain_stay_near_what_is_really_lost() -> None:
    lines = "".join(
        f"""%e{layer} = linalg.fill ins(%z : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
        %v{layer + 1} = linalg.matmul ins(%v{layer}, %w : tensor<32x32xf32>, tensor<32x32xf32>)
          outs(%e{layer} : tensor<32x32xf32>) -> tensor<32x32xf32>
        """
        for layer in range(8)
    )
    text = f"""
      func.func @f(%v0: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {{
        %z = arith.constant 0.0 : f32
        %empty = tensor.empty() : tensor<32x32xf32>
        {lines}
        return %v8 : tensor<32x32xf32>
      }}"""
    module = npuflow.parse(text, npuflow.new_context())
    inputs, found = evaluated(text)
    (got,) = compile_function(module.operation, "f").run(inputs).results
    comparison = compare(got, found.expected[0], found.narrow[0])
    assert comparison.ok
    assert comparison.unchecked == 0
    assert 0.01 < comparison.share < 0.5
