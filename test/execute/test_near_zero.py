"""exp(x) - 1 and log(1 + x) keep the digits of an x near 0."""

from __future__ import annotations

import numpy as np
import pytest

from npuflow.bindings import ir
from npuflow.dialect.context import new_context
from npuflow.execute.jit import compile_function

PROGRAM = """
func.func @near(%x: tensor<6x{type}>) -> tensor<6x{type}> {{
  %e = tensor.empty() : tensor<6x{type}>
  %r = linalg.generic {{indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>],
      iterator_types = ["parallel"]}}
      ins(%x : tensor<6x{type}>) outs(%e : tensor<6x{type}>) {{
    ^bb0(%a: {type}, %o: {type}):
      %y = math.{op} %a : {type}
      linalg.yield %y : {type}
  }} -> tensor<6x{type}>
  return %r : tensor<6x{type}>
}}
"""
X = np.array([1e-3, -2e-4, 3e-6, -1e-7, 0.5, -0.25])


@pytest.mark.parametrize(("kind", "unit"), [("f16", 1e-3), ("f32", 1e-7), ("f64", 1e-15)])
@pytest.mark.parametrize("op", ["expm1", "log1p"])
def test_what_is_near_zero_keeps_its_digits(op: str, kind: str, unit: float) -> None:
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]
    x = X.astype(dtype)
    with new_context():
        module = ir.Module.parse(PROGRAM.format(op=op, type=kind))
        (result,) = compile_function(module.operation, "near").run([x]).results
    exact = getattr(np, op)(x.astype(np.float64))
    # The last two of f16 are subnormal, where what is lost is a share of the smallest number.
    spare = np.finfo(dtype).smallest_subnormal
    assert (np.abs(result.astype(np.float64) - exact) <= 2 * unit * np.abs(exact) + spare).all(), (result, exact)
