"""Sums of products side by side, which one op adds up, are one bundle whose sums go in step."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from judges import JUDGE
from profiles import drawn

import npuflow
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.execute.verification import Status
from npuflow.fusion import fuse_windows
from npuflow.ops.bundle import marked_bundles
from npuflow.ops.streams import stream_of
from npuflow.report.model import FunctionReport

PARALLEL = '"parallel", "parallel", "parallel", "parallel"'


def added(m: int, n: int, first: int, second: int, stride: int = 1) -> str:
    """What two convolutions of 1x1 make of m x m pixels of so many channels, the second of every so many-th pixel."""
    wide, made = (m - 1) * stride + 1, f"1x{m}x{m}x{n}"

    def summed(name: str, image: str, pixels: str, weights: str, channels: int) -> str:
        return f"""
  %{name} = linalg.generic {{indexing_maps = [#{image}, #v, #made], iterator_types = [{PARALLEL}, "reduction"]}}
      ins(%{image}, %{weights} : tensor<{pixels}x{channels}xi8>, tensor<{channels}x{n}xi8>)
      outs(%f : tensor<{made}xi32>) {{
  ^bb0(%p: i8, %q: i8, %o: i32):
    %pw = arith.extsi %p : i8 to i32
    %qw = arith.extsi %q : i8 to i32
    %r = arith.muli %pw, %qw : i32
    %s = arith.addi %o, %r : i32
    linalg.yield %s : i32
  }} -> tensor<{made}xi32>"""

    one, other = f"1x{m}x{m}", f"1x{wide}x{wide}"
    return f"""
#x = affine_map<(b, h, w, n, k) -> (b, h, w, k)>
#y = affine_map<(b, h, w, n, k) -> (b, h * {stride}, w * {stride}, k)>
#v = affine_map<(b, h, w, n, k) -> (k, n)>
#made = affine_map<(b, h, w, n, k) -> (b, h, w, n)>
#id = affine_map<(b, h, w, n) -> (b, h, w, n)>
#bias = affine_map<(b, h, w, n) -> (n)>
func.func @f(%x: tensor<{one}x{first}xi8>, %v: tensor<{first}x{n}xi8>, %y: tensor<{other}x{second}xi8>,
             %w: tensor<{second}x{n}xi8>, %bias: tensor<{n}xi32>) -> tensor<{made}xi8> {{
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<{made}xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<{made}xi32>) -> tensor<{made}xi32>
{summed("a", "x", one, "v", first)}
  %i = linalg.generic {{indexing_maps = [#id, #bias, #id], iterator_types = [{PARALLEL}]}}
      ins(%a, %bias : tensor<{made}xi32>, tensor<{n}xi32>) outs(%e : tensor<{made}xi32>) {{
  ^bb0(%p: i32, %q: i32, %o: i32):
    %c = arith.constant 3 : i32
    %r = arith.shrsi %p, %c : i32
    %s = arith.addi %r, %q : i32
    linalg.yield %s : i32
  }} -> tensor<{made}xi32>
{summed("b", "y", other, "w", second)}
  %e8 = tensor.empty() : tensor<{made}xi8>
  %r = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = [{PARALLEL}]}}
      ins(%i, %b : tensor<{made}xi32>, tensor<{made}xi32>) outs(%e8 : tensor<{made}xi8>) {{
  ^bb0(%p: i32, %q: i32, %o: i8):
    %s = arith.addi %p, %q : i32
    %t = arith.trunci %s : i32 to i8
    linalg.yield %t : i8
  }} -> tensor<{made}xi8>
  return %r : tensor<{made}xi8>
}}
"""


def fused(text: str, device: str = "npu2") -> FunctionReport:
    """What is reported of a program whose groups are one, and right."""
    compiled = npuflow.compile(text, "npuflow-stream-k{fuse-groups=f_0,f_1}", device=device)
    (function,) = compiled.run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    return function


@pytest.mark.parametrize("device", ["npu1", "npu2"])
@pytest.mark.parametrize(("sizes", "stride"), [((8, 32, 64, 64), 1), ((6, 24, 32, 48), 2), ((7, 40, 24, 36), 1)])
def test_they_compute_what_they_do_apart(sizes: tuple[int, int, int, int], stride: int, device: str) -> None:
    fused(added(*sizes, stride), device)


@settings(drawn(few=4, many=100), phases=[Phase.explicit, Phase.generate])
@given(st.integers(2, 10), st.integers(2, 48), st.integers(2, 96), st.integers(2, 96), st.integers(1, 2))
def test_drawn_ones_do(m: int, n: int, first: int, second: int, stride: int) -> None:
    fused(added(m, n, first, second, stride))


def test_what_they_hand_over_never_leaves_a_core() -> None:
    (traffic,) = (level for level in fused(added(16, 64, 64, 128)).traffic if level.level == "L3")
    assert traffic.write_bytes == 16 * 16 * 64
    assert {each.tensor for each in traffic.tensors} == {"arg0", "arg1", "arg2", "arg3", "arg4", "result0"}


def test_they_go_in_as_many_pieces_of_channels() -> None:
    module = parse(added(8, 32, 64, 96), new_context())
    fusing = "npuflow-normalize-linalg,npuflow-fuse-windows{device=npu2 groups=f_0,f_1}"
    Runner(parse_pipeline(fusing)).run(module)
    (bundle,) = marked_bundles(module.operation)
    stream = stream_of(bundle)
    assert [bundle.sizes[loop] for loop in stream.loops] == [32]  # of 2 channels and of 3
    assert stream.ops == (0, 1)


def test_as_one_they_save_more_than_a_little() -> None:
    def are_one() -> bool:
        sink = DiagnosticSink()
        npuflow.compile(added(32, 256, 64, 64), "npuflow-stream-k{bundle-matmuls=true}", device="npu2", sink=sink)
        return any("groups f_0, f_1 are one: in tiles without" in one.message for one in sink.diagnostics)

    assert are_one()
    with patch.object(fuse_windows, "_LESS_SIDE_BY_SIDE", 0.1):
        assert not are_one()
