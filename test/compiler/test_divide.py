"""What grew together, and then has no room in a core, runs op by op; what was asked for is refused as it is."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.compiler.cut import PreparedFunction
from npuflow.compiler.divide import divided
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.ops.contraction import is_parallel
from npuflow.strategy import bundle_times, describe_bundle
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.target import load_device

_SQUARE, _ROWS = "tensor<16x32xf32>", "tensor<16xf32>"
_SAME, _ROW = "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d0)>"


def _tangents(count: int, first: str) -> str:
    return "\n".join(f"%t{i + 1} = math.tanh %{'t' + str(i) if i else first} : f32" for i in range(count))


def program(count: int, marks: str = "") -> str:
    """So many hyperbolic tangents, the sums of rows of these, and as many again of their product."""
    return f"""
func.func @main(%x: {_SQUARE}) -> {_SQUARE} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {_SQUARE}
  %r = tensor.empty() : {_ROWS}
  %f = linalg.fill ins(%zero : f32) outs(%r : {_ROWS}) -> {_ROWS}
  %a = linalg.generic {{indexing_maps = [{_SAME}, {_SAME}], iterator_types = ["parallel", "parallel"]}}
      ins(%x : {_SQUARE}) outs(%e : {_SQUARE}) {marks} {{
  ^bb0(%in: f32, %out: f32):
    {_tangents(count, "in")}
    linalg.yield %t{count} : f32
  }} -> {_SQUARE}
  %s = linalg.generic {{indexing_maps = [{_SAME}, {_ROW}], iterator_types = ["parallel", "reduction"]}}
      ins(%a : {_SQUARE}) outs(%f : {_ROWS}) {marks} {{
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %out : f32
    linalg.yield %sum : f32
  }} -> {_ROWS}
  %b = linalg.generic {{indexing_maps = [{_SAME}, {_ROW}, {_SAME}], iterator_types = ["parallel", "parallel"]}}
      ins(%a, %s : {_SQUARE}, {_ROWS}) outs(%e : {_SQUARE}) {marks} {{
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %product = arith.mulf %in, %sum : f32
    {_tangents(count, "product")}
    linalg.yield %t{count} : f32
  }} -> {_SQUARE}
  return %b : {_SQUARE}
}}"""


@pytest.fixture
def too_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate by which kernels always have room."""
    monkeypatch.setattr(describe_bundle, "kernels_fit", lambda *_: True)
    monkeypatch.setattr(bundle_times, "program_fits", lambda *_: True)


@pytest.mark.usefixtures("too_kind")
def test_what_has_no_room_as_one_runs_op_by_op() -> None:
    report = npuflow.compile(program(34), device="npu2", jobs=1).run(verify=True)
    (sequence,) = report.sequences
    assert sequence.verified.status.value == "ok"
    assert len(report.functions) == 3


@pytest.mark.usefixtures("too_kind")
@pytest.mark.parametrize(("split", "marks"), [(False, ""), (None, "attrs = {npu.bundle = 0 : i64}")])
def test_what_was_asked_for_is_refused(split: bool | None, marks: str) -> None:
    with pytest.raises(npuflow.InputError, match=r"the program of 'core' needs about \d+ bytes, a core has 16384"):
        npuflow.compile(program(34, marks), device="npu2", split=split, jobs=1)


@pytest.mark.parametrize(("count", "found"), [(2, [1, 1]), (9, [4, 4, 1])])
def test_an_op_alone_is_halved(count: int, found: list[int]) -> None:
    """Twice: first it was one with the others."""
    growth = GrowthOn(load_device("npu2"))
    ready = PreparedFunction(npuflow.parse(program(count), new_context()), ())
    apart = divided(ready, [0], growth)
    assert apart is not None
    again = divided(apart, [0], growth)
    assert again is not None
    again.module.operation.verify()
    ops = [op for op in ops_of(again.function, "linalg.generic") if is_parallel(op)]
    assert [len(op.regions[0].blocks[0].operations) - 1 for op in ops] == [*found, count + 1]
    assert [len(op.regions[0].blocks[0].operations) - 1 for op in ops_of(ready.function, "linalg.generic")] == [
        *(count, 1, count + 1)
    ]


def test_what_is_one_operation_stays() -> None:
    growth = GrowthOn(load_device("npu2"))
    ready = divided(PreparedFunction(npuflow.parse(program(1), new_context()), ()), [0], growth)
    assert ready is not None
    assert divided(ready, [0, 1], growth) is None
