"""What fits is asked of a strategy, of buffers of memrefs and of a schedule: the three have to agree."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import npuflow
from npuflow.bufferize.lifetimes import padding_bytes, peak_of
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import ops_of
from npuflow.schedule.data.addresses import aligned_slot_bytes
from npuflow.schedule.data.channels import Memory, memory_at
from npuflow.schedule.data.model import Schedule
from npuflow.strategy.feasibility import Constraint, obstacles
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, load_device
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.operator_samples import samples
from npuflow.testing.programs import Types

sys.path.insert(0, str(Path(__file__).parent))
from problems import matmul_group

OPERATORS = ("matmul", "softmax", "layer norm", "conv_2d_nhwc_hwcf", "mul + silu + truncate", "reduce sum over 1")
PROGRAMS = {sample.operator: sample.verified[0].text() for sample in samples() if sample.operator in OPERATORS}


def used_bytes(schedule: Schedule, device: Device) -> dict[Memory, int]:
    """Up to which byte each memory on the chip is used."""
    ends: dict[Memory, int] = defaultdict(int)
    for buffer in schedule.buffers.values():
        if buffer.level == device.dram_level:
            continue
        size = aligned_slot_bytes(buffer, device.level(buffer.level).alignment_bytes) * buffer.depth
        for place in schedule.places(buffer.span):
            memory = memory_at(device.ways.places[buffer.level], place, schedule)
            start = buffer.address.at(place[buffer.span[0]] if buffer.span else 0)
            ends[memory] = max(ends[memory], start + size)
    return ends


@pytest.mark.parametrize("device_name", ["toy", "npu1"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_schedule_takes_what_is_alive_at_least_and_has_room(operator: str, device_name: str) -> None:
    """What check-memory counts is never more than what has been given addresses, which is never more than there is."""
    device = load_device(device_name)
    module = npuflow.parse(PROGRAMS[operator], npuflow.new_context())
    npuflow.run_pipeline(module, f"npuflow-stream-k{{device={device_name} bundle-matmuls=true}}")
    (function,) = ops_of(module.operation, "func.func")
    (compiled,) = npuflow.compile(PROGRAMS[operator], device=device_name, split=False).functions
    ends = used_bytes(compiled.compiled.schedule, device)
    l1, (l2, held) = peak_of(function, 2)[0], peak_of(function, 1)
    stored = l2 - (sum(map(padding_bytes, held)) if device.dma(2).pads_with_zeros else 0)
    assert 0 < l1 <= max(end for memory, end in ends.items() if memory.level == 1)
    assert 0 < stored <= sum(end for memory, end in ends.items() if memory.level == 2)
    assert all(end <= device.level(memory.level).usable_bytes for memory, end in ends.items())


WINDOWS_SUMMED = """
func.func @f(%x: tensor<64x9x9xf32>, %w: tensor<32x64x3x3xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x7x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x7x7xf32>) -> tensor<32x7x7xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(c, y, x, k, i, j) -> (k, y + i, x + j)>,
      affine_map<(c, y, x, k, i, j) -> (c, k, i, j)>, affine_map<(c, y, x, k, i, j) -> (c, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<64x9x9xf32>, tensor<32x64x3x3xf32>) outs(%f : tensor<32x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<32x7x7xf32>
  %o = tensor.empty() : tensor<32xf32>
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<32xf32>) -> tensor<32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, y, x) -> (c, y, x)>, affine_map<(c, y, x) -> (c)>],
      iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%y : tensor<32x7x7xf32>) outs(%g : tensor<32xf32>)
      attrs = {npu.strategy = #npu.strategy<{stream = [PIECES], tile_l1 = [2], grid = [2, 2]}>} {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<32xf32>
  return %r : tensor<32xf32>
}
"""


@pytest.mark.parametrize("pieces", ["1, 7", "2, 3", "1, 3", "7, 2", "7, 7"])
def test_what_is_left_of_windows_takes_no_more_room_than_was_said(pieces: str) -> None:
    """Weights, which no piece changes, have one buffer; the last piece of an image has its own, with its halo."""
    device, sink = load_device("npu2"), DiagnosticSink()
    text = WINDOWS_SUMMED.replace("PIECES", pieces)
    (compiled,) = npuflow.compile(text, device="npu2", split=False, sink=sink).functions
    buffers = [one for one in compiled.compiled.schedule.buffers.values() if one.level == 1]
    taken = sum(aligned_slot_bytes(one, device.level(1).alignment_bytes) * one.depth for one in buffers)
    (said,) = [int(m[1]) for d in sink.diagnostics if (m := re.search(r"L1 (\d+) of", d.message))]
    assert taken <= said


MATMUL = Product(Kind.MATMUL, Kind.MATMUL.sizes_of(512, 512, 512), Types("i8", "i32")).text()
TOO_MUCH = (
    (Constraint.L1, Strategy((4, 4), (512, 512, 512), (128, 128, 64), (4, 8, 8), depth_l2=1, depth_l1=2)),
    (Constraint.L1, Strategy((4, 4), (256, 256, 512), (64, 64, 512), (4, 8, 8), depth_l2=1, depth_l1=2)),
    (Constraint.L2, Strategy((2, 2), (128, 128, 4096), (64, 64, 64), (4, 8, 8), depth_l2=2, depth_l1=1)),
)


@pytest.mark.parametrize(("constraint", "strategy"), TOO_MUCH)
def test_what_is_said_to_fit_instead_has_a_schedule_with_room(constraint: Constraint, strategy: Strategy) -> None:
    device = load_device("npu1")
    (obstacle,) = obstacles(matmul_group(512, 512, 512), strategy, device)
    nearest = obstacle.nearest
    assert obstacle.constraint is constraint
    assert obstacle.need > obstacle.have
    assert nearest is not None
    (m, n, k), (rows, columns) = nearest.tile_l1, nearest.grid
    block = (m * rows, n * columns, k * -(-nearest.tile_l2[2] // k))
    sizes = {"grid": nearest.grid, "tile-l1": nearest.tile_l1, "tile-l2": block, "pack": nearest.pack}
    said = " ".join(f"{name}={','.join(map(str, size))}" for name, size in sizes.items())
    options = f"{said} depth-l2={nearest.depth_l2} depth-l1={nearest.depth_l1}"
    (compiled,) = npuflow.compile(MATMUL, f"npuflow-stream-k{{{options}}}", device="npu1", split=False).functions
    ends = used_bytes(compiled.compiled.schedule, device)
    assert all(end <= device.level(memory.level).usable_bytes for memory, end in ends.items())
