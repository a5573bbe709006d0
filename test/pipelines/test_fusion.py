"""Fused chains of matmuls compute what they do apart, and move what the closed form says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npuflow
from npuflow.execute.verification import Status

WHOLE, ROWS = "affine_map<(b, i, j) -> (b, i, j)>", "affine_map<(b, i, j) -> (b, i)>"
PARALLEL, REDUCING = '["parallel", "parallel", "parallel"]', '["parallel", "parallel", "reduction"]'
SCALED = "%y = arith.mulf %x, %half : f32"
MASKED = "%y = arith.addf %x, %mask : f32"


def attention(heads: int, rows: int, keys: int, size: int, *, masked: bool = False) -> str:
    """Scores of bf16 and f32, scaled or masked, their softmax, and values weighted by it."""
    query, kept = f"tensor<{heads}x{rows}x{size}xbf16>", f"tensor<{heads}x{keys}x{size}xbf16>"
    scores, weights = (f"tensor<{heads}x{rows}x{keys}x{kind}>" for kind in ("f32", "bf16"))
    sums = f"tensor<{heads}x{rows}x{size}xf32>"
    mask = f"tensor<{rows}x{keys}xf32>"
    maps = f"{WHOLE}, affine_map<(b, i, j) -> (i, j)>, {WHOLE}" if masked else f"{WHOLE}, {WHOLE}"
    ins = f"%t, %m : {scores}, {mask}" if masked else f"%t : {scores}"
    return f"""
func.func @attention(%q: {query}, %k: {kept}, %v: {kept}{f", %m: {mask}" if masked else ""}) -> {query} {{
  %z = arith.constant 0.0 : f32
  %half = arith.constant 0.25 : f32
  %least = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : {scores}
  %fs = linalg.fill ins(%z : f32) outs(%es : {scores}) -> {scores}
  %t = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>,
      affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%q, %k : {query}, {kept}) outs(%fs : {scores}) -> {scores}
  %s = linalg.generic {{indexing_maps = [{maps}], iterator_types = {PARALLEL}}} ins({ins}) outs(%es : {scores}) {{
  ^bb0(%x: f32, {"%mask: f32, " if masked else ""}%o: f32):
    {MASKED if masked else SCALED}
    linalg.yield %y : f32
  }} -> {scores}
  %softmax = linalg.softmax dimension(2) ins(%s : {scores}) outs(%es : {scores}) -> {scores}
  %ew = tensor.empty() : {weights}
  %w = linalg.generic {{indexing_maps = [{WHOLE}, {WHOLE}], iterator_types = {PARALLEL}}}
      ins(%softmax : {scores}) outs(%ew : {weights}) {{
  ^bb0(%x: f32, %o: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  }} -> {weights}
  %er = tensor.empty() : {sums}
  %fr = linalg.fill ins(%z : f32) outs(%er : {sums}) -> {sums}
  %r = linalg.batch_matmul ins(%w, %v : {weights}, {kept}) outs(%fr : {sums}) -> {sums}
  %en = tensor.empty() : {query}
  %n = linalg.generic {{indexing_maps = [{WHOLE}, {WHOLE}], iterator_types = {PARALLEL}}}
      ins(%r : {sums}) outs(%en : {query}) {{
  ^bb0(%x: f32, %o: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  }} -> {query}
  return %n : {query}
}}"""


@pytest.mark.parametrize("masked", [False, True])
@given(
    st.integers(1, 3), st.sampled_from([1, 5, 16, 33]), st.sampled_from([37, 100, 256, 600]), st.sampled_from([8, 24])
)
@settings(max_examples=3)
def test_attention_by_pieces_is_right(masked: bool, heads: int, rows: int, keys: int, size: int) -> None:
    text = attention(heads, rows, keys, size, masked=masked)
    (function,) = npuflow.compile(text, device="toy").run(verify=True).functions
    assert function.verified.status is Status.OK, function.verified.message


@pytest.mark.parametrize(("device", "parts"), [("npu1", 1), ("npu2", 1), ("toy-scratchpad", 1), ("toy-patch", 1)])
def test_attention_is_right_on_devices(device: str, parts: int) -> None:
    functions = npuflow.compile(attention(2, 24, 512, 16), device=device).run(verify=True).functions
    assert len(functions) == parts
    for function in functions:
        assert function.verified.status is Status.OK, function.verified.message


def test_attention_moves_what_blocks_of_rows_need() -> None:
    """2 N d (1 + N / B) elements of 2 bytes per head: B rows share keys and values, those of a column of cores."""
    heads, rows, size = 8, 2048, 64
    (function,) = npuflow.compile(attention(heads, rows, rows, size), device="npu2").run(verify=False).functions
    strategy = function.strategy
    assert strategy["stream"]
    assert "hold" not in strategy
    block = strategy["tile_l1"][1] * (function.grid[0] if strategy["spread"][0] == 1 else 1)
    outermost = function.traffic[0]
    assert outermost.read_bytes + outermost.write_bytes == 2 * 2 * heads * rows * size * (1 + -(-rows // block))


def test_fusion_can_be_left_out() -> None:
    text = attention(2, 24, 512, 16)
    fused = npuflow.compile(text, device="npu2")
    apart = npuflow.compile(text, device="npu2", pipeline="npuflow-stream-k{disable=fusion}")
    assert len(fused.functions) == 1
    assert len(apart.functions) == 3
