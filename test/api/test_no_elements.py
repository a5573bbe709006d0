"""Functions of which some results, or arguments, have no elements: nothing is done for these."""

from __future__ import annotations

import numpy as np

import npuflow
from npuflow.dialect.context import new_context

SOME = """
func.func @main(%x: tensor<4x5xf32>, %none: tensor<0x5xf32>) -> (tensor<0x5xf32>, tensor<4x5xf32>) {
  %cut = tensor.extract_slice %x[0, 0] [0, 5] [1, 1] : tensor<4x5xf32> to tensor<0x5xf32>
  %few = tensor.empty() : tensor<0x5xf32>
  %sum = linalg.add ins(%cut, %none : tensor<0x5xf32>, tensor<0x5xf32>) outs(%few : tensor<0x5xf32>) -> tensor<0x5xf32>
  %e = tensor.empty() : tensor<4x5xf32>
  %size = linalg.abs ins(%x : tensor<4x5xf32>) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %sum, %size : tensor<0x5xf32>, tensor<4x5xf32>
}"""
NONE = """
func.func @main(%none: tensor<0x5xi8>) -> (tensor<0x5xi8>, tensor<5x0xi8>) {
  %e = tensor.empty() : tensor<5x0xi8>
  return %none, %e : tensor<0x5xi8>, tensor<5x0xi8>
}"""


def test_some_results_are_empty() -> None:
    compiled = npuflow.compile(npuflow.parse(SOME, new_context()), device="npu2")
    (report,) = compiled.run(verify=True).functions
    assert report.verified.status.value == "ok"
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)
    empty, size = compiled.functions[0].execute(x, np.zeros((0, 5), np.float32))
    assert np.asarray(empty).shape == (0, 5)
    np.testing.assert_array_equal(size, np.abs(x))


def test_all_results_are_empty() -> None:
    compiled = npuflow.compile(npuflow.parse(NONE, new_context()), device="npu1")
    (report,) = compiled.run(verify=True).functions
    assert report.verified.status.value == "ok"
    found = compiled.functions[0].execute(np.zeros((0, 5), np.int8))
    assert [np.asarray(one).shape for one in found] == [(0, 5), (5, 0)]
