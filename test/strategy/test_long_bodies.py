"""Bodies whose code is larger than a core's memory of programs are divided, and what is left of them fits."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import PassContext, ops_of
from npuflow.dialect.context import new_context
from npuflow.kernels.code_bytes import kernel_bytes
from npuflow.ops.contraction import is_elementwise
from npuflow.strategy.split_wide_ops import SplitWideOps
from npuflow.target import KernelClass, load_device

_SAME = "affine_map<(d0, d1) -> (d0, d1)>"
_SQUARE = "tensor<8x8xf32>"


def chain(count: int, sum_of: str = "") -> str:
    """So many additions and hyperbolic tangents, each of the one before and the second argument."""
    steps = [f"%s{i + 1} = arith.addf %t{i}, %b : f32\n%t{i + 1} = math.tanh %s{i + 1} : f32" for i in range(count)]
    body = "\n".join(steps)
    return f"""
func.func @main(%x: {_SQUARE}, %y: {_SQUARE}) -> {_SQUARE} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {_SQUARE}
  {sum_of}
  %r = linalg.generic {{indexing_maps = [{_SAME}, {_SAME}, {_SAME}], iterator_types = ["parallel", "parallel"]}}
      ins(%{"p" if sum_of else "x"}, %y : {_SQUARE}, {_SQUARE}) outs(%e : {_SQUARE}) {{
  ^bb0(%t0: f32, %b: f32, %out: f32):
    {body}
    linalg.yield %t{count} : f32
  }} -> {_SQUARE}
  return %r : {_SQUARE}
}}"""


MATMUL = f"""
  %f = linalg.fill ins(%zero : f32) outs(%e : {_SQUARE}) -> {_SQUARE}
  %p = linalg.matmul ins(%x, %y : {_SQUARE}, {_SQUARE}) outs(%f : {_SQUARE}) -> {_SQUARE}"""


@pytest.mark.parametrize(("count", "parts"), [(8, 1), (50, 1), (58, 2), (98, 3), (1500, 31)])
def test_each_part_has_room(count: int, parts: int) -> None:
    """17 instructions of 16 bytes each time; of 13312 bytes beside what every program has, 48 go in each part."""
    device = load_device("npu2")
    module = npuflow.parse(chain(count), new_context())
    with module.context:
        SplitWideOps("npu2").run(module.operation, PassContext("npuflow-split-wide-ops", DiagnosticSink()))
    ops = [op for op in ops_of(module.operation, "linalg.generic") if is_elementwise(op)]
    assert len(ops) == parts
    have = device.engine(KernelClass.VECTOR).program_bytes
    assert all(kernel_bytes(op, device) < have for op in ops)


@pytest.mark.parametrize("sum_of", ["", MATMUL])
def test_a_long_body_is_compiled(sum_of: str) -> None:
    report = npuflow.compile(npuflow.parse(chain(60, sum_of), new_context()), device="npu2").run(verify=True)
    (sequence,) = report.sequences
    assert sequence.verified.status.value == "ok"
