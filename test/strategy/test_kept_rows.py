"""What the estimate knows of rows that are kept: a step's buffers in L1, all of a tile in L2, results that leave."""

from __future__ import annotations

import sys
from pathlib import Path

import npuflow
from npuflow.core.passes import ops_of
from npuflow.fusion.overlap_tiles import overlapped
from npuflow.fusion.window_chain import WindowChain, chain_of
from npuflow.ops.bundle import make_bundle
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.room import l1_buffers, l2_buffers
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parent.parent / "pipelines"))
from window_chains import Window, chain


def test_buffers_and_traffic_of_steps() -> None:
    """Two 3x3 convolutions of 8 channels in i8, 16x16 results, one tile of which a core makes 4 rows in a step."""
    module = npuflow.parse(chain(20, 8, Window(channels=8), Window(channels=8)), npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-normalize-linalg")
    found = chain_of(ops_of(module.operation, "linalg.generic"))
    assert isinstance(found, WindowChain)
    tiled = found.tiled((16, 16), 4)
    group, device = group_of_bundle(make_bundle(overlapped(tiled).ops)), load_device("npu2")
    assert group.keeps_rows
    strategy = complete(group, tiled.pieces(), device)
    mapping = mapping_of(group, strategy)
    result = next(tensor.name for tensor in group.outputs)
    in_l1 = {slots.name: slots.slot_bytes for slots in l1_buffers(group, mapping)}
    image, line, made = 20 * 8, 18 * 8, 16 * 8
    assert in_l1[result] == 4 * made
    # A step reads 6 rows of the image; the two first rows of the first convolution are read from 4 more.
    assert in_l1["in0"] == (6 + 2) * image
    # Sums and what is made of them: a line has two rows more.
    assert {(4 + 2) * line, 4 * line * 4, 4 * made * 4} <= {*in_l1.values()}
    in_l2 = {slots.name: slots.slot_bytes for slots in l2_buffers(group, mapping, device.columns)}
    assert in_l2[result] == 16 * made
    assert in_l2["in0"] == 20 * image
    transfers = Estimate(group, device).transfers(mapping)
    assert transfers[result].bytes == 16 * made
    assert transfers[result].visits == 1
    assert transfers["in0"].bytes == 20 * image
