"""What a schedule has set up, without the channels that do something else then."""

from __future__ import annotations

import npuflow
from npuflow.network.phases import StoreKind
from npuflow.schedule.assign.setup import KernelImage, channel_descriptors, setup_of
from npuflow.target import load_device

NPU2 = load_device("npu2")
MATMUL = """
func.func @f(%x: tensor<64x64xi8>, %w: tensor<64x64xi8>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x64xi32>
  %sums = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x64xi32>) -> tensor<64x64xi32>
  %r = linalg.matmul ins(%x, %w : tensor<64x64xi8>, tensor<64x64xi8>) outs(%sums : tensor<64x64xi32>)
      -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}
"""


def test_channels_that_do_something_else_have_nothing_set_up() -> None:
    function = npuflow.compile(MATMUL, device="npu2")["f"].compiled
    images = {name: KernelImage(name, 1) for name in function.shapes}
    taken = channel_descriptors(function.schedule, NPU2, 2)
    assert taken
    one = next(place for place, count in taken.items() if count)
    for without in ([], [one], list(taken)):
        setup = setup_of(function.schedule, NPU2, images, without)
        found = sum(
            piece.size
            for store, pieces in setup.items()
            if store.kind is StoreKind.DESCRIPTORS and store.level == 2
            for piece in pieces
        )
        assert found == sum(count for place, count in taken.items() if place not in without)
