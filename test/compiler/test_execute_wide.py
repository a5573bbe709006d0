"""Schedules with floats in 64 bits: the same results but for rounding, in memories with room for them."""

from __future__ import annotations

import numpy as np

import npuflow
from npuflow.compiler.execute_wide import execute_wide, wide_schedule

TEXT = """func.func @matmul(%a: tensor<16x24xf32>, %b: tensor<24x8xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
  %sum = linalg.matmul
    ins(%a, %b : tensor<16x24xf32>, tensor<24x8xf32>) outs(%fill : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %sum : tensor<16x8xf32>
}
"""


def test_sums_keep_the_bits_that_f32_has_not() -> None:
    compiled = npuflow.compile(TEXT, device="toy")["matmul"].compiled
    random = np.random.default_rng(1)
    # Integers below 2^24: 24 products of them are a sum below 2^53, which 64-bit floats hold exactly.
    a, b = (random.integers(0, 1 << 24, shape).astype(np.float64) for shape in ((16, 24), (24, 8)))
    (wide,) = execute_wide(compiled, (a, b))
    exact = a.astype(np.int64) @ b.astype(np.int64)
    assert exact.max() < 1 << 53
    assert np.array_equal(wide, exact.astype(np.float64))
    assert not np.array_equal(wide.astype(np.float32), wide)


def test_buffers_lie_further_apart() -> None:
    narrow = npuflow.compile(TEXT, device="toy")["matmul"].compiled.schedule
    wide = wide_schedule(narrow)
    assert {buffer.element_type for buffer in wide.buffers.values()} == {"f64"}
    for name, buffer in narrow.buffers.items():
        assert wide.buffers[name].address.base == 8 * buffer.address.base
