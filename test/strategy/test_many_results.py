"""Ops of more results than a core has locks for become several, and results that need each other stay together."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import PassContext, ops_of
from npuflow.dialect.context import new_context
from npuflow.strategy.split_wide_ops import SplitWideOps

_SAME = "affine_map<(d0, d1) -> (d0, d1)>"
_ROW = "affine_map<(d0, d1) -> (d0)>"
_INPUT, _OUTPUT = "tensor<12x20xf32>", "tensor<12xf32>"


def sums(count: int, needs: dict[int, int]) -> str:
    """So many sums over rows of two inputs; those that need another one add what that was so far."""
    steps = []
    for number in range(count):
        other = f"%o{needs[number]}" if number in needs else f"%{'xy'[number % 2]}"
        steps.append(f"%p{number} = arith.mulf %x, {other} : f32\n%s{number} = arith.addf %o{number}, %p{number} : f32")
    body, outputs = "\n".join(steps), ", ".join(f"%o{number}: f32" for number in range(count))
    kinds, types = ", ".join(["f32"] * count), ", ".join([_OUTPUT] * count)
    maps = ", ".join([_SAME, _SAME, *[_ROW] * count])
    return f"""
func.func @main(%a: {_INPUT}, %b: {_INPUT}) -> ({types}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {_OUTPUT}
  %f = linalg.fill ins(%zero : f32) outs(%e : {_OUTPUT}) -> {_OUTPUT}
  %r:{count} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "reduction"]}}
      ins(%a, %b : {_INPUT}, {_INPUT}) outs({", ".join(["%f"] * count)} : {types}) {{
  ^bb0(%x: f32, %y: f32, {outputs}):
    {body}
    linalg.yield {", ".join(f"%s{number}" for number in range(count))} : {kinds}
  }} -> ({types})
  return {", ".join(f"%r#{number}" for number in range(count))} : {types}
}}"""


@pytest.mark.parametrize(
    ("device", "count", "needs", "found"),
    [
        ("npu2", 6, {}, [6]),
        ("npu2", 9, {}, [6, 3]),
        ("npu2", 9, {8: 0}, [6, 3]),
        ("npu2", 9, {4: 7, 7: 5}, [4, 5]),
        ("npu2", 14, {number: number - 1 for number in range(1, 5)}, [6, 6, 2]),
        ("npu2.7", 9, {}, [9]),
    ],
)
def test_each_op_has_locks(device: str, count: int, needs: dict[int, int], found: list[int]) -> None:
    """16 locks are those of 6 results and two channels that bring something."""
    module = npuflow.parse(sums(count, needs), new_context())
    with module.context:
        SplitWideOps(device).run(module.operation, PassContext("npuflow-split-wide-ops", DiagnosticSink()))
    module.operation.verify()
    assert [len(op.results) for op in ops_of(module.operation, "linalg.generic")] == found


def test_many_results_are_compiled() -> None:
    report = npuflow.compile(npuflow.parse(sums(9, {4: 7, 8: 0}), new_context()), device="npu2").run(verify=True)
    assert [one.verified.status.value for one in report.sequences] == ["ok"]
