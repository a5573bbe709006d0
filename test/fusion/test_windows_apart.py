"""What windows in a row are held against: the groups that they would be, as these are compiled then."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from itertools import pairwise

import pytest
from judges import JUDGE

import npuflow.pipelines  # registers the passes
from npuflow.core.answers import NOTHING_ASKED
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.execute.asked_beside import AskedBeside
from npuflow.execute.verification import Status
from npuflow.fusion.mapped_alike import MAPPED_ALIKE
from npuflow.strategy.choose import CHOSEN
from npuflow.strategy.search import Search

# A convolution of each channel between 1x1 convolutions, as in an inverted residual.
RESIDUAL = """
#id = affine_map<(p, o) -> (p, o)>
#image = affine_map<(n, h, w, c, y, x) -> (n, h + y, w + x, c)>
#weights = affine_map<(n, h, w, c, y, x) -> (y, x, c)>
#made = affine_map<(n, h, w, c, y, x) -> (n, h, w, c)>
func.func @f(%x: tensor<3364x16xi8>, %a: tensor<16x96xi8>, %v: tensor<3x3x96xi8>) -> tensor<1x56x56x96xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3364x96xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<3364x96xi32>) -> tensor<3364x96xi32>
  %s = linalg.matmul ins(%x, %a : tensor<3364x16xi8>, tensor<16x96xi8>)
      outs(%f : tensor<3364x96xi32>) -> tensor<3364x96xi32>
  %b = tensor.empty() : tensor<3364x96xi8>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<3364x96xi32>) outs(%b : tensor<3364x96xi8>) {
  ^bb0(%p: i32, %o: i8):
    %n = arith.trunci %p : i32 to i8
    linalg.yield %n : i8
  } -> tensor<3364x96xi8>
  %i = tensor.expand_shape %t [[0, 1, 2], [3]] output_shape [1, 58, 58, 96]
      : tensor<3364x96xi8> into tensor<1x58x58x96xi8>
  %e2 = tensor.empty() : tensor<1x56x56x96xi32>
  %f2 = linalg.fill ins(%z : i32) outs(%e2 : tensor<1x56x56x96xi32>) -> tensor<1x56x56x96xi32>
  %r = linalg.generic {indexing_maps = [#image, #weights, #made],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%i, %v : tensor<1x58x58x96xi8>, tensor<3x3x96xi8>) outs(%f2 : tensor<1x56x56x96xi32>) {
  ^bb0(%p: i8, %q: i8, %o: i32):
    %pw = arith.extsi %p : i8 to i32
    %qw = arith.extsi %q : i8 to i32
    %m = arith.muli %pw, %qw : i32
    %n = arith.addi %o, %m : i32
    linalg.yield %n : i32
  } -> tensor<1x56x56x96xi32>
  return %r : tensor<1x56x56x96xi32>
}
"""


def share_as_one(*, bundles: bool) -> float:
    """What the two take as one, of what they take apart, by the estimates."""
    sink = DiagnosticSink()
    pass_ = f"npuflow-fuse-windows{{device=npu4.0 bundle-matmuls={str(bundles).lower()}}}"
    Runner(parse_pipeline(f"npuflow-normalize-linalg,{pass_}"), sink=sink).run(parse(RESIDUAL, new_context()))
    said = "\n".join(one.message for one in sink.diagnostics)
    (share,) = re.findall(r"groups f_0, f_1 .* take an estimated ([0-9.]+) of the time", said)
    return float(share)


def test_a_matmul_takes_what_it_takes_as_it_is_mapped_if_it_stays_apart() -> None:
    """16 channels are few for a matmul's packed tiles: it is mapped as other ops are, where that may be."""
    assert share_as_one(bundles=True) > share_as_one(bundles=False)


WINDOWS_OF_EACH_OTHER = """
func.func @f(%x: tensor<1x10x15x8xbf16>) -> tensor<1x10x7x7xf32> {
  %low = arith.constant 0xFF80 : bf16
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x10x15x8xbf16>
  %a = linalg.negf ins(%x : tensor<1x10x15x8xbf16>) outs(%e0 : tensor<1x10x15x8xbf16>) -> tensor<1x10x15x8xbf16>
  %e = tensor.empty() : tensor<1x10x7x3xbf16>
  %w = tensor.empty() : tensor<3x3xbf16>
  %s = linalg.fill ins(%low : bf16) outs(%e : tensor<1x10x7x3xbf16>) -> tensor<1x10x7x3xbf16>
  %p = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
    ins(%a, %w : tensor<1x10x15x8xbf16>, tensor<3x3xbf16>) outs(%s : tensor<1x10x7x3xbf16>) -> tensor<1x10x7x3xbf16>
  %r = tensor.empty() : tensor<1x10x7x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<1x10x7x7xf32>) -> tensor<1x10x7x7xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(a, b, i, j, k) -> (a, b, i, k)>,
      affine_map<(a, b, i, j, k) -> (a, b, j, k)>, affine_map<(a, b, i, j, k) -> (a, b, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%p, %p : tensor<1x10x7x3xbf16>, tensor<1x10x7x3xbf16>) outs(%z : tensor<1x10x7x7xf32>) {
  ^bb0(%l: bf16, %q: bf16, %o: f32):
    %lw = arith.extf %l : bf16 to f32
    %qw = arith.extf %q : bf16 to f32
    %t = arith.mulf %lw, %qw : f32
    %u = arith.addf %o, %t : f32
    linalg.yield %u : f32
  } -> tensor<1x10x7x7xf32>
  return %m : tensor<1x10x7x7xf32>
}
"""


def pools(name: str, size: int) -> tuple[str, str]:
    """Two pools in a row of an image of so many rows and columns, and the type of what they make."""
    types = [f"tensor<1x{n}x{n}x16xf32>" for n in (size, size - 2, size - 4)]
    lines = []
    for n, (read, made) in enumerate(pairwise(types)):
        lines.append(f"  %{name}e{n} = tensor.empty() : {made}")
        lines.append(f"  %{name}s{n} = linalg.fill ins(%low : f32) outs(%{name}e{n} : {made}) -> {made}")
        ins, outs = f"ins(%{name}{n}, %w : {read}, tensor<3x3xf32>)", f"outs(%{name}s{n} : {made})"
        lines.append(f"  %{name}{n + 1} = linalg.pooling_nhwc_max {ins} {outs} -> {made}")
    return "\n".join(lines), types[-1]


(LARGE, MADE_LARGE), (SMALL, MADE_SMALL) = pools("x", 32), pools("y", 24)
POOLS = f"""
func.func @f(%x0: tensor<1x32x32x16xf32>, %y0: tensor<1x24x24x16xf32>) -> ({MADE_LARGE}, {MADE_SMALL}) {{
  %low = arith.constant 0xFF800000 : f32
  %w = tensor.empty() : tensor<3x3xf32>
{LARGE}
{SMALL}
  return %x2, %y2 : {MADE_LARGE}, {MADE_SMALL}
}}
"""


def test_what_is_asked_ahead_is_found_by_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that runs the pass searches no more than a part of it, and decides the same."""
    said: list[list[str]] = []
    searched: list[int] = []
    flat = Search.flat

    def here(search: Search) -> object:
        searched[-1] += 1
        time.sleep(0.1)  # so that the other process has its turns
        return flat.__get__(search)

    monkeypatch.setattr(Search, "flat", property(here))
    for ahead in (AskedBeside(2), NOTHING_ASKED):
        searched.append(0)
        for known in (MAPPED_ALIKE, CHOSEN):
            monkeypatch.setattr(known, "_found", OrderedDict())
        sink = DiagnosticSink()
        pipeline = parse_pipeline("npuflow-normalize-linalg,npuflow-fuse-windows{device=npu2}")
        Runner(pipeline, sink=sink, ahead=ahead).run(parse(POOLS, new_context()))
        said.append([one.message for one in sink.diagnostics])
    assert said[0] == said[1] != []
    assert 0 < searched[0] < searched[1]


def test_what_reads_all_of_an_axis_is_no_window_along_it() -> None:
    """Each row of a pool's result with each other row: one of the two reads goes along no axis of the pool's."""
    report = npuflow.compile(WINDOWS_OF_EACH_OTHER, device="npu2").run(verify=True, judge=JUDGE)
    (verified,) = [one.verified for one in (report.sequences or report.functions)]
    assert verified.status is Status.OK
