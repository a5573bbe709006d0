"""What of a bundle's sums and maxima adds nothing whatever the data is."""

from __future__ import annotations

import pytest

from npuflow.bindings import ir
from npuflow.constants.known_tensors import KnownTensors
from npuflow.constants.vanishing import needed_columns
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.ops.bundle import make_bundle

ALL = ((0, 4), (0, 4), (0, 4))
SEEN = ((0, 1), (0, 2), None)
"""Of the mask below: the last row sees nothing."""


def summed(body: str, fold: str = "arith.addf", start: str = "0.0", result: str = "%t") -> ir.Module:
    """Rows of 4 elements that are reduced: `body` makes %t of %a and of a mask."""
    text = f"""
#whole = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<3x4xf32>, %by: tensor<3x4xf32>) -> tensor<3xf32> {{
  %mask = arith.constant dense<[[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]> : tensor<3x4xi8>
  %z = arith.constant {start} : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %r = linalg.generic {{indexing_maps = [#whole, #whole, #whole, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%x, %by, %mask : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xi8>) outs(%f : tensor<3xf32>) {{
  ^bb0(%a: f32, %b: f32, %m: i8, %o: f32):
    %least = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i8
    %is = arith.cmpi ne, %m, %none : i8
    %s = arith.select %is, %a, %least : f32
    %w = arith.select %is, %a, %zero : f32
    {body}
    %n = {fold} %o, {result} : f32
    linalg.yield %n : f32
  }} -> tensor<3xf32>
  return %r : tensor<3xf32>
}}"""
    return parse(text, new_context())


def spans(module: ir.Module) -> tuple[tuple[int, int] | None, ...] | None:
    bundle = make_bundle(ops_of(module.operation, "linalg.generic"))
    needed = needed_columns(bundle, 0, 1, KnownTensors())
    return None if needed is None else needed.spans


@pytest.mark.parametrize(
    "body",
    [
        "%t = math.exp %s : f32",
        "%d = arith.subf %s, %b : f32\n    %t = math.exp2 %d : f32",
        "%d = arith.addf %b, %s : f32\n    %t = math.exp %d : f32",
        "%d = arith.minimumf %b, %s : f32\n    %t = math.exp %d : f32",
        "%t = arith.mulf %b, %w : f32",
        "%q = arith.divf %w, %b : f32\n    %h = arith.truncf %q : f32 to bf16\n    %t = arith.extf %h : bf16 to f32",
    ],
)
def test_what_becomes_0_adds_nothing(body: str) -> None:
    assert spans(summed(body)) == SEEN


@pytest.mark.parametrize(
    "body",
    [
        "%d = arith.mulf %b, %s : f32\n    %t = math.exp %d : f32",  # -inf times a negative number
        "%d = arith.subf %b, %s : f32\n    %t = math.exp %d : f32",
        "%d = arith.maximumf %b, %s : f32\n    %t = math.exp %d : f32",
        "%t = arith.addf %b, %w : f32",
        "%t = arith.divf %b, %w : f32",
        "%t = math.exp %w : f32",
    ],
)
def test_what_may_be_anything_counts(body: str) -> None:
    assert spans(summed(body)) is None


def test_the_least_is_no_maximum() -> None:
    assert spans(summed("%t = arith.addf %s, %b : f32", "arith.maximumf", "0xFF800000")) == SEEN
    assert spans(summed("%t = arith.addf %w, %b : f32", "arith.maximumf", "0xFF800000")) is None


def test_other_reductions_count() -> None:
    assert spans(summed("%t = math.exp %s : f32", "arith.mulf")) is None


@pytest.mark.parametrize("lowest", ["-3.40282347E+38", "-3.38953139E+38"])
def test_the_lowest_number_masks_like_minus_infinity_beside_what_is_seen(lowest: str) -> None:
    """Where a row sees nothing, all of it is alike, and counts."""
    module = str(summed("%t = math.exp %s : f32"))
    lower = module.replace("0xFF800000", lowest)
    assert lower != module
    assert spans(parse(lower, new_context())) == ((0, 1), (0, 2), (0, 4))
    assert spans(parse(module.replace("0xFF800000", "-1.0E+9"), new_context())) is None
