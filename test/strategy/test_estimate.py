"""The estimate that ranks mappings: what it counts, and that it ranks as the simulator does, matmuls and bundles."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import npuflow
from npuflow.execute.arrays import functions_of
from npuflow.network.groups import groups_of
from npuflow.ops.bundle import make_bundle
from npuflow.ops.grown import find_bundles
from npuflow.report.losses import without_launch
from npuflow.schedule.kernels.kernel_cycles import KernelShape, kernel_cycles
from npuflow.simulate.program import FlatAccess, FlatControl, FlatLoop, FlatReceive, FlatSend, FlatStep
from npuflow.simulate.run import simulate
from npuflow.simulate.runs import runs_of
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate, OuterTransfer
from npuflow.strategy.group import Group, N
from npuflow.strategy.mapping import Mapping, mapping_of, strategy_of
from npuflow.strategy.room import fits
from npuflow.strategy.search import Search
from npuflow.strategy.space import space_of
from npuflow.strategy.strategy import Sizes, Strategy, Tile
from npuflow.target import Device, load_device
from npuflow.target.planned import planned
from npuflow.target.runs import DramRuns

sys.path.insert(0, str(Path(__file__).parent))
from problems import ELEMENT_BYTES, TailOperand, matmul_group

NPU2 = load_device("npu2")
SIZES = (1024, 512, 256)
STRATEGY = Strategy((4, 8), (256, 256, 256), (64, 32, 64), (8, 8, 8), depth_l2=2, depth_l1=2)


def matmul_text(m: int, n: int, k: int, said: str) -> str:
    return f"""
func.func @matmul(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{m}x{n}xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %c = linalg.matmul {{{said}}} ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>)
                     outs(%init : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  return %c : tensor<{m}x{n}xi32>
}}
"""


def transfers(group: Group, strategy: Strategy = STRATEGY, device: Device = NPU2) -> dict[str, OuterTransfer]:
    return Estimate(group, device).transfers(mapping_of(group, strategy))


def descriptors(group: Group, strategy: Strategy = STRATEGY) -> dict[str, int]:
    return {name: each.descriptors for name, each in transfers(group, strategy).items()}


def test_loops_that_a_descriptor_covers_need_no_others() -> None:
    """4 blocks along m, 2 along n.

    The left operand goes through 4 rows' channels. With all of K it is there for both blocks along n, and its loop
    along m is covered. The right one's loop along n is covered, and both of the result's.
    """
    assert descriptors(matmul_group(*SIZES)) == {"lhs": 4, "rhs": 8 * 4, "result": 8}


def test_what_is_there_in_part_comes_again() -> None:
    """With half of K at a time the left operand comes for every block; a descriptor covers the loop along K."""
    assert descriptors(matmul_group(1024, 512, 512)) == {"lhs": 4 * 4 * 2, "rhs": 8 * 4, "result": 8}


def test_blocks_that_are_cut_off_need_descriptors_of_their_own() -> None:
    """1000 rows are no multiple of 256: the loop along m is not covered. 500 columns: neither is the one along n."""
    assert descriptors(matmul_group(1000, 512, 256)) == {"lhs": 4 * 4, "rhs": 8 * 4, "result": 8 * 4}
    assert descriptors(matmul_group(1000, 500, 256)) == {"lhs": 4 * 4, "rhs": 8 * 4 * 2, "result": 8 * 4 * 2}


def test_what_shares_a_channel_is_set_up_block_by_block() -> None:
    """A bias along n takes the right operand's channels."""
    found = descriptors(matmul_group(*SIZES, tail_operands=(TailOperand((N,), 4),)))
    assert found == {"lhs": 4, "rhs": 8 * 4 * 2, "tail0": 8 * 4 * 2, "result": 8}


def test_a_step_that_no_stride_can_take_is_not_covered() -> None:
    """Blocks of 256 rows of 8 KiB lie 2 MiB apart, and of 256 rows of 32 KiB 8 MiB: a stride reaches 4 MiB."""
    assert NPU2.dma(3).pattern.stride_max * NPU2.dma(3).pattern.granule_bytes == 4 << 20
    for k, count in ((8192, 4), (32768, 4 * 4)):
        strategy = replace(STRATEGY, tile_l2=(256, 256, k))
        assert descriptors(matmul_group(1024, 256, k), strategy)["lhs"] == count


def test_runs_that_adjoin_count_as_one_where_the_device_joins_them() -> None:
    """32 bytes per column of a row-major right operand and 128 of the result are runs of 256 and 1024 bytes there."""
    joining = replace(NPU2, dram=replace(NPU2.dram, joins_runs=True))
    group = matmul_group(*SIZES)
    alone, joined = (
        {name: each.dram_seconds for name, each in transfers(group, device=device).items()}
        for device in (NPU2, joining)
    )
    for name, run, pitch, write in (("rhs", 32, 512, False), ("result", 128, 2048, True)):
        overhead = NPU2.dram.run_overhead_bytes(DramRuns(run, pitch), write=write)
        one, eight = ((run * n + overhead) / (run * n) for n in (1, 8))
        assert alone[name] / joined[name] == pytest.approx(one / eight)
    assert alone["lhs"] == pytest.approx(joined["lhs"], rel=1e-3)  # 16 KiB at a time, alone or not


@pytest.mark.parametrize(
    ("sizes", "tile_l2", "tile_l1"),
    [
        ((256, 512, 128), (64, 256, 128), (16, 64, 32)),  # parts of 64 columns of B and C, and whole rows of A
        ((224, 448, 192), (112, 224, 96), (28, 56, 48)),  # 56 and 48 bytes: ends off the edges of bursts
        ((64, 896, 448), (64, 224, 224), (16, 56, 112)),  # A's rows come in two pieces of 224 bytes
    ],
)
def test_runs_cost_what_they_cost_in_schedules(sizes: Sizes, tile_l2: Tile, tile_l1: Tile) -> None:
    """What a byte of each tensor takes of DRAM's time: of the estimate, and of channels on average."""
    device, strategy = load_device("npu1"), Strategy((4, 4), tile_l2, tile_l1, (4, 8, 8), depth_l2=2, depth_l1=2)
    said = f"npu.strategy = #npu.strategy<{{grid = [4, 4], tile_l2 = {list(tile_l2)}, tile_l1 = {list(tile_l1)}}}>"
    program = npuflow.compile(matmul_text(*sizes, said), device="npu1").functions[0].compiled.program
    taken: dict[str, list[float]] = {}
    for engine in program.engines:
        for access in accesses_of(engine.body) if "dram" in engine.ports else ():
            taken.setdefault(access.buffer, []).append(1 + access.run_overhead_bytes / runs_of(access).run_bytes)
    found, rate = transfers(matmul_group(*sizes), strategy, device), device.dram.read_bytes_per_second
    estimated = sorted(each.dram_seconds * rate / each.bytes for each in found.values())
    assert estimated == pytest.approx(sorted(sum(each) / len(each) for each in taken.values()))


def accesses_of(steps: Sequence[FlatStep]) -> Iterator[FlatAccess]:
    for step in steps:
        if isinstance(step, FlatLoop):
            yield from accesses_of(step.body)
        elif isinstance(step, (FlatSend, FlatReceive)):
            yield step.access


def test_dram_is_as_slow_as_what_is_read_where_reads_have_a_rate_of_their_own() -> None:
    """16 MiB are read at 8 GB/s and 0.25 MiB written at 100; all at 10 in sum. Runs of DRAM cost nothing here."""
    dram = replace(NPU2.dram, read_bytes_per_second=8e9, write_bytes_per_second=100e9, total_bytes_per_second=10e9)
    dram = replace(dram, read_run_overhead_bytes=0, write_run_overhead_bytes=0, page_overhead_bytes=0)
    assert busy_seconds(matmul_group(256, 256, 32768), replace(NPU2, dram=dram)) == pytest.approx((16 << 20) / 8e9)
    group, slow = matmul_group(1024, 1024, 8), replace(NPU2, dram=replace(dram, total_bytes_per_second=1e9))
    # In sum: each operand's 8 KiB, the right one for each of 4 blocks along m, the left one once; and 4 MiB of results.
    moved = sum(each.bytes for each in transfers(group, device=slow).values())
    assert busy_seconds(group, slow) == pytest.approx(moved / 1e9)


def busy_seconds(group: Group, device: Device) -> float:
    return Estimate(group, device).parts(mapping_of(group, STRATEGY)).busy_dram_seconds


def set_up_first(group: Group, strategy: Strategy = STRATEGY) -> list[str]:
    return [name for name, each in transfers(group, strategy).items() if each.is_first]


def test_what_is_at_home_takes_nothing_of_dram() -> None:
    group = matmul_group(512, 512, 512)
    named = replace(group, tensors=tuple(replace(each, number=n) for n, each in enumerate(group.tensors)))
    device, (lhs, *_) = load_device("npu2"), group.inputs
    mapping = mapping_of(group, complete(group, Strategy(), device))
    home = named.at_home({group.tensors.index(lhs)})
    before, after = (Estimate(each, device).transfers(mapping) for each in (named, home))
    assert before[lhs.name].dram_seconds > 0
    assert after == before | {lhs.name: replace(before[lhs.name], dram_seconds=0.0)}
    everything = named.at_home({n for n, _ in enumerate(group.tensors)})
    assert Estimate(everything, device).parts(mapping).busy_dram_seconds == 0
    assert (
        Estimate(home, device).parts(mapping).busy_dram_seconds
        < Estimate(named, device).parts(mapping).busy_dram_seconds
    )


def test_what_a_matmuls_tail_reads_is_set_up_ahead_of_its_operands() -> None:
    """Its buffers in L2 are a whole block's, and stand in front of the cores' part."""
    assert set_up_first(matmul_group(256, 256, 256, tail_operands=(TailOperand((N,), 4),))) == ["lhs", "rhs", "tail0"]


def test_results_that_one_descriptor_covers_are_set_up_behind_the_first_operands() -> None:
    """The result's blocks along n are one descriptor, and the right operand's where nothing shares its channels."""
    assert set_up_first(matmul_group(256, 512, 256)) == ["lhs", "rhs"]


def bundle_group(text: str) -> Group:
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = module.body.operations
    (bundle,) = find_bundles(function.operation, GrowthOn(load_device("npu2")))
    return group_of_bundle(bundle)


def vector_text(said: str) -> str:
    """The sum of two rows of 2048 elements."""
    return f"""
#map = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<1x2048xbf16>, %y: tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {{
  %e = tensor.empty() : tensor<1x2048xbf16>
  %s = linalg.generic {{indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %y : tensor<1x2048xbf16>, tensor<1x2048xbf16>) outs(%e : tensor<1x2048xbf16>)
      attrs = {{npu.strategy = {said}}} {{
  ^bb0(%a: bf16, %b: bf16, %_: bf16):
    %sum = arith.addf %a, %b : bf16
    linalg.yield %sum : bf16
  }} -> tensor<1x2048xbf16>
  return %s : tensor<1x2048xbf16>
}}
"""


# Where one column follows what the rows follow, each row's part is a transfer of its own, block by block.
ONE_COLUMN = Strategy((4, 1), spread=(1, 1), tile_l1=(1, 128), order=(0, 1))


@pytest.mark.parametrize("strategy", [Strategy((4, 2), spread=(1, 1), tile_l1=(1, 64), order=(0, 1)), ONE_COLUMN])
def test_setting_up_takes_what_the_control_processor_takes(strategy: Strategy) -> None:
    with npuflow.new_context():
        text = vector_text(str(strategy.to_attribute()))
    (function,) = npuflow.compile(text, device="npu1").functions
    program = function.compiled.program
    (control,) = (engine for engine in program.engines if engine.kind == "control")
    group = bundle_group(text)
    found = Estimate(group, load_device("npu1")).parts(mapping_of(group, strategy)).setting_up_seconds
    assert found * program.clock_hz == pytest.approx(set_up_cycles(control.body))


def set_up_cycles(steps: Sequence[FlatStep]) -> int:
    """What setting up descriptors takes, all turns of loops together."""
    loops = sum(step.count * set_up_cycles(step.body) for step in steps if isinstance(step, FlatLoop))
    own = (step for step in steps if isinstance(step, FlatControl) and step.name == "descriptor")
    return loops + sum(step.cycles for step in own)


@pytest.mark.parametrize("types", [("i8", "i8", "i8"), ("i8", "i8", "i16"), ("i8", "i8", "i32")])
def test_a_product_takes_what_its_kernel_takes(types: tuple[str, str, str]) -> None:
    """144x144x72 on npu2: sums that are narrower are loaded and stored in fewer vectors."""
    group = matmul_group(1152, 1152, 432, types=types)
    shape = KernelShape("matmul", types, 144 * 144, 1, 144 * 144 * 72, 144 * 144 * ELEMENT_BYTES[types[2]])
    assert Estimate(group, NPU2).cycles(0, (144, 144, 1, 72), (8, 8, 8)) == kernel_cycles(shape, NPU2)


def test_blocks_wait_until_results_can_leave() -> None:
    """The same work in one block, and in many small ones with as few transfers to be set up: these wait for results."""
    group, slow = matmul_group(512, 64, 64), replace(NPU2.control, descriptor_seconds=1e-3)
    device = replace(NPU2, control=slow)

    def waiting(tile_m: int) -> float:
        strategy = Strategy((1, 8), (tile_m, 64, 64), (tile_m, 8, 64), (8, 8, 8), depth_l2=2, depth_l1=2)
        alone, waits = (Estimate(group, of).seconds(mapping_of(group, strategy)) for of in (NPU2, device))
        return waits - alone

    assert waiting(8) > waiting(512) + 1e-6


def test_a_short_matmul_turns_the_array_or_takes_less_of_it() -> None:
    """64 columns are 8 for each of 8 columns of the array, but 16 for each of its 4 rows."""
    group = matmul_group(3136, 64, 64)
    free, upright = complete(group, Strategy(), NPU2), complete(group, Strategy(grid=(4, 8)), NPU2)
    estimate = Estimate(group, NPU2)
    assert estimate.seconds(mapping_of(group, free)) < estimate.seconds(mapping_of(group, upright))


@pytest.mark.parametrize("array", [(4, 8), (2, 4), (1, 8)])
def test_an_array_that_is_asked_for_is_taken(array: tuple[int, int]) -> None:
    for group in (matmul_group(*SIZES), matmul_group(8, 512, 256), matmul_group(1024, 8, 256)):
        assert complete(group, Strategy(), NPU2, array=array).array == array


TILES = (
    ((4, 8), (64, 32, 64), 256), ((4, 8), (16, 16, 64), 64), ((4, 8), (128, 8, 32), 256), ((4, 4), (32, 64, 32), 256),
    ((4, 2), (64, 64, 32), 128), ((1, 8), (64, 16, 64), 256), ((4, 8), (8, 64, 128), 256), ((2, 2), (64, 64, 64), 64),
)  # fmt: skip


def simulated(text: str, device: str = "npu2") -> float:
    program = npuflow.compile(text, device=device).functions[0].compiled.program
    return simulate(without_launch(program)).seconds


def ranks(times: list[float]) -> np.ndarray:
    return np.argsort(np.argsort(times))


def test_the_ranking_of_matmuls_is_the_simulators() -> None:
    """Tiles of all kinds on the same problem: ranks correlate by at least 0.9, and the first is near the best."""
    group = matmul_group(*SIZES)
    estimated, times = [], []
    for grid, tile, k2 in TILES:
        block = (tile[0] * grid[0], tile[1] * grid[1], k2)
        fields = f"grid = {list(grid)}, tile_l2 = {list(block)}, tile_l1 = {list(tile)}"
        times.append(simulated(matmul_text(*SIZES, f"npu.strategy = #npu.strategy<{{{fields}}}>")))
        strategy = Strategy(grid, block, tile, (8, 8, 8), depth_l2=2, depth_l1=2)
        estimated.append(Estimate(group, NPU2).seconds(mapping_of(group, strategy)))
    assert np.corrcoef(ranks(estimated), ranks(times))[0, 1] >= 0.9
    assert times[int(np.argmin(estimated))] <= 1.2 * min(times)


NPU1 = load_device("npu1")


def test_what_is_played_out_ranks_pieces_as_the_simulator_does() -> None:
    """A matmul in i16 whose cores and DRAM are busy alike: the shorter the pieces in L2, the earlier cores begin."""
    sizes, played, times = (512, 256, 512), [], []
    group = matmul_group(*sizes, types=("i16", "i16", "i16"))
    for k2, k1 in ((64, 64), (128, 64), (264, 88), (512, 64)):
        fields = f"grid = [4, 4], tile_l2 = [256, 256, {k2}], tile_l1 = [64, 64, {k1}], pack = [4, 4, 4]"
        text = matmul_text(*sizes, f"npu.strategy = #npu.strategy<{{{fields}}}>")
        times.append(simulated(text.replace("i8", "i16").replace("i32", "i16"), "npu1"))
        strategy = Strategy((4, 4), (256, 256, k2), (64, 64, k1), (4, 4, 4), depth_l2=2, depth_l1=2)
        played.append(Estimate(group, NPU1).played_cost(mapping_of(group, strategy)))
    assert list(ranks(played)) == list(ranks(times)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("sizes", "block", "tile", "results"),
    [
        # DRAM is what takes longest, but for the last piece of each block, which is short.
        ((1024, 512, 2048), (352, 256, 320), (88, 64, 80), 1),
        # Into L1 takes longest; while a block's result leaves, it has two parts of the next and no room for more.
        ((256, 2048, 1024), (256, 256, 1040), (64, 64, 104), 1),
        # What is set up first is in L1 and L2, twice in each, before the other operand comes.
        ((256, 256, 1024), (256, 256, 64), (64, 64, 64), 2),
    ],
)
def test_what_is_played_out_takes_as_long_as_the_simulator_says(
    sizes: tuple[int, int, int], block: Tile, tile: Tile, results: int
) -> None:
    fields = f"grid = [4, 4], tile_l2 = {list(block)}, tile_l1 = {list(tile)}, pack = [4, 4, 8]"
    text = matmul_text(*sizes, f"npu.strategy = #npu.strategy<{{{fields}, depth_result = {results}}}>")
    text = text.replace("i8", "bf16").replace("i32", "bf16").replace("constant 0 ", "constant 0.0 ")
    strategy = Strategy((4, 4), block, tile, (4, 4, 8), depth_l2=2, depth_l1=2, depth_result=results)
    group = matmul_group(*sizes, types=("bf16", "bf16", "bf16"))
    estimate, mapping = Estimate(group, NPU1), mapping_of(group, strategy)
    # Beside the time, a fiftieth of DRAM's is counted.
    played = estimate.played_cost(mapping) - 0.02 * estimate.parts(mapping).busy_dram_seconds
    assert played == pytest.approx(simulated(text, "npu1"), rel=0.02)


def test_another_spread_is_taken_where_its_pipeline_is_faster() -> None:
    """Few rows and a long K, bound by DRAM: what the estimate thinks less of is faster, with longer runs of B."""
    sizes = (128, 960, 12288)
    group = matmul_group(*sizes)
    search = Search(space_of(group, Strategy(), NPU2), NPU2)
    by_estimate, played = search.best().best[0], search.played()
    own = next(one for one in played if one.mapping.spread == by_estimate.mapping.spread)
    assert played[0].mapping.spread != own.mapping.spread
    assert played[0].cost > by_estimate.cost

    def time(mapping: Mapping) -> int:
        said = strategy_of(group, mapping, Strategy()).said().items()
        fields = ", ".join(f"{name} = {value if isinstance(value, int) else list(value)}" for name, value in said)
        return simulated(matmul_text(*sizes, f"npu.strategy = #npu.strategy<{{{fields}}}>"))

    assert time(played[0].mapping) < time(own.mapping)


def test_wires_to_a_column_are_shared_by_what_goes_by_rows() -> None:
    """4 rows' parts of A and a column's of B, 5 streams of 4 bytes a cycle, on 16: where either is long, both wait."""
    group, wide = matmul_group(1024, 1024, 1024), replace(NPU1.link(2, 1), lanes=8)
    wider = replace(NPU1, links=tuple(wide if link == NPU1.link(2, 1) else link for link in NPU1.links))
    strategy = Strategy((4, 4), (256, 256, 256), (64, 64, 64), (4, 8, 8), depth_l2=2, depth_l1=2)
    narrow, free = (Estimate(group, of).played_cost(mapping_of(group, strategy)) for of in (NPU1, wider))
    assert narrow > free


def test_runs_in_dram_take_nothing_of_what_reads_and_writes_share() -> None:
    """Reads pay for runs at their own rate; in sum 16 bytes a run go through like any others."""
    slow = replace(NPU2.dram, total_bytes_per_second=1e9)
    group = matmul_group(256, 256, 32768)
    moved = sum(each.bytes for each in transfers(group).values())
    assert busy_seconds(group, replace(NPU2, dram=slow)) == pytest.approx(moved / 1e9)


CONVOLUTION = """
func.func @conv(%x: tensor<1x30x30x64xi8>, %w: tensor<3x3x64x64xi8>) -> tensor<1x28x28x64xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x28x28x64xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x28x28x64xi32>) -> tensor<1x28x28x64xi32>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>,
                       affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>,
                       affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]{said}}}
      ins(%x, %w : tensor<1x30x30x64xi8>, tensor<3x3x64x64xi8>) outs(%init : tensor<1x28x28x64xi32>) {{
  ^bb0(%p: i8, %q: i8, %s: i32):
    %wide_p = arith.extsi %p : i8 to i32
    %wide_q = arith.extsi %q : i8 to i32
    %product = arith.muli %wide_p, %wide_q : i32
    %next = arith.addi %s, %product : i32
    linalg.yield %next : i32
  }} -> tensor<1x28x28x64xi32>
  return %r : tensor<1x28x28x64xi32>
}}
"""
# Grid, spread, tile, streamed piece of the channels: rows, columns and channels over cores; small and large tiles.
STRATEGIES = [
    Strategy(
        grid=g,
        spread=s,
        tile_l1=t,
        order=(0, 1, 2, 3),
        stream=(3, 3, c),
        depth_l2=2,
        depth_l1=2,
        depth_result=1,
        gather=0,
    )
    for g, s, t, c in (
        ((4, 8), (1, 3), (1, 7, 28, 8), 64),
        ((4, 8), (1, 3), (1, 1, 28, 8), 64),
        ((4, 8), (3, 1), (1, 4, 7, 16), 64),
        ((4, 8), (3, 2), (1, 14, 4, 16), 32),
        ((4, 8), (1, 1), (1, 1, 14, 16), 16),
        ((1, 8), (1, 3), (1, 7, 28, 8), 64),
        ((4, 8), (1, 2), (1, 7, 4, 32), 32),
        ((2, 2), (1, 3), (1, 4, 14, 16), 64),
    )
]


@pytest.fixture(scope="module")
def convolution() -> Group:
    return bundle_group(CONVOLUTION.format(said=""))


@pytest.fixture(scope="module")
def times() -> list[float]:
    """What the simulator says of each strategy."""
    with npuflow.new_context():
        said = [f", npu.strategy = {strategy.to_attribute()}" for strategy in STRATEGIES]
    return [simulated(CONVOLUTION.format(said=text)) for text in said]


def test_the_ranking_of_bundles_is_the_simulators(convolution: Group, times: list[float]) -> None:
    """Ranks of strategies of all kinds correlate by at least 0.85, and the first is near the best."""
    estimated = [Estimate(convolution, NPU2).seconds(mapping_of(convolution, one)) for one in STRATEGIES]
    assert np.corrcoef(ranks(estimated), ranks(times))[0, 1] >= 0.85
    assert times[int(np.argmin(estimated))] <= 1.2 * min(times)


def test_the_choice_is_as_good_as_any_of_them(convolution: Group, times: list[float]) -> None:
    assert fits(convolution, mapping_of(convolution, complete(convolution, Strategy(), NPU2)), NPU2)
    assert simulated(CONVOLUTION.format(said="")) <= 1.1 * min(times)


def test_what_has_a_single_slot_comes_while_ops_work_that_do_not_read_it(convolution: Group) -> None:
    """As long as some op reads every input, a core can't work while one arrives; with two slots that is no matter."""
    last = len(convolution.work) - 1
    held = replace(convolution, tensors=tuple(replace(tensor, last_user=last) for tensor in convolution.tensors))
    for depth in (1, 2):
        mapping = mapping_of(convolution, complete(convolution, Strategy(depth_l1=depth, depth_l2=2), NPU2))
        free, waiting = (Estimate(group, NPU2).seconds(mapping) for group in (convolution, held))
        assert (free < waiting) == (depth == 1)


def test_engines_side_by_side_take_as_long_as_the_slower_one() -> None:
    """Of 8 blocks, the faster engine's time is hidden behind 7: it waits for the first, or is waited for at the end."""
    cluster = planned(load_device("npu4.0:1x1"))
    group = matmul_group(1024, 256, 512, result_bytes=1)
    turns = Strategy((1, 1), (128, 256, 512), (128, 256, 512), (16, 16, 16), depth_l2=1, depth_l1=1, depth_result=2)
    apart, beside = (mapping_of(group, replace(turns, depth_between=slots)) for slots in (1, 2))
    estimate = Estimate(group, cluster)
    multiplying, others = (estimate.cycles(number, apart.tiles, apart.pack) for number in (0, 1))
    saved = estimate.parts(apart).core_seconds - estimate.parts(beside).core_seconds
    assert saved == pytest.approx(7 * min(multiplying, others) / cluster.clock_hz)


def test_runs_of_windows_that_overlap_are_not_one_run() -> None:
    """Columns of pixels dealt to columns of cores are read in short runs of their own, each of which costs DRAM."""
    module = npuflow.parse(
        """func.func @f(%x: tensor<1x64x57x57xi8>) -> tensor<1x64x28x28xi8> {
          %c = arith.constant -128 : i8
          %e = tensor.empty() : tensor<1x64x28x28xi8>
          %w = tensor.empty() : tensor<3x3xi8>
          %f = linalg.fill ins(%c : i8) outs(%e : tensor<1x64x28x28xi8>) -> tensor<1x64x28x28xi8>
          %r = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
            ins(%x, %w : tensor<1x64x57x57xi8>, tensor<3x3xi8>) outs(%f : tensor<1x64x28x28xi8>)
            -> tensor<1x64x28x28xi8>
          return %r : tensor<1x64x28x28xi8>
        }""",
        npuflow.new_context(),
    )
    npuflow.run_pipeline(module, "builtin.module(npuflow-normalize-linalg)")
    device = load_device("npu1")
    with module.context:
        (group,) = groups_of(next(iter(functions_of(module.operation))), GrowthOn(device))
        described = group_of_bundle(make_bundle(group.ops))
        by_rows, by_columns = (
            Estimate(described, device).seconds(mapping_of(described, complete(described, said, device)))
            for said in (Strategy(grid=(4, 4), spread=spread, tile_l1=(1, 64, 7, 7)) for spread in ((3, 2), (2, 3)))
        )
    assert by_columns > 3 * by_rows


SPREAD_OUT = """
func.func @f(%x: tensor<127x255xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
  %r = tensor.insert_slice %x into %f[1, 2] [127, 255] [2, 2] : tensor<127x255xf32> into tensor<256x512xf32>
  return %r : tensor<256x512xf32>
}"""


def spread_out(device: Device) -> Group:
    module = npuflow.parse(SPREAD_OUT, npuflow.new_context())
    npuflow.run_pipeline(module, "builtin.module(npuflow-normalize-linalg)")
    with module.context:
        first, *_ = groups_of(next(iter(functions_of(module.operation))), GrowthOn(device))
        return group_of_bundle(make_bundle(first.ops))


def test_zeros_that_memory_tiles_have_no_descriptors_for_tear_runs_apart() -> None:
    """Between all elements of a row: where DRAM's side inserts them, each element is a run of its own."""
    device = load_device("npu1")
    plenty = replace(device, dmas=tuple(replace(dma, descriptors=16 * dma.descriptors) for dma in device.dmas))
    group = spread_out(device)
    tiles = Strategy(
        (4, 4), tile_l1=(1, 4, 1, 85, 2), spread=(1, 1), order=(0, 1, 2, 3, 4), depth_l2=2, depth_l1=2, depth_result=2
    )
    torn, whole = (
        Estimate(group, each).transfers(mapping_of(group, tiles))[group.inputs[0].name].dram_seconds
        for each in (device, plenty)
    )
    assert torn > 3 * whole
    assert npuflow.compile(SPREAD_OUT, device="npu1").run(verify=False).functions[0].time_us < 300


def test_what_was_estimated_before_changes_nothing() -> None:
    """Of mappings that differ in slots alone: how many there are may decide who inserts zeros."""
    device = load_device("npu1")
    group = spread_out(device)
    given = Strategy((4, 4), spread=(1, 1), order=(0, 1, 2, 3, 4), depth_l1=2, depth_result=2)
    ways = product((1, 2, 4, 8), (1, 2))
    some = [mapping_of(group, replace(given, tile_l1=(1, rows, 1, 85, 2), depth_l2=slots)) for rows, slots in ways]
    alone = [Estimate(group, device).cost(mapping) for mapping in some]
    one = Estimate(group, device)
    assert [one.cost(mapping) for mapping in some] == alone
    assert [one.cost(mapping) for mapping in reversed(some)] == alone[::-1]
