"""What npuflow relies on of IREE: compiling text for the CPU in this process's environment, and running it."""

from __future__ import annotations

import iree.compiler
import iree.runtime
import numpy as np

SOURCE = """
func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) -> tensor<2x2xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<2x2xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<2x2xi32>) -> tensor<2x2xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<2x3xi32>, tensor<3x2xi32>) outs(%fill : tensor<2x2xi32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
"""


def test_iree_compiles_and_runs_a_matmul() -> None:
    binary = iree.compiler.compile_str(
        SOURCE, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"]
    )
    module = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(6, dtype=np.int32).reshape(3, 2)
    assert np.array_equal(module.f(a, b).to_host(), a @ b)
