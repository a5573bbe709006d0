"""Scans, sorts and scatters compute what numpy says: both judges get them spelled out by our own rewrite."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import Array
from npuflow.execute.jit import compile_function
from npuflow.ops.linear import loop_extents
from npuflow.testing.operator_slices import Scanned, Sorted
from npuflow.testing.operator_text import FUNCTION

GENERATOR = np.random.default_rng(3)


def result_of(text: str, *inputs: Array, function: str = FUNCTION) -> Array:
    module = npuflow.parse(text, npuflow.new_context())
    (result,) = compile_function(module.operation, function).run(inputs).results
    return result


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("product", [False, True])
def test_scans(product: bool, dimension: int, exclusive: bool) -> None:
    given = GENERATOR.integers(-3, 4, (4, 5, 3)).astype(np.int32)
    found = result_of(Scanned(given.shape, dimension, "i32", exclusive, product).text(), given)
    expected = np.cumprod(given, dimension) if product else np.cumsum(given, dimension)
    if exclusive:
        expected = np.roll(expected, 1, dimension)
        expected[tuple(0 if d == dimension else slice(None) for d in range(3))] = int(product)
    assert (found == expected).all()


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("shape", "dimension"), [((2048,), 0), ((3, 1031), 1), ((2 * 64 * 1031, 1), 0)])
def test_scans_of_much_are_done_in_blocks(shape: tuple[int, ...], dimension: int, exclusive: bool) -> None:
    # 1031 is a prime, so that blocks overhang, and there are more blocks than are scanned as one.
    given = GENERATOR.integers(-3, 4, shape).astype(np.int32)
    found = result_of(Scanned(given.shape, dimension, "i32", exclusive, False).text(), given)
    expected = np.cumsum(given, dimension) - (given if exclusive else 0)
    assert (found == expected).all()


@pytest.mark.parametrize("size", [64, 200, 1031, 4000, 1 << 15])
def test_an_element_of_a_scan_costs_few_steps(size: int) -> None:
    """A block's length, 8 here, one for its total and one to add what is before, and at most 8 to scan the totals."""
    module = npuflow.parse(Scanned((32, size), 1, "f32").text(), npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-import-program")
    steps = sum(prod(loop_extents(op)) for op in ops_of(module.operation, "linalg.generic"))
    assert steps < 32 * size * 20


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dimension", [0, 1])
def test_sorts(dimension: int, descending: bool) -> None:
    given = GENERATOR.integers(-5, 5, (9, 11)).astype(np.int32)
    found = result_of(Sorted(given.shape, dimension, "i32", descending).text(), given)
    expected = np.sort(given, dimension)
    assert (found == (np.flip(expected, dimension) if descending else expected)).all()


def test_equal_elements_keep_their_order() -> None:
    text = """
func.func @f(%x: tensor<12xi32>, %i: tensor<12xi32>) -> tensor<12xi32> {
  %r:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<12xi32>, tensor<12xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %p = arith.cmpi slt, %a, %b : i32
    tm_tensor.yield %p : i1
  } -> tensor<12xi32>, tensor<12xi32>
  return %r#1 : tensor<12xi32>
}"""
    given = GENERATOR.integers(0, 3, 12).astype(np.int32)
    found = result_of(text, given, np.arange(12, dtype=np.int32), function="f")
    assert (found == np.argsort(given, kind="stable")).all()


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dimension", [0, 1])
def test_the_first_of_a_sort_and_where_they_were(dimension: int, largest: bool) -> None:
    sizes = [4 if d == dimension else size for d, size in enumerate((7, 9))]
    kind, order, last = (
        "x".join(map(str, sizes)),
        "ogt" if largest else "olt",
        "0xFF800000" if largest else "0x7F800000",
    )
    text = f"""
func.func @f(%x: tensor<7x9xf32>) -> (tensor<{kind}xf32>, tensor<{kind}xi32>) {{
  %inf = arith.constant {last} : f32
  %none = arith.constant -1 : i32
  %ev = tensor.empty() : tensor<{kind}xf32>
  %ei = tensor.empty() : tensor<{kind}xi32>
  %v = linalg.fill ins(%inf : f32) outs(%ev : tensor<{kind}xf32>) -> tensor<{kind}xf32>
  %i = linalg.fill ins(%none : i32) outs(%ei : tensor<{kind}xi32>) -> tensor<{kind}xi32>
  %r:2 = tm_tensor.topk dimension({dimension}) ins(%x : tensor<7x9xf32>)
      outs(%v, %i : tensor<{kind}xf32>, tensor<{kind}xi32>) {{
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf {order}, %a, %b : f32
    tm_tensor.yield %p : i1
  }} -> tensor<{kind}xf32>, tensor<{kind}xi32>
  return %r#0, %r#1 : tensor<{kind}xf32>, tensor<{kind}xi32>
}}"""
    given = GENERATOR.standard_normal((7, 9)).astype(np.float32)
    module = npuflow.parse(text, npuflow.new_context())
    firsts, places = compile_function(module.operation, "f").run([given]).results
    expected = np.take(np.argsort(-given if largest else given, dimension), range(4), dimension)
    assert (places == expected).all()
    assert (firsts == np.take_along_axis(given, expected, dimension)).all()


@pytest.mark.parametrize("adds", [False, True])
def test_scatters(adds: bool) -> None:
    yielded = "%s" if adds else "%a"
    text = f"""
func.func @f(%u: tensor<6x1x5xi32>, %i: tensor<6x1xi64>, %x: tensor<4x5xi32>) -> tensor<4x5xi32> {{
  %r = tm_tensor.scatter {{dimension_map = array<i64: 0>}} unique_indices(false)
    ins(%u, %i : tensor<6x1x5xi32>, tensor<6x1xi64>) outs(%x : tensor<4x5xi32>) {{
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %b, %a : i32
    tm_tensor.yield {yielded} : i32
  }} -> tensor<4x5xi32>
  return %r : tensor<4x5xi32>
}}"""
    updates, whole = (GENERATOR.integers(-9, 9, shape).astype(np.int32) for shape in ((6, 1, 5), (4, 5)))
    places = np.array([[3], [0], [3], [2], [0], [3]])
    expected = whole.copy()
    for update, (place,) in zip(updates, places):
        expected[place] = update[0] + (expected[place] if adds else 0)
    assert (result_of(text, updates, places, whole, function="f") == expected).all()
