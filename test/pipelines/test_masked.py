"""Attention with a mask that is known: what it makes of nothing is left out, and the results stay what they are."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges import JUDGE
from profiles import drawn

import npuflow
from npuflow.api.compiled import Compiled
from npuflow.api.entry import compile as compile_text
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.execute.arrays import Array
from npuflow.execute.data import random_arrays
from npuflow.execute.verification import Status

SEEN = "%seen = arith.cmpi sge, %place, %j : index"
WINDOW = """%late = arith.cmpi sge, %place, %j : index
    %first = arith.subi %place, %window : index
    %early = arith.cmpi slt, %first, %j : index
    %seen = arith.andi %late, %early : i1"""


def product(left: str, right: str, kind: str) -> str:
    """The body of a sum of products of two types, in f32."""
    if kind == "f32":
        return "%a1 = arith.mulf %a, %b : f32\n    %p = arith.addf %c, %a1 : f32\n    linalg.yield %p : f32"
    return f"""%a1 = arith.extf %a : {left} to f32
    %b1 = arith.extf %b : {right} to f32
    %m = arith.mulf %a1, %b1 : f32
    %p = arith.addf %c, %m : f32
    linalg.yield %p : f32"""


def attention(
    rows: int, keys: int, *, kind: str = "bf16", group: int = 2, window: int = 0, masked: str = "0xFF800000"
) -> str:
    """Two heads of keys, each of which `group` heads of queries read; row i sees the columns up to keys - rows + i.

    Of these it sees the last `window`, if there is one.
    """
    size, heads = 16, 2
    query, kept = f"tensor<{heads}x{group}x{rows}x{size}x{kind}>", f"tensor<{heads}x{keys}x{size}x{kind}>"
    scores, weights = (f"tensor<{heads}x{group}x{rows}x{keys}x{each}>" for each in ("f32", kind))
    sums = f"tensor<{heads}x{group}x{rows}x{size}xf32>"
    whole, parallel = "affine_map<(b, g, i, j) -> (b, g, i, j)>", ", ".join(['"parallel"'] * 4)
    reads, made = "affine_map<(b, g, m, n, k) -> (b, g, m, k)>", "affine_map<(b, g, m, n, k) -> (b, g, m, n)>"
    narrow = (
        "linalg.yield %x : f32"
        if kind == "f32"
        else f"%y = arith.truncf %x : f32 to {kind}\n    linalg.yield %y : {kind}"
    )
    body = product(kind, kind, kind)
    return f"""
func.func @attention(%q: {query}, %k: {kept}, %v: {kept}) -> {sums} {{
  %z = arith.constant 0.0 : f32
  %least = arith.constant {masked} : f32
  %behind = arith.constant {keys - rows} : index
  %window = arith.constant {window} : index
  %es = tensor.empty() : {scores}
  %fs = linalg.fill ins(%z : f32) outs(%es : {scores}) -> {scores}
  %t = linalg.generic {{indexing_maps = [{reads}, affine_map<(b, g, m, n, k) -> (b, n, k)>, {made}],
      iterator_types = [{parallel}, "reduction"]}} ins(%q, %k : {query}, {kept}) outs(%fs : {scores}) {{
  ^bb0(%a: {kind}, %b: {kind}, %c: f32):
    {body}
  }} -> {scores}
  %s = linalg.generic {{indexing_maps = [{whole}, {whole}], iterator_types = [{parallel}]}}
      ins(%t : {scores}) outs(%es : {scores}) {{
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %place = arith.addi %i, %behind : index
    {WINDOW if window else SEEN}
    %y = arith.select %seen, %x, %least : f32
    linalg.yield %y : f32
  }} -> {scores}
  %softmax = linalg.softmax dimension(3) ins(%s : {scores}) outs(%es : {scores}) -> {scores}
  %ew = tensor.empty() : {weights}
  %w = linalg.generic {{indexing_maps = [{whole}, {whole}], iterator_types = [{parallel}]}}
      ins(%softmax : {scores}) outs(%ew : {weights}) {{
  ^bb0(%x: f32, %o: {kind}):
    {narrow}
  }} -> {weights}
  %er = tensor.empty() : {sums}
  %fr = linalg.fill ins(%z : f32) outs(%er : {sums}) -> {sums}
  %r = linalg.generic {{indexing_maps = [{reads}, affine_map<(b, g, m, n, k) -> (b, k, n)>, {made}],
      iterator_types = [{parallel}, "reduction"]}} ins(%w, %v : {weights}, {kept}) outs(%fr : {sums}) {{
  ^bb0(%a: {kind}, %b: {kind}, %c: f32):
    {body}
  }} -> {sums}
  return %r : {sums}
}}"""


def in_parts(count: int) -> str:
    return f"npuflow-stream-k{{masked-parts={count}}}"


def apart(text: str, count: int, sink: DiagnosticSink | None = None) -> Compiled:
    """In so many parts, a program each: as a whole they would be compiled first, which says nothing about masks."""
    return compile_text(text, in_parts(count), device="toy", split=True, sink=sink)


@cache
def causal_apart() -> tuple[Compiled, DiagnosticSink]:
    """In four parts, with what was said."""
    sink = DiagnosticSink()
    return apart(attention(64, 64), 4, sink), sink


def results(compiled: Compiled, inputs: list[Array]) -> Array:
    (found,) = (compiled.sequences or compiled.functions)[0].execute(*inputs)
    return found


def remarks_of(sink: DiagnosticSink) -> list[str]:
    return [said.message for said in sink.diagnostics if "npuflow-skip-masked" in said.message]


def is_right_in(compiled: Compiled, parts: int) -> None:
    (one,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert one.verified.status is Status.OK, one.verified.message
    assert len(one.parts) == parts


def test_what_nobody_sees_is_left_out_and_changes_nothing() -> None:
    compiled, sink = causal_apart()
    (said,) = remarks_of(sink)
    assert "4 parts" in said
    is_right_in(compiled, 4)


@pytest.mark.parametrize(
    ("rows", "keys", "kind", "group", "window"),
    [
        (48, 48, "f32", 1, 0),
        (24, 72, "bf16", 3, 0),
        (72, 72, "bf16", 2, 20),
        (48, 36, "bf16", 1, 0),
    ],
    ids=["f32", "behind a cache", "sliding window", "rows that see nothing"],
)
def test_what_is_left_out_changes_nothing(rows: int, keys: int, kind: str, group: int, window: int) -> None:
    """In a first part, one between and a last one.

    Rows that see nothing are what they were: nobody's numbers, which no judge looks at.
    """
    sink = DiagnosticSink()
    compiled = apart(attention(rows, keys, kind=kind, group=group, window=window), 3, sink)
    (said,) = remarks_of(sink)
    assert "3 parts" in said
    is_right_in(compiled, 3)


@drawn(few=3, many=100)
@given(
    st.sampled_from([12, 48, 60]), st.integers(0, 40), st.sampled_from([0, 7, 16, 50]), st.sampled_from([2, 3, 4, 6])
)
def test_parts_are_what_the_whole_is(rows: int, more: int, window: int, count: int) -> None:
    text = attention(rows, rows + more, window=window)
    compiled, whole = apart(text, count), npuflow.compile(text, in_parts(1), device="toy", split=False)
    inputs = random_arrays((compiled.sequences or compiled.functions)[0].compiled.signature.inputs, seed=rows + more)
    np.testing.assert_allclose(results(compiled, inputs), results(whole, inputs), rtol=2e-2, atol=2e-3)


def test_the_last_part_is_written_in_place_behind_a_reshape() -> None:
    """As PyTorch joins groups of heads: the result in another shape is still what the parts before wrote into."""
    heads = "tensor<4x64x16xf32>"
    joined = (
        f"%h = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<2x2x64x16xf32> into {heads}\n  return %h : {heads}"
    )
    text = attention(64, 64).replace("-> tensor<2x2x64x16xf32> {\n  %z", f"-> {heads} {{\n  %z")
    is_right_in(apart(text.replace("return %r : tensor<2x2x64x16xf32>", joined), 2), 2)


def test_it_can_be_left_out() -> None:
    disabled = npuflow.compile(attention(64, 64), in_parts(4), device="toy", disable="masks")
    assert len(causal_apart()[0].sequences[0].parts) == 4
    assert len(disabled.functions) == 1


def test_a_tensor_that_parts_write_is_one() -> None:
    """It has a place of its own, since it is returned, and lives from the first part to the last."""
    compiled, _ = causal_apart()
    (sequence,) = compiled.sequences
    (result,) = [value for value in sequence.plan.values if value.role.value == "result"]
    assert (result.first, result.last) == (0, 3)
    assert not sequence.plan.between
    written = [part.traffic[0].write_bytes for part in compiled.run(verify=False).functions]
    assert written == [2 * 2 * 16 * 16 * 4] * 4


@pytest.mark.parametrize("masked", ["-3.40282347E+38", "-3.38953139E+38"])
def test_the_lowest_number_masks_what_is_not_half_as_large(masked: str) -> None:
    is_right_in(apart(attention(64, 64, masked=masked), 4), 4)


def test_where_a_row_sees_nothing_all_that_the_lowest_number_masks_counts() -> None:
    """Of 64 rows the first 16 see none of 48 columns: their weights are alike."""
    text = attention(64, 48, masked="-3.40282347E+38")
    compiled, whole = apart(text, 4), npuflow.compile(text, in_parts(1), device="toy", split=False)
    inputs = random_arrays((compiled.sequences or compiled.functions)[0].compiled.signature.inputs, seed=3)
    found, expected = results(compiled, inputs), results(whole, inputs)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("masked", ["-1.0E+38", "-1.0E+9"])
def test_another_number_masks_nothing_for_certain(masked: str) -> None:
    """Scores may be as low."""
    compiled = npuflow.compile(attention(64, 64, masked=masked), in_parts(4), device="toy")
    assert len(compiled.functions) == 1
    assert not compiled.sequences


def test_what_a_schedule_refuses_is_computed_whole() -> None:
    """Of a function that must not come apart, parts of rows need more than there is; matmuls still are one."""
    sink = DiagnosticSink()
    compiled = compile_text(attention(64, 64), in_parts(4), device="npu1", split=False, sink=sink)
    assert len(compiled.functions) == 1
    assert any("and computed nevertheless: in parts without it, " in said.message for said in sink.diagnostics)
