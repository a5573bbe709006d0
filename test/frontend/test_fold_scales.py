"""Scales that go a long way."""

from __future__ import annotations

import npuflow
from npuflow.core.passes import ops_of
from npuflow.frontend.fold_scales import SCALED


def gated(count: int) -> str:
    """Integers that are scaled, times so many gates one after the other, times a number and rounded."""
    kind, maps = "tensor<4x2xf32>", "affine_map<(i, j) -> (i, j)>"
    parallel = '"parallel", "parallel"'
    gates = "".join(
        f"""
  %p{n + 1} = linalg.generic {{indexing_maps = [{maps}, {maps}, {maps}], iterator_types = [{parallel}]}}
      ins(%p{n}, %g{n} : {kind}, {kind}) outs(%e : {kind}) {{
  ^bb0(%s: f32, %t: f32, %o: f32):
    %m = arith.mulf %s, %t : f32
    linalg.yield %m : f32
  }} -> {kind}"""
        for n in range(count)
    )
    return f"""
func.func @f(%x: tensor<4x2xi32>, {", ".join(f"%g{n}: {kind}" for n in range(count))}) -> tensor<4x2xi8> {{
  %e = tensor.empty() : {kind}
  %i = tensor.empty() : tensor<4x2xi8>
  %p0 = linalg.generic {{indexing_maps = [{maps}, {maps}], iterator_types = [{parallel}]}}
      ins(%x : tensor<4x2xi32>) outs(%e : {kind}) {{
  ^bb0(%s: i32, %o: f32):
    %c = arith.constant 0.5 : f32
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %c : f32
    linalg.yield %p : f32
  }} -> {kind}{gates}
  %q = linalg.generic {{indexing_maps = [{maps}, {maps}], iterator_types = [{parallel}]}}
      ins(%p{count} : {kind}) outs(%i : tensor<4x2xi8>) {{
  ^bb0(%s: f32, %o: i8):
    %four = arith.constant 4.0 : f32
    %m = arith.mulf %s, %four : f32
    %b = arith.fptosi %m : f32 to i8
    linalg.yield %b : i8
  }} -> tensor<4x2xi8>
  return %q : tensor<4x2xi8>
}}"""


def test_a_way_through_many_gates_is_gone_once() -> None:
    """To look for it anew behind each of 40 gates would take 2^40 steps."""
    module = npuflow.parse(gated(40), npuflow.new_context())
    npuflow.run_pipeline(module, "builtin.module(npuflow-fold-scales)")
    assert sum(SCALED in op.attributes for op in ops_of(module.operation)) == 41
