"""What is chosen for bundles: the best by which their program fits a core."""

from __future__ import annotations

from dataclasses import replace

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.fusion.copy_chain import as_generic
from npuflow.ops.bundle import Bundle, make_bundle
from npuflow.ops.grown import find_bundles
from npuflow.strategy.bundle_times import GrowthOn, PartOfFunction, best_of_bundle, bundle_seconds, played_bundle
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_bundle import program_fits
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, load_device

# Rows that one of the inputs has fewer of, so that a kernel with several rows and columns needs a loop for each.
TEXT = """
func.func @f(%x: tensor<384x96xf32>, %y: tensor<96xf32>) -> tensor<384x96xf32> {
  %e = tensor.empty() : tensor<384x96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<384x96xf32>, tensor<96xf32>) outs(%e : tensor<384x96xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<384x96xf32>
  return %r : tensor<384x96xf32>
}
"""


@pytest.fixture
def module() -> ir.Module:
    return npuflow.parse(TEXT, npuflow.new_context())


@pytest.fixture
def bundle(module: ir.Module) -> Bundle:
    (function,) = module.body.operations
    (found,) = find_bundles(function.operation, GrowthOn(load_device("npu2")))
    return found


def with_programs_of(device: Device, size: int) -> Device:
    return replace(device, engines=tuple(replace(engine, program_bytes=size) for engine in device.engines))


def test_the_best_whose_program_fits_is_chosen(bundle: Bundle) -> None:
    device, group = load_device("npu2"), group_of_bundle(bundle)
    best = mapping_of(group, complete(group, Strategy(), device))
    need = next(
        size for size in range(16, 16384, 16) if program_fits(bundle, group, best, with_programs_of(device, size))
    )
    small = with_programs_of(device, need - 16)
    chosen = mapping_of(group, best_of_bundle(bundle, group, small, Strategy()))
    assert chosen != best
    assert program_fits(bundle, group, chosen, small)
    estimate = Estimate(group, small)
    assert estimate.played_cost(best) <= estimate.played_cost(chosen)
    assert played_bundle(bundle, small, Strategy()) == estimate.played_cost(chosen)
    seconds = bundle_seconds(bundle, small, Strategy())
    assert seconds is not None
    assert seconds <= estimate.seconds(chosen)


def test_where_no_program_fits_the_best_is_chosen_and_refused_later(bundle: Bundle) -> None:
    none, group = with_programs_of(load_device("npu2"), 16), group_of_bundle(bundle)
    assert best_of_bundle(bundle, group, none, Strategy()) == complete(group, Strategy(), none)
    assert bundle_seconds(bundle, none, Strategy()) is None


# Two convolutions of an image, one of them by single pixels, and their sum.
SUM_OF_PRODUCTS = """linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(INPUTS) outs(%f : tensor<CHANNELSx7x7xf32>) {
  ^bb0(%i: bf16, %j: bf16, %o: f32):
    %1 = arith.extf %i : bf16 to f32
    %2 = arith.extf %j : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<CHANNELSx7x7xf32>"""

IMAGE = "%x, %v : tensor<CHANNELSx9x9xbf16>, tensor<CHANNELSxCHANNELSx3x3xbf16>"
PIXELS = "%u, %w : tensor<CHANNELSx7x7xbf16>, tensor<CHANNELSxCHANNELSx1x1xbf16>"
BLOCK = f"""
#x = affine_map<(f, h, w, c, y, x) -> (c, h + y, w + x)>
#w = affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>
#y = affine_map<(f, h, w, c, y, x) -> (f, h, w)>
#id = affine_map<(f, h, w) -> (f, h, w)>
func.func @block(%x: tensor<CHANNELSx9x9xbf16>, %u: tensor<CHANNELSx7x7xbf16>,
    %v: tensor<CHANNELSxCHANNELSx3x3xbf16>, %w: tensor<CHANNELSxCHANNELSx1x1xbf16>) -> tensor<CHANNELSx7x7xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<CHANNELSx7x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<CHANNELSx7x7xf32>) -> tensor<CHANNELSx7x7xf32>
  %a = {SUM_OF_PRODUCTS.replace("INPUTS", IMAGE)}
  %b = {SUM_OF_PRODUCTS.replace("INPUTS", PIXELS)}
  %r = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%a, %b : tensor<CHANNELSx7x7xf32>, tensor<CHANNELSx7x7xf32>) outs(%e : tensor<CHANNELSx7x7xf32>) {{
  ^bb0(%i: f32, %j: f32, %o: f32):
    %1 = arith.addf %i, %j : f32
    linalg.yield %1 : f32
  }} -> tensor<CHANNELSx7x7xf32>
  return %r : tensor<CHANNELSx7x7xf32>
}}
"""


@pytest.mark.parametrize("channels", [8, 512])
def test_sums_that_could_not_be_streamed_together_share_a_tile_where_that_pays(channels: int) -> None:
    """512 channels have to be gone through piece by piece to have tiles of any size, which one sum alone can do."""
    module = npuflow.parse(BLOCK.replace("CHANNELS", str(channels)), npuflow.new_context())
    growth = GrowthOn(load_device("npu2"))
    (function,) = module.body.operations
    ops = [len(bundle.ops) for bundle in find_bundles(function.operation, growth)]
    whole = make_bundle(ops_of(function.operation, "linalg.generic"))
    apart = [make_bundle([op]) for op in whole.ops]
    assert growth.fits(whole)
    assert ops == ([3] if growth.pays([whole], apart) else [1, 2])
    assert growth.pays([whole], apart) == (channels == 8)


GROUPED = """
#w = affine_map<(b, g, i, j) -> (b, g, i, j)>
func.func @f(%q: tensor<2x3x64x32xbf16>, %k: tensor<2x512x32xbf16>, %f: tensor<2x3x64x512xf32>, %m: tensor<2x3x64xf32>)
    -> tensor<2x3x64xf32> {
  %s = linalg.generic {indexing_maps = [affine_map<(b, g, m, n, k) -> (b, g, m, k)>,
      affine_map<(b, g, m, n, k) -> (b, n, k)>, affine_map<(b, g, m, n, k) -> (b, g, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x64x32xbf16>, tensor<2x512x32xbf16>) outs(%f : tensor<2x3x64x512xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x3x64x512xf32>
  %e = tensor.empty() : tensor<2x3x64x512xbf16>
  %r = linalg.generic {indexing_maps = [#w, #w], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x64x512xf32>) outs(%e : tensor<2x3x64x512xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<2x3x64x512xbf16>
  %l = linalg.generic {indexing_maps = [#w, affine_map<(b, g, i, j) -> (b, g, i)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%r : tensor<2x3x64x512xbf16>) outs(%m : tensor<2x3x64xf32>) {
  ^bb0(%x: bf16, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %t = arith.maximumf %xw, %o : f32
    linalg.yield %t : f32
  } -> tensor<2x3x64xf32>
  return %l : tensor<2x3x64xf32>
}
"""


def test_without_fusion_a_tail_stays_with_its_sum_of_products() -> None:
    module = npuflow.parse(GROUPED, npuflow.new_context())
    found = find_bundles(module.operation, GrowthOn(load_device("npu2"), fused=False))
    assert [len(bundle.ops) for bundle in found] == [2, 1]


NAMED = """
func.func @f(%x: tensor<64x96xi8>, %y: tensor<96x32xi8>, %s: tensor<64x32xi32>) -> tensor<64x32xi32> {
  %r = linalg.matmul ins(%x, %y : tensor<64x96xi8>, tensor<96x32xi8>) outs(%s : tensor<64x32xi32>) -> tensor<64x32xi32>
  return %r : tensor<64x32xi32>
}
"""


def test_a_named_matmul_is_the_group_that_its_generic_is() -> None:
    module = npuflow.parse(NAMED, npuflow.new_context())
    (matmul,) = ops_of(module.operation, "linalg.matmul")
    named = group_of_bundle(make_bundle([matmul]))
    assert named == group_of_bundle(make_bundle([as_generic(matmul)])), "what was searched would be searched again"


def sum_of_two(inputs: str, cuts: str = "") -> str:
    """The sum of %a and %b, 128x512 each, which are inputs or cut from one."""
    return f"""
func.func @f({inputs}) -> tensor<128x512xf32> {{
  {cuts}
  %e = tensor.empty() : tensor<128x512xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%a, %b : tensor<128x512xf32>, tensor<128x512xf32>) outs(%e : tensor<128x512xf32>) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }} -> tensor<128x512xf32>
  return %r : tensor<128x512xf32>
}}
"""


def test_slices_of_what_stays_on_the_chip_stay_there() -> None:
    device = load_device("npu2")

    def chosen(text: str, *, stays: bool) -> Strategy:
        module = npuflow.parse(text, npuflow.new_context())
        (function,) = module.body.operations
        (found,) = find_bundles(function.operation, GrowthOn(device))
        between = {value: number for number, value in enumerate(function.regions[0].blocks[0].arguments)}
        part = PartOfFunction(between if stays else None)
        return best_of_bundle(found, group_of_bundle(found), device, Strategy(), part=part)

    apart = sum_of_two("%a: tensor<128x512xf32>, %b: tensor<128x512xf32>")
    both = "tensor<2x1x128x512xf32>"
    half = "[1, 1, 128, 512] [1, 1, 1, 1] : tensor<2x1x128x512xf32> to tensor<1x1x128x512xf32>"
    one = "[[0, 1, 2], [3]] : tensor<1x1x128x512xf32> into tensor<128x512xf32>"
    cut = sum_of_two(
        f"%x: {both}",
        f"""%c = tensor.extract_slice %x[0, 0, 0, 0] {half}
  %d = tensor.extract_slice %x[1, 0, 0, 0] {half}
  %a = tensor.collapse_shape %c {one}
  %b = tensor.collapse_shape %d {one}""",
    )
    assert chosen(cut, stays=True) == chosen(apart, stays=True) != chosen(cut, stays=False)
