"""Integer divisions by what lies beyond an edge, and by what was drawn, neither trap nor change a result."""

from __future__ import annotations

import numpy as np
import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.execute.arrays import ArraySpec
from npuflow.execute.data import arrays_for
from npuflow.execute.jit import compile_function

OPS = ("arith.divsi", "arith.remsi", "arith.floordivsi", "arith.divui", "arith.remui")
# 13 rows are cut into blocks of more, so cores divide the zeros beyond the edge as well.
PROGRAM = """
func.func @divide(%x: tensor<13x7xi32>, %y: tensor<13x7xi32>) -> tensor<13x7xi32> {{
  %e = tensor.empty() : tensor<13x7xi32>
  %r = linalg.generic {{indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>,
      affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %y : tensor<13x7xi32>, tensor<13x7xi32>) outs(%e : tensor<13x7xi32>) {{
    ^bb0(%a: i32, %b: i32, %o: i32):
      %q = {op} %a, %b : i32
      linalg.yield %q : i32
  }} -> tensor<13x7xi32>
  return %r : tensor<13x7xi32>
}}
"""


@pytest.mark.parametrize("op", OPS)
def test_blocks_that_overhang_divide(op: str) -> None:
    report = npuflow.compile(PROGRAM.format(op=op), device="npu1").run(verify=True)
    assert [str(function.verified.status.value) for function in report.functions] == ["ok"]


def test_what_is_undefined_gives_a_number() -> None:
    with npuflow.new_context():
        module = ir.Module.parse(PROGRAM.format(op="arith.divsi"))
        x = np.full((13, 7), np.iinfo(np.int32).min, np.int32)
        y = np.where(np.arange(91).reshape(13, 7) % 2, np.int32(-1), np.int32(0))
        (result,) = compile_function(module.operation, "divide").run([x, y]).results
    assert result.shape == (13, 7)


def test_drawn_integers_can_be_divided_by() -> None:
    with npuflow.new_context():
        module = ir.Module.parse(PROGRAM.format(op="arith.divsi"))
        function = module.body.operations[0].operation
        (array,) = arrays_for(function, [ArraySpec("i8", (4096,))], 0)
    assert array.min() == -127
    assert np.count_nonzero(array) == 4096
