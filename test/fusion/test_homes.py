"""What stays on the chip between groups, and what groups as one cost those around them."""

from __future__ import annotations

import re
from dataclasses import replace

import npuflow.pipelines  # noqa: F401  (registers the passes)
from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.fusion.homes import Homes
from npuflow.fusion.mapped_alike import Mapped
from npuflow.fusion.seconds_apart import mapped_apart, seconds_of
from npuflow.network.groups import FusionGroup, groups_of
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.describe_group import Numbers
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, load_device

# What the first makes, ROWS x 4096 bytes, is read by the second.
TWO = """
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%x: tensor<ROWSx64xi8>, %w: tensor<64x4096xi8>, %v: tensor<4096x64xi8>) -> tensor<ROWSx64xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<ROWSx4096xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<ROWSx4096xi32>) -> tensor<ROWSx4096xi32>
  %a = linalg.matmul ins(%x, %w : tensor<ROWSx64xi8>, tensor<64x4096xi8>)
      outs(%f : tensor<ROWSx4096xi32>) -> tensor<ROWSx4096xi32>
  %e1 = tensor.empty() : tensor<ROWSx4096xi8>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<ROWSx4096xi32>) outs(%e1 : tensor<ROWSx4096xi8>) {
  ^bb0(%p: i32, %o: i8):
    %c = arith.constant 7 : i32
    %d = arith.divsi %p, %c : i32
    %n = arith.trunci %d : i32 to i8
    linalg.yield %n : i8
  } -> tensor<ROWSx4096xi8>
  %e2 = tensor.empty() : tensor<ROWSx64xi32>
  %f2 = linalg.fill ins(%z : i32) outs(%e2 : tensor<ROWSx64xi32>) -> tensor<ROWSx64xi32>
  %r = linalg.matmul ins(%b, %v : tensor<ROWSx4096xi8>, tensor<4096x64xi8>)
      outs(%f2 : tensor<ROWSx64xi32>) -> tensor<ROWSx64xi32>
  return %r : tensor<ROWSx64xi32>
}
"""
# One token of eight heads, whose keys are scaled; without that where SCALED is the sum's own operand.
ATTENTION = """
#q = affine_map<(h, m, n, k) -> (h, m, k)>
#k = affine_map<(h, m, n, k) -> (h, n, k)>
#s = affine_map<(h, m, n, k) -> (h, m, n)>
#v = affine_map<(h, m, d, n) -> (h, n, d)>
#id = affine_map<(h, m, n) -> (h, m, n)>
func.func @f(%q: tensor<8x4x64xbf16>, %k: tensor<8x2048x64xbf16>, %v: tensor<8x2048x64xbf16>) -> tensor<8x4x64xf32> {
  %z = arith.constant 0.0 : f32
  %ek = tensor.empty() : tensor<8x2048x64xbf16>
  %scaled = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%k : tensor<8x2048x64xbf16>) outs(%ek : tensor<8x2048x64xbf16>) {
  ^bb0(%x: bf16, %o: bf16):
    %c = arith.constant 0.35 : bf16
    %t = arith.mulf %x, %c : bf16
    linalg.yield %t : bf16
  } -> tensor<8x2048x64xbf16>
  %e = tensor.empty() : tensor<8x4x2048xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x4x2048xf32>) -> tensor<8x4x2048xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, KEYS : tensor<8x4x64xbf16>, tensor<8x2048x64xbf16>) outs(%f : tensor<8x4x2048xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x4x2048xf32>
  %w = linalg.softmax dimension(2) ins(%s : tensor<8x4x2048xf32>)
      outs(%e : tensor<8x4x2048xf32>) -> tensor<8x4x2048xf32>
  %eb = tensor.empty() : tensor<8x4x2048xbf16>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<8x4x2048xf32>) outs(%eb : tensor<8x4x2048xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<8x4x2048xbf16>
  %e2 = tensor.empty() : tensor<8x4x64xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<8x4x64xf32>) -> tensor<8x4x64xf32>
  %r = linalg.generic {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%b, %v : tensor<8x4x2048xbf16>, tensor<8x2048x64xbf16>) outs(%f2 : tensor<8x4x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x4x64xf32>
  return %r : tensor<8x4x64xf32>
}
"""


def homes_of(text: str, device: Device) -> tuple[Homes, list[Mapped], ir.Module]:
    """The homes of a function's groups, none of which is fused, and what these are mapped as."""
    module, said = parse(text, new_context()), Strategy()
    Runner(parse_pipeline("npuflow-normalize-linalg")).run(module)
    (function,) = module.body.operations

    def mapped(group: FusionGroup, numbers: Numbers) -> Mapped:
        return mapped_apart(group, device, said, bundles=False, numbers=numbers)

    homes = Homes(groups_of(function.operation, GrowthOn(device)), mapped)
    return homes, [mapped(group, homes.numbers) for group in homes.groups], module


def test_what_has_room_while_all_that_move_it_run_takes_nothing_of_dram() -> None:
    device, home = load_device("npu2"), frozenset([0])
    for rows, stays in ((512, True), (2048, False)):  # 2 MiB, and 8 of which memory tiles have 4 in all
        homes, (first, second), module = homes_of(TWO.replace("ROWS", str(rows)), device)
        assert list(homes.numbers.values()) == [0], str(module)
        assert homes.seconds_apart(0) == seconds_of(first, home if stays else frozenset())
        assert homes.seconds_apart(1) == seconds_of(second, home if stays else frozenset())
        assert seconds_of(first, home) < seconds_of(first)


def test_who_has_no_room_for_it_costs_those_around() -> None:
    homes, (first, (second,)), module = homes_of(TWO.replace("ROWS", "512"), load_device("npu2"))
    assert homes.seconds_as_one([1], second) == homes.seconds_apart(1), str(module)
    levels = (replace(level, bytes=131072) if level.number == 2 else level for level in second.device.levels)
    small = replace(second, device=replace(second.device, levels=tuple(levels)))  # 1 MiB in all
    late = seconds_of(first) - seconds_of(first, frozenset([0]))
    assert homes.seconds_as_one([1], small) == small.seconds() + late


def share_as_one(text: str) -> float:
    """What two matmuls in a row take as one, of what they take apart, by the estimates."""
    sink, pass_ = DiagnosticSink(), "npuflow-fuse-matmuls{device=npu2 bundle-matmuls=true}"
    Runner(parse_pipeline(f"npuflow-normalize-linalg,{pass_}"), sink=sink).run(parse(text, new_context()))
    said = "\n".join(one.message for one in sink.diagnostics)
    (share,) = re.findall(r"as one they take an estimated ([0-9.]+) of the time", said)
    return float(share)


def test_what_groups_compute_beside_a_chain_is_left_over_where_that_is_one() -> None:
    """Keys are scaled with the first product where it stays apart, and by themselves where the two are one."""
    assert share_as_one(ATTENTION.replace("KEYS", "%k")) < 1 < share_as_one(ATTENTION.replace("KEYS", "%scaled"))
