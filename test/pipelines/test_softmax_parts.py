"""Attention of few rows in parts of its keys, which cores share: what is merged is what one softmax makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from judges import JUDGE
from profiles import drawn

import npuflow
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.execute.verification import Status
from npuflow.fusion import copy_chain, fuse_matmuls

sys.path.insert(0, str(Path(__file__).parent))
from small_devices import with_programs_of

PARALLEL = '"parallel", "parallel", "parallel"'


def attention(heads: int, rows: int, keys: int, size: int, seen: int | None = None) -> str:
    """Attention of bf16, whose last keys from `seen` on are masked."""
    q, k, s = f"{heads}x{rows}x{size}", f"{heads}x{keys}x{size}", f"{heads}x{rows}x{keys}"
    bits = ", ".join(["0.0"] * (seen or keys) + ["0xFF800000"] * (keys - (seen or keys)))
    masked = f"""
  %mask = arith.constant dense<[{bits}]> : tensor<{keys}xf32>
  %seen = linalg.generic {{indexing_maps = [#id, #n, #id], iterator_types = [{PARALLEL}]}}
      ins(%s, %mask : tensor<{s}xf32>, tensor<{keys}xf32>) outs(%e : tensor<{s}xf32>) {{
  ^bb0(%x: f32, %m: f32, %o: f32):
    %a = arith.addf %x, %m : f32
    linalg.yield %a : f32
  }} -> tensor<{s}xf32>"""

    def product(name: str, maps: str, left: str, right: str, of: str, result: str) -> str:
        return f"""
  %{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{PARALLEL}, "reduction"]}}
      ins(%{left}, %{right} : {of}) outs(%f{name} : tensor<{result}xf32>) {{
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }} -> tensor<{result}xf32>"""

    scores = product("s", "#q, #k, #s", "q", "k", f"tensor<{q}xbf16>, tensor<{k}xbf16>", s)
    mixed = product("r", "#q, #v, #s", "b", "v", f"tensor<{s}xbf16>, tensor<{k}xbf16>", q)
    return f"""
#q = affine_map<(h, m, n, k) -> (h, m, k)>
#k = affine_map<(h, m, n, k) -> (h, n, k)>
#s = affine_map<(h, m, n, k) -> (h, m, n)>
#v = affine_map<(h, m, d, n) -> (h, n, d)>
#id = affine_map<(h, m, n) -> (h, m, n)>
#n = affine_map<(h, m, n) -> (n)>
func.func @f(%q: tensor<{q}xbf16>, %k: tensor<{k}xbf16>, %v: tensor<{k}xbf16>) -> tensor<{q}xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{s}xf32>
  %fs = linalg.fill ins(%z : f32) outs(%e : tensor<{s}xf32>) -> tensor<{s}xf32>
{scores}
{masked if seen else ""}
  %w = linalg.softmax dimension(2) ins(%{"seen" if seen else "s"} : tensor<{s}xf32>)
      outs(%e : tensor<{s}xf32>) -> tensor<{s}xf32>
  %eb = tensor.empty() : tensor<{s}xbf16>
  %b = linalg.generic {{indexing_maps = [#id, #id], iterator_types = [{PARALLEL}]}}
      ins(%w : tensor<{s}xf32>) outs(%eb : tensor<{s}xbf16>) {{
  ^bb0(%x: f32, %o: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  }} -> tensor<{s}xbf16>
  %er = tensor.empty() : tensor<{q}xf32>
  %fr = linalg.fill ins(%z : f32) outs(%er : tensor<{q}xf32>) -> tensor<{q}xf32>
{mixed}
  return %r : tensor<{q}xf32>
}}
"""


PIPELINE = "npuflow-stream-k{bundle-matmuls=true}"


@pytest.fixture
def always_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates are in favour of parts, however long these take."""

    def fused(
        _: fuse_matmuls._Among, __: copy_chain.Chain, way: copy_chain.ChainCopy, *___: object
    ) -> list[tuple[float, float]]:
        return [(0.0, 0.0) if way.behind else (1.0, 1.0)]

    monkeypatch.setattr(fuse_matmuls._Among, "times_fused", fused)


def in_parts(text: str, device: str | Path = "npu2") -> None:
    """Checks a program whose keys come in parts."""
    sink = DiagnosticSink()
    compiled = npuflow.compile(text, PIPELINE, device=device, sink=sink)
    assert any("parts of rows" in one.message for one in sink.diagnostics)
    report = compiled.run(verify=True, judge=JUDGE)
    found = [*report.functions, *report.sequences][-1]
    assert found.verified.status is Status.OK, found.verified.message


@pytest.mark.usefixtures("always_in_parts")
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_however_many_parts_are_merged(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    monkeypatch.setattr(copy_chain, "_most_parts", lambda *_: parts)
    in_parts(attention(2, 4, 256, 16))


@pytest.mark.usefixtures("always_in_parts")
@pytest.mark.parametrize("seen", [200, 70])
def test_parts_of_which_nothing_is_seen_weigh_nothing(seen: int, tmp_path: Path) -> None:
    in_parts(attention(2, 4, 256, 16, seen=seen), with_programs_of(32768, "npu2", tmp_path))


@pytest.mark.usefixtures("always_in_parts")
@settings(drawn(few=2, many=100), phases=[Phase.explicit, Phase.generate])
@given(heads=st.integers(1, 3), rows=st.integers(2, 4), keys=st.integers(2, 24), size=st.integers(1, 4))
def test_drawn_ones_are_right(heads: int, rows: int, keys: int, size: int, tmp_path: Path) -> None:
    in_parts(attention(heads, rows, 8 * keys, 8 * size), with_programs_of(32768, "npu2", tmp_path))


def test_ways_that_are_not_taken_leave_nothing_behind() -> None:
    module = parse(attention(2, 4, 256, 16), new_context())
    Runner(parse_pipeline("npuflow-normalize-linalg,npuflow-fuse-matmuls{device=npu2}")).run(module)
    assert not ops_of(module.operation, "tensor.expand_shape")


def test_few_heads_of_many_keys_come_in_parts_where_that_is_faster() -> None:
    for keys, parted in ((8192, True), (128, False)):
        sink = DiagnosticSink()
        compiled = npuflow.compile(attention(2, 4, keys, 64), PIPELINE, device="npu2", sink=sink)
        said = [one.message for one in sink.diagnostics if "two matmuls in a row" in one.message]
        assert len(said) == 1
        assert ("parts of rows" in said[0]) == parted, said[0]
        assert compiled.run(verify=False).ok
