"""Buffers with more slots: one descriptor goes through all of them, by its iteration."""

from __future__ import annotations

from pathlib import Path

import npuflow
from npuflow.schedule.assign.more_slots import with_slots
from npuflow.schedule.assign.setup import channel_descriptors
from npuflow.simulate.home_ports import HOME_LEVEL

MATMUL = """
func.func @matmul(%a: tensor<256x1024xbf16>, %b: tensor<1024x256xbf16>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %sums = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %found = linalg.matmul ins(%a, %b : tensor<256x1024xbf16>, tensor<1024x256xbf16>)
      outs(%sums : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %found : tensor<256x256xf32>
}"""


def test_more_slots_take_no_more_descriptors_than_two(tmp_path: Path) -> None:
    file = tmp_path / "matmul.mlir"
    file.write_text(MATMUL)
    part = npuflow.compile(file, device="npu2").functions[0].compiled
    two = {name: 2 for name, one in part.schedule.buffers.items() if one.level == HOME_LEVEL and one.depth == 2}
    assert two
    taken = {
        depth: channel_descriptors(with_slots(part.schedule, dict.fromkeys(two, depth)), part.device, HOME_LEVEL)
        for depth in (2, 3, 16)
    }
    assert taken[2] == channel_descriptors(part.schedule, part.device, HOME_LEVEL)
    assert taken[3] == taken[16], "an iteration goes through any number"
    assert all(taken[16][place] <= count for place, count in taken[2].items())
    assert sum(taken[16].values()) < sum(taken[2].values())


def test_no_slots_are_the_schedule_itself() -> None:
    part = npuflow.compile(MATMUL, device="npu2").functions[0].compiled
    assert with_slots(part.schedule, {}) is part.schedule
