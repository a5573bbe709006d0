"""Integers that are cut off are the same whichever type they are summed in."""

from __future__ import annotations

import numpy as np

import npuflow

PROGRAM = """
func.func @product(%a: tensor<16x40xi8>, %b: tensor<40x24xi8>) -> tensor<16x24xi8> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x24xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x24xi32>) -> tensor<16x24xi32>
  %r = linalg.matmul ins(%a, %b : tensor<16x40xi8>, tensor<40x24xi8>)
    outs(%fill : tensor<16x24xi32>) -> tensor<16x24xi32>
  %t = arith.trunci %r : tensor<16x24xi32> to tensor<16x24xi8>
  return %t : tensor<16x24xi8>
}
"""


def test_narrowed_integers_are_the_same_bits() -> None:
    module = npuflow.parse(PROGRAM, npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-normalize-linalg,npuflow-narrow-sums")
    assert "i32" not in str(module)
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-128, 128, shape, np.int8) for shape in ((16, 40), (40, 24)))
    wide, narrow = (npuflow.compile(one, device="npu2")["product"] for one in (PROGRAM, module))
    (expected,), (got,) = wide.execute(a, b), narrow.execute(a, b)
    assert np.array_equal(got, expected)
    assert np.array_equal(got, (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int8))
