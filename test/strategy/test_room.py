"""What a mapping takes of memories and descriptors: arithmetic a person can redo, and what pipelines really take."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import static_matmuls
from npuflow.ops.linear import Linear
from npuflow.strategy.describe_group import group_of_matmul
from npuflow.strategy.group import Group, N, Role, Tensor, Tiles
from npuflow.strategy.lane_descriptors import TileDma
from npuflow.strategy.mapping import Depths, Mapping, Spread, mapping_of
from npuflow.strategy.room import (
    fits,
    fullest_l2_bytes,
    home_room,
    l1_buffers,
    l1_descriptors,
    l2_buffers,
    l2_descriptors,
    total_l1_bytes,
)
from npuflow.strategy.strategy import Strategy
from npuflow.target import load_device
from npuflow.target.planned import planned

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, TailOperand, matmul_group

ROW, COLUMN, SUMMED = (Linear(((loop, 1),)) for loop in range(3))
LIMITS = load_device("npu2").dma(2).pattern
ONE_CORE = TileDma(rows=1, channels_out=6, groups=1, lanes=2, leaving=1, pattern=LIMITS)

ELEMENT_BYTES = {"i8": 1, "i32": 4}
STRATEGY = Strategy((2, 2), (64, 64, 256), (32, 32, 32), (4, 8, 8), depth_l2=2, depth_l1=2)
OPTIONS = "device=npu1 grid=2,2 tile-l2=64,64,256 tile-l1=32,32,32 pack=4,8,8"
BIAS = (TailOperand((N,), 4),)
BIASED = matmul_group(100, 130, 300, result_bytes=1, tail_operands=BIAS)


def elementwise(*inputs: tuple[Linear, ...]) -> Group:
    """Inputs of a 64x128 f32 op along the given dimensions."""
    tensors = [Tensor(f"in{i}", Role.INPUT, dims, (64, 128)[: len(dims)], 4) for i, dims in enumerate(inputs)]
    tensors.append(Tensor("out", Role.OUTPUT, (ROW, COLUMN), (64, 128), 4))
    return Group((64, 128), 2, (), tuple(tensors), (), pads_streamed=False)


def mapped(tiles: Tiles, grid: tuple[int, int] = (1, 1), l2: int = 2) -> Mapping:
    """Rows along the first loop and columns along the second, with two slots of what comes in and one of results."""
    return Mapping(tuple(tiles), Spread(grid, 0, 1), Depths(l2, 2, 1), (0, 1))


def npu2(groups: int = 2) -> TileDma:
    return TileDma(rows=4, channels_out=6, groups=groups, lanes=2, leaving=1, pattern=LIMITS)


def test_descriptors_count_slots_and_the_rows_that_take_their_own() -> None:
    both = (ROW, COLUMN)
    group, mapping = elementwise(both, both), mapped((16, 16), (4, 8))
    # Two inputs of 2 slots, each filled once and handed to 4 rows; a result of 1 slot, gathered from 4 rows.
    assert l2_descriptors(group, mapping, 4, npu2(groups=1)) == 2 * 2 * (1 + 4) + (4 + 1)
    # A lane each; out-channels 0 and 1 for all rows, 2 for results, whose in-channels are 2 to 5.
    assert l2_descriptors(group, mapping, 4, npu2()) == 2 * (1 + 4) + 2 + 1
    assert l2_descriptors(group, mapped((16, 16), (4, 8), l2=1), 4, npu2()) == 1 * (1 + 4) + 2 + 1


def test_windows_that_no_pattern_copies_out_take_a_descriptor_for_each_part() -> None:
    """A convolution of 2 rows, 5 deep and 6 wide, 3x3x3 of 2 channels: whole boxes leave L2 by one descriptor."""
    assert (LIMITS.dims, LIMITS.iteration_max) == (4, 63)
    volume = Linear(((4, 1),)), Linear(((2, 1), (5, 1))), Linear(((0, 1), (6, 1))), Linear(((3, 1), (7, 1)))
    boxes = Tensor("in", Role.INPUT, volume, (2, 7, 10, 8), 2)
    group = Group((8, 4, 5, 6, 2, 3, 3, 3), 4, (4, 5, 6, 7), (boxes,), (), pads_streamed=False)

    def taken(group: Group, *tiles: int) -> int:
        return l2_descriptors(
            group, Mapping(tiles, Spread((4, 1), 0, 1), Depths(1, 1, 1), (0, 1, 2, 3)), 1, npu2(groups=1)
        )

    gathered = replace(group, tensors=(replace(boxes, gathered=True),))
    assert taken(group, 2, 4, 5, 6, 2, 3, 3, 3) == 4 * (1 + 1)
    # Rows are gone through by the iteration; depths and pixels of a row have no dimension left beside windows.
    assert taken(gathered, 2, 4, 5, 6, 2, 3, 3, 3) == 4 * (1 + 5 * 6)
    # One deep, windows of a channel go on where those of the one before end: four dimensions and the iteration.
    assert taken(gathered, 2, 4, 1, 6, 2, 3, 3, 3) == 4 * (1 + 1)


def test_what_follows_the_rows_alone_has_channels_of_its_own() -> None:
    group = elementwise((ROW, COLUMN), (ROW, COLUMN), (ROW,))
    # 20 of what follows columns in the odd group; 2 slots, filled and handed to one row, and results in the even one.
    assert l2_descriptors(group, mapped((16, 16), (4, 8)), 4, npu2()) == 20 + 2


def test_results_that_overhang_take_a_descriptor_for_each_way_to_be_cut_off() -> None:
    group = elementwise((ROW, COLUMN))
    # 2 + 2 of the input; a result's slot is filled once, and leaves whole, without 6 rows, without 12 columns, or both.
    assert l2_descriptors(group, mapped((16, 16)), 1, ONE_CORE) == 4 + 1 + 1
    assert l2_descriptors(group, mapped((14, 28)), 1, ONE_CORE) == 4 + 1 + 2 * 2


def test_the_left_over_piece_of_a_streamed_loop_takes_descriptors_of_its_own() -> None:
    row = Tensor("row", Role.INPUT, (ROW, SUMMED), (1, 10), 1)
    for pads, pieces in ((False, 2), (True, 1)):
        group = Group((1, 1, 10), 2, (2,), (row,), (), pads_streamed=pads)
        assert l2_descriptors(group, mapped((1, 1, 5)), 1, ONE_CORE) == 4
        assert l2_descriptors(group, mapped((1, 1, 4)), 1, ONE_CORE) == 4 * pieces
        # Beside a core, each of the two slots takes one.
        assert l1_descriptors(group, mapped((1, 1, 5))) == 2
        assert l1_descriptors(group, mapped((1, 1, 4))) == 2 * pieces


def test_the_left_over_piece_of_a_streamed_loop_has_buffers_of_its_own_even_between_ops() -> None:
    row = Tensor("row", Role.INPUT, (SUMMED,), (10,), 1)
    wide = Tensor("wide", Role.LOCAL, (SUMMED,), (10,), 4)
    group = Group((1, 1, 10), 2, (2,), (row, wide), (), pads_streamed=False)
    even, uneven = (l1_buffers(group, mapped((1, 1, piece))) for piece in (5, 4))
    assert total_l1_bytes(even, 1) == 2 * 5 + 4 * 5
    # 10 = 4 + 4 + 2: pieces of 4 and a last one of 2.
    assert total_l1_bytes(uneven, 1) == 2 * (4 + 2) + 4 * (4 + 2)
    assert total_l1_bytes(uneven, 32) == 2 * (32 + 32) + (32 + 32)


def test_what_is_left_over_has_buffers_of_its_own_for_what_goes_along_it_or_further_in() -> None:
    """Taps over 10 rows of 7 places, 4 and 3 at a time; what is left are 2 and 1, which read 4 and 3 of the image."""
    image = Tensor("in", Role.INPUT, (Linear(((2, 1), (4, 1))), Linear(((3, 1), (4, 1)))), (12, 9), 1)
    rows, places = (
        Tensor(f"of {loop}", Role.INPUT, (Linear(((loop, 1),)),), ((10,), (7,))[loop - 2], 1) for loop in (2, 3)
    )
    taps = Tensor("taps", Role.INPUT, (Linear(((4, 1),)),), (3,), 1)
    group = Group((1, 1, 10, 7, 3), 2, (2, 3), (image, rows, places, taps), (), pads_streamed=False)
    found = l1_buffers(group, mapped((1, 1, 4, 3, 3)))
    sizes = {t.name: [one.slot_bytes for one in found if one.name == t.name] for t in group.tensors}
    assert sizes["in"] == [6 * 5, 4 * 5, 6 * 3, 4 * 3]
    assert sizes["of 2"] == [4, 2]
    assert sizes["of 3"] == [3, 3, 1, 1]
    assert sizes["taps"] == [3]


def window(size: int, dilation: int, results: int) -> Group:
    """Three taps over a vector of `size`, for `results` of them and 8 channels: what is missing is zeros."""
    dims = (Linear(((0, 1), (2, dilation))), COLUMN)
    image, result = (
        Tensor("in", Role.INPUT, dims, (size, 8), 1),
        Tensor("out", Role.OUTPUT, dims[1:], (8,), 1),
    )
    return Group((results, 8, 3), 2, (), (image, result), (), pads_streamed=False)


def l2_bytes(group: Group, tiles: Tiles, *, clips: bool) -> int:
    """What the tiles of one core take of the only memory tile."""
    return fullest_l2_bytes(l2_buffers(group, mapped(tiles), 1, clips=clips))


def test_zeros_take_no_room_where_the_dma_of_l2_inserts_them() -> None:
    group = window(10, 5, 10)
    # 10 results reach over 20 elements, 4 over 14: 10 exist. One result reaches over 11. A single block takes one slot.
    assert l2_bytes(group, (10, 8, 3), clips=False) == 20 * 8 + 8
    assert l2_bytes(group, (10, 8, 3), clips=True) == 10 * 8 + 8
    assert l2_bytes(group, (4, 8, 3), clips=True) == 2 * 10 * 8 + 8
    assert l2_bytes(window(12, 5, 12), (1, 8, 3), clips=True) == 2 * 11 * 8 + 8


def test_blocks_that_edges_cut_off_take_descriptors_of_their_own() -> None:
    # 2 slots, filled and emptied; a result of 1 slot. Whole, in two halves, and of many blocks those at the edges.
    for tile, ways in ((10, 1), (5, 2), (1, 3 + 10)):
        expected = 2 * 2 * min(ways, -(-10 // tile)) + 2
        assert l2_descriptors(window(10, 5, 10), mapped((tile, 8, 3)), 1, ONE_CORE, clips=True) == expected
    assert l2_descriptors(window(100, 1, 100), mapped((10, 8, 3)), 1, ONE_CORE, clips=True) == 2 * 2 * 3 + 2
    assert l2_descriptors(window(100, 1, 98), mapped((7, 8, 3)), 1, ONE_CORE, clips=True) == 2 * 2 + 2


def test_buffers_of_a_matmul_by_hand() -> None:
    """L1: 2 x 32 x 32 of each operand, 32 x 32 x 4 sums, 32 x 32 results, 32 x 4 bias; L2: 64-wide likewise."""
    streamed, whole = (mapping_of(BIASED, STRATEGY, whole_k=whole_k) for whole_k in (False, True))
    assert [str(b) for b in l1_buffers(BIASED, streamed)] == [
        "lhs 2x1024",
        "rhs 2x1024",
        "acc 4096",
        "result 1024",
        "tail0 128",
    ]
    assert [b.bytes for b in l1_buffers(BIASED, streamed)] == [2048, 2048, 4096, 1024, 128]
    assert [b.bytes for b in l2_buffers(BIASED, streamed, 4)] == [32768, 32768, 4096, 256]
    # 300 is padded to 2 x 256.
    assert [b.bytes for b in l2_buffers(BIASED, whole, 4)] == [65536, 65536, 4096, 256]
    assert total_l1_bytes(l1_buffers(BIASED, streamed), 1) == 2048 + 2048 + 4096 + 1024 + 128


def test_what_is_divided_by_rows_lies_in_as_many_memory_tiles_as_divide_them_evenly() -> None:
    """Slots of 64 x 256 bytes, of which a memory tile has 32 for its column; of 2 rows' it has one, or of all both."""
    mapping, column = mapping_of(BIASED, STRATEGY), 2 * 32 * 256 + 64 * 32 + 32 * 4
    assert fullest_l2_bytes(l2_buffers(BIASED, mapping, 4)) == 2 * 32 * 256 + column
    assert fullest_l2_bytes(l2_buffers(BIASED, mapping, 1)) == 2 * 64 * 256 + column


def slots(group: Group, strategy: Strategy) -> tuple[dict[str, int], dict[str, int]]:
    """The slots of each buffer in L2 and L1."""
    mapping = mapping_of(group, strategy)
    l2, l1 = l2_buffers(group, mapping, 4), l1_buffers(group, mapping)
    return {b.name: b.depth for b in l2}, {b.name: b.depth for b in l1}


def test_a_matmuls_operand_that_comes_once_has_one_slot() -> None:
    """64 x 32 of the left operand are all of it; of the right one 64 of 1000 columns come at a time."""
    strategy = replace(STRATEGY, tile_l2=(64, 64, 32))
    assert slots(matmul_group(64, 1000, 32), strategy) == (
        {"lhs": 1, "rhs": 2, "result": 1},
        {"lhs": 1, "rhs": 2, "acc": 1},
    )
    # It is the right one that does where m is long, and neither where there is another batch or piece of K.
    assert slots(matmul_group(1000, 64, 32), strategy)[1] == {"lhs": 2, "rhs": 1, "acc": 1}
    assert slots(matmul_group(64, 64, 32), strategy)[1] == {"lhs": 1, "rhs": 1, "acc": 1}
    assert slots(matmul_group(64, 64, 32, batch=2), strategy)[1] == {"lhs": 2, "rhs": 2, "acc": 1}
    assert slots(matmul_group(64, 64, 33), strategy)[1] == {"lhs": 2, "rhs": 2, "acc": 1}


def test_what_comes_into_l2_once_may_come_into_l1_piece_by_piece() -> None:
    """All 256 of K are in L2 at once, and 32 of them in L1."""
    assert slots(matmul_group(64, 64, 256), STRATEGY) == (
        {"lhs": 1, "rhs": 1, "result": 1},
        {"lhs": 2, "rhs": 2, "acc": 1},
    )


def test_an_operand_that_comes_once_has_one_slot_whatever_is_said_of_it() -> None:
    said = replace(STRATEGY, tile_l2=(64, 64, 32), depth_lhs=(3, 4), depth_rhs=(3, 4))
    l2, l1 = slots(matmul_group(64, 1000, 32), said)
    assert (l2["lhs"], l1["lhs"]) == (1, 1)
    assert (l2["rhs"], l1["rhs"]) == (3, 4)


def test_an_operand_that_comes_once_takes_one_descriptor_beside_a_core() -> None:
    """1 of what comes once, 2 of the other operand, and 1 of the result."""
    group, strategy = matmul_group(64, 1000, 32), replace(STRATEGY, tile_l2=(64, 64, 32))
    assert l1_descriptors(group, mapping_of(group, strategy)) == 1 + 2 + 1
    group = matmul_group(1000, 1000, 32)
    assert l1_descriptors(group, mapping_of(group, strategy)) == 2 + 2 + 1


PLAIN = """
func.func @f(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<{m}x{n}xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>) outs(%f : tensor<{m}x{n}xi32>)
      -> tensor<{m}x{n}xi32>
  return %r : tensor<{m}x{n}xi32>
}}
"""


@pytest.mark.parametrize(("m", "n", "k"), [(64, 256, 32), (256, 64, 32), (64, 64, 32), (64, 64, 256), (256, 256, 32)])
def test_schedules_have_the_slots_that_room_is_counted_for(m: int, n: int, k: int) -> None:
    options = OPTIONS.replace("64,64,256", "64,64,32") + " depth-l2=2 depth-l1=2"
    source = PLAIN.format(m=m, n=n, k=k)
    compiled = npuflow.compile(source, device="npu1", pipeline=f"npuflow-stream-k{{{options}}}")
    (function,) = compiled.functions
    buffers = function.compiled.schedule.buffers.values()
    l2, l1 = slots(matmul_group(m, n, k), replace(STRATEGY, tile_l2=(64, 64, 32)))
    for level, counted in ((2, l2), (1, l1)):
        assert sorted(b.depth for b in buffers if b.level == level) == sorted(counted.values())


BIAS_TAIL = """
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%a: tensor<100x300xi8>, %b: tensor<300x130xi8>, %bias: tensor<130xi32>,
    %c: tensor<100x130xi32>) -> tensor<100x130xi8> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<100x130xi32>
  %o = tensor.empty() : tensor<100x130xi8>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<100x130xi32>) -> tensor<100x130xi32>
  %r = linalg.matmul ins(%a, %b : tensor<100x300xi8>, tensor<300x130xi8>) outs(%f : tensor<100x130xi32>)
      -> tensor<100x130xi32>
  %t = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d1)>, #same],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias : tensor<100x130xi32>, tensor<130xi32>) outs(%o : tensor<100x130xi8>) {
  ^bb0(%x: i32, %y: i32, %out: i8):
    %s = arith.addi %x, %y : i32
    %u = arith.trunci %s : i32 to i8
    linalg.yield %u : i8
  } -> tensor<100x130xi8>
  return %t : tensor<100x130xi8>
}
"""


@pytest.mark.parametrize("is_filled", [True, False])
def test_the_group_of_the_source_has_the_tensors_that_are_counted(is_filled: bool) -> None:
    source = BIAS_TAIL if is_filled else BIAS_TAIL.replace("outs(%f", "outs(%c")
    module = npuflow.parse(source, npuflow.new_context())
    (matmul,) = static_matmuls(module.operation)
    group = matmul_group(100, 130, 300, result_bytes=1, tail_operands=BIAS, is_filled=is_filled)
    described = group_of_matmul(matmul)
    assert (described.sizes, described.tensors) == (group.sizes, group.tensors)


ALLOCATED = re.compile(r"memref<([0-9x]+)x(i8|i32), ([12])>")


def slot_bytes(source: str, pipeline: str, space: int) -> list[int]:
    """The sizes of all buffers in a memory space that a pipeline allocates."""
    module = npuflow.parse(source, npuflow.new_context())
    npuflow.run_pipeline(module, f"{pipeline}{{{OPTIONS}}}")
    found = [ALLOCATED.fullmatch(str(op.results[0].type)) for op in ops_of(module.operation, "memref.alloc")]
    inner = [match for match in found if match is not None and int(match[3]) == space]
    return sorted(prod(map(int, match[1].split("x"))) * ELEMENT_BYTES[match[2]] for match in inner)


@pytest.mark.parametrize("is_filled", [True, False])
@pytest.mark.parametrize(("pipeline", "whole_k"), [("npuflow-stream-k", False), ("npuflow-pad-pack", True)])
def test_the_pipelines_allocate_the_buffers_that_are_counted(pipeline: str, whole_k: bool, is_filled: bool) -> None:
    source = BIAS_TAIL if is_filled else BIAS_TAIL.replace("outs(%f", "outs(%c")
    group = matmul_group(100, 130, 300, result_bytes=1, tail_operands=BIAS, is_filled=is_filled)
    mapping = mapping_of(group, STRATEGY, whole_k=whole_k)
    assert slot_bytes(source, pipeline, space=2) == sorted(b.slot_bytes for b in l1_buffers(group, mapping))
    assert slot_bytes(source, pipeline, space=1) == sorted(b.slot_bytes for b in l2_buffers(group, mapping, 4))


def test_what_is_left_of_a_streamed_loop_has_to_read_something() -> None:
    """20 steps, of which 5 may lie in zeros: pieces of 8 leave 4, which may read nothing, pieces of 7 leave 6."""
    tensors = (Tensor("in", Role.INPUT, (ROW, COLUMN), (4, 15), 1), Tensor("out", Role.OUTPUT, (ROW,), (4,), 1))
    group, device = Group((4, 20), 1, (1,), tensors, (), pads_streamed=False), DEVICES["toy"]
    fitting = {
        piece: fits(group, Mapping((4, piece), Spread((1, 1), 0, 0), Depths(), (0,)), device) for piece in (5, 7, 8)
    }
    assert fitting == {5: True, 7: True, 8: False}


def numbered(group: Group) -> Group:
    """The group whose tensors are numbered in their order, results last."""
    return replace(group, tensors=tuple(replace(each, number=n) for n, each in enumerate(group.tensors)))


def test_what_stays_has_the_room_that_a_group_leaves() -> None:
    tensors = numbered(elementwise((ROW, COLUMN)))
    # 16x32 f32 of one operand and one result, two slots in and one out; 2x3 of 6 scratchpads are used.
    npu4, tile_bytes = planned(load_device("npu4.0")), 16 * 32 * 4
    level = npu4.level(npu4.kernel_level)
    left = level.usable_bytes - 3 * tile_bytes
    assert home_room(tensors, mapped((16, 32), (2, 3)), npu4, 0) == (left,) * 6
    assert home_room(tensors, mapped((16, 32), (1, 2)), npu4, 1) == (left,) * 2 + (level.usable_bytes,) * 4
    # Blocks of 64x64 in two memory tiles: a column's 64x32 f32, two slots in and one out; others are as they were.
    npu2 = load_device("npu2")
    tile = npu2.level(npu2.block_level).usable_bytes
    for number in range(2):
        room = home_room(tensors, mapped((16, 32), (4, 2)), npu2, number)
        assert room == (tile - 3 * 64 * 32 * 4,) * 2 + (tile,) * 6
    assert home_room(tensors, mapped((16, 32)), load_device("toy-scratchpad"), 0) == ()


def test_what_stays_takes_a_channel_of_a_memory_tile() -> None:
    npu2 = load_device("npu2")
    tile = npu2.level(npu2.block_level).usable_bytes
    two = numbered(elementwise((ROW, COLUMN), (ROW, COLUMN)))
    # Two operands in a lane each, one of which has a channel for each of 4 rows, and results take all 6; 2 rows 5.
    assert home_room(two, mapped((16, 32), (4, 2)), npu2, 0) == (0,) * 2 + (tile,) * 6
    assert home_room(two, mapped((16, 32), (2, 2)), npu2, 0)[0] == tile - (4 + 1) * 32 * 32 * 4
    # Who doesn't move it needs none.
    assert home_room(two, mapped((16, 32), (4, 2)), npu2, 3)[0] == tile - (4 + 1) * 64 * 32 * 4
    # Two operands and results of four rows take all 6 channels into a tile: of 128 columns each of two tiles collects
    # 32 in turn and so needs none more, where one of three would collect more than the others; and two rows leave two.
    assert home_room(two, mapped((16, 32), (4, 2)), npu2, 2)[0] == tile - (4 + 1) * 64 * 32 * 4
    assert home_room(two, mapped((16, 32), (4, 3)), npu2, 2) == (0,) * 3 + (tile,) * 5
    assert home_room(two, mapped((16, 32), (2, 3)), npu2, 2)[0] == tile - (4 + 1) * 32 * 32 * 4
    # What follows the rows alone has a lane of its own: then no other has a channel for each row.
    bias = numbered(elementwise((ROW, COLUMN), (ROW,)))
    assert min(home_room(bias, mapped((16, 4), (4, 8)), npu2, 0)) > 0


def test_a_lane_that_brings_more_for_all_rows_than_for_each_is_one_channel() -> None:
    """Queries, of which each core has its own, beside keys and values that all rows read, so many numbers of each."""
    npu2 = load_device("npu2")

    def left(numbers: int) -> int:
        queries = Tensor("queries", Role.INPUT, (ROW, COLUMN), (64, 128), 4)
        shared = (Tensor(name, Role.INPUT, (COLUMN, SUMMED), (128, numbers), 4) for name in ("keys", "values"))
        made = Tensor("out", Role.OUTPUT, (ROW, COLUMN), (64, 128), 4)
        group = numbered(Group((64, 128, numbers), 2, (), (queries, *shared, made), (), pads_streamed=False))
        return home_room(group, mapped((8, 16, numbers), (4, 8)), npu2, 1)[0]

    # 512 bytes of queries for each of 4 rows take a lane by themselves beside 2 x 64 numbers, a channel for each row:
    # with the other lane's and that of results all 6 are taken. Of 2 x 4096 bytes each lane brings more for all rows.
    assert left(1) == 0
    assert left(64) > 0
