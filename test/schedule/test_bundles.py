"""Bundles' schedules, executed: what the simulated array computes is what the same memrefs give on this CPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

import npuflow
from npuflow.bindings import ir
from npuflow.compiler.compiled_function import (
    CompiledFunction,
    FunctionalRun,
    compile_schedule,
    execute_function,
)
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import signature_of
from npuflow.execute.data import random_arrays
from npuflow.execute.jit import compile_function
from npuflow.schedule.check.legality import violations
from npuflow.schedule.data.model import Each, Receive, Repeat, Send, Step
from npuflow.schedule.ir.read_kernels import kernel_interfaces
from npuflow.schedule.project_engines import replace_by_schedule
from npuflow.simulate.faults import faults
from npuflow.target import Device, load_device

sys.path.insert(0, str(Path(__file__).parent))

from bundles import Axis, Rows, Window


def scheduled(module: ir.Module, function: ir.Operation, device: Device) -> CompiledFunction:
    """The function by a schedule for a device that may have no name."""
    signature = signature_of(function)
    with module.context:
        return compile_schedule(module, replace_by_schedule(function, device), device, signature)


def compiled(text: str, device: str) -> CompiledFunction:
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = ops_of(module.operation, "func.func")
    return scheduled(module, function, load_device(device))


def executed(text: str, device: str | Device) -> tuple[CompiledFunction, FunctionalRun]:
    """The schedule's functional run, which must give what the program gives; and the schedule must be legal."""
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = ops_of(module.operation, "func.func")
    signature = signature_of(function)
    inputs = random_arrays(signature.inputs, 0)
    expected = compile_function(module.operation, signature.name).run(inputs).results
    chosen = load_device(device) if isinstance(device, str) else device
    array = scheduled(module, function, chosen)
    execution = execute_function(array, inputs)
    assert [str(hazard) for hazard in faults(execution.results)] == []
    for got, wanted in zip(execution.outputs, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    wrong = violations(array.schedule, array.device, kernel_interfaces(array.op, array.device))
    assert [str(v) for v in wrong if not v.is_warning] == []
    return array, execution


@st.composite
def axes(draw: st.DrawFn, cores: int) -> Axis:
    taps, dilation, step = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    window = dilation * (taps - 1) + 1
    before, behind = draw(st.integers(0, window)), draw(st.integers(0, window))
    size = draw(st.integers(max(1, window - before - behind), 14))
    return Axis(size, taps, step, dilation, before, behind, draw(st.integers(1, 3)), cores)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    grid = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]))
    rows, columns = (draw(st.sampled_from("hwc")) for _ in range(2))
    cores = {a: (grid[0] if rows == a else 1) * (grid[1] if columns == a else 1) for a in "hwc"}
    h, w = draw(axes(cores["h"])), draw(axes(cores["w"]))
    channels = cores["c"] * draw(st.integers(1, 3))
    return Window(h, w, channels, rows, columns, grid, True, draw(st.sampled_from([1, 2])))


@drawn(few=15, many=500)
@given(windows())
def test_windows_with_strides_dilations_pads_and_halos(window: Window) -> None:
    executed(window.text(), "toy")


@drawn(few=10, many=500)
@given(
    st.builds(
        Rows,
        st.integers(1, 40),
        st.integers(1, 9),
        st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]),
        st.integers(1, 3),
        st.integers(1, 3),
        st.booleans(),
        st.sampled_from([1, 2]),
    )
)
def test_rows_of_matrices(rows: Rows) -> None:
    executed(rows.text(), "toy")


@pytest.mark.parametrize("device", ["toy", "npu1", "npu2"])
@pytest.mark.parametrize("name", ["halo", "norm", "gather", "pool"])
def test_written_by_hand(name: str, device: str) -> None:
    executed((Path(__file__).parent / f"bundle-{name}.mlir").read_text(), device)


@pytest.mark.parametrize(
    "window",
    [
        Window(Axis(31, 3, 1, 1, 1, 1, 1, 4), Axis(9, 3, 2, 1, 1, 1, 2), 8, "h", "c", (4, 8)),
        Window(Axis(40, 3, 1, 1, 1, 1, 1, 32), Axis(5, 1, 1, 1, 0, 0, 5), 3, "h", "h", (4, 8), clamped=True, depth=2),
        # Two parts along the columns of a grid with one row, where loops of one turn stand in the bounds as well.
        Window(Axis(13, 2, 3, 2, 3, 0, 3, 2), Axis(1), 1, "h", "h", (1, 2), clamped=True),
        Window(Axis(8, 3, 1, 2, 2, 2, 2, 4), Axis(17, 2, 1, 1, 0, 1, 1, 8), 4, "h", "w", (4, 8), depth=2),
    ],
    ids=str,
)
def test_windows_on_a_whole_array(window: Window) -> None:
    executed(window.text(), "npu2")


def test_halos_are_fetched_twice_and_zeros_never() -> None:
    # Two blocks of 8 rows read 10 rows each; of their two columns, each fetches 6, and 1 row of each block is padding.
    window = Window(Axis(16, 3, 1, 1, 1, 1, 2, 4), Axis(6, 3, 1, 1, 1, 1, 6), 4, "h", "h", (2, 2))
    array, execution = executed(window.text(), "toy")
    row_bytes = 6 * 4
    assert execution.results.traffic["arg0"].read_bytes == (2 * 2 * 6 - 2) * row_bytes
    assert execution.results.traffic["l3_0"].written_bytes == 16 * 6 * 4 * 4
    # Both ends of the rows; columns exist or don't in all turns alike.
    assert [(len(send.access.limits), send.access.zeros) for send in sends_of("arg0", array)] == [(2, False)]
    assert [(len(send.access.limits), send.access.zeros) for send in sends_of("l2_0", array)] == [(4, True)]


def sends_of(buffer: str, array: CompiledFunction) -> list[Send]:
    steps = [step for engine in array.schedule.engines.values() for step in transfers(engine.program)]
    return [step for step in steps if isinstance(step, Send) and step.access.buffer.name == buffer]


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        (Axis(7, 3, 1, 1, 1, 1, 7), 7),  # one block: the rows that exist
        (Axis(8, 3, 1, 1, 1, 1, 4), 5),  # rows 0 to 4 and 3 to 7, each without its end's padding
        (Axis(12, 3, 1, 1, 1, 1, 4), 6),  # the middle one of three blocks has no padding
        (Axis(9, 3, 2, 1, 0, 1, 5), 9),  # 5 windows of every other row reach 11 rows, of which 9 exist
        (Axis(4, 3, 1, 5, 5, 5, 2), 4),  # windows much longer than the image
    ],
)
def test_l2_holds_no_zeros(rows: Axis, held: int) -> None:
    array, _ = executed(Window(rows, Axis(5, 3, 1, 1, 1, 1, 5), 4, "h", "w", (1, 1), clamped=True).text(), "toy")
    assert array.schedule.buffers["l2_0"].shape == (held, 5, 4)
    assert not any(send.access.zeros for send in sends_of("arg0", array))
    assert all(send.access.zeros for send in sends_of("l2_0", array))


def test_where_no_engine_of_l2_inserts_zeros_they_come_with_the_image() -> None:
    device = load_device("toy")
    dmas = tuple(replace(dma, pads_with_zeros=False) for dma in device.dmas)
    window = Window(Axis(7, 3, 1, 1, 1, 1, 7), Axis(5, 3, 1, 1, 1, 1, 5), 4, "h", "w", (1, 1))
    array, _ = executed(window.text(), replace(device, dmas=dmas))
    assert array.schedule.buffers["l2_0"].shape == (9, 7, 4)
    found = [
        v.what
        for v in violations(array.schedule, array.device, kernel_interfaces(array.op, array.device))
        if "zeros" in v.what
    ]
    assert found == ["'shim_out1' surrounds 'arg0' with zeros, which no shim dma inserts"]


def test_more_ways_to_be_cut_off_than_descriptors_leave_the_zeros_in_l2() -> None:
    # 13 blocks along both dimensions, of 1 result each: 5 ways along each, 25 descriptors to fill a slot.
    ways = Axis(9, 3, 1, 2, 4, 4, 1)
    array, _ = executed(Window(ways, ways, 1, "h", "w", (1, 1)).text(), "toy")
    assert array.schedule.buffers["l2_0"].shape == (5, 5, 1)
    assert [send.access.zeros for send in sends_of("arg0", array)] == [True]


def test_a_slice_ends_where_it_ends_not_where_its_tensor_does() -> None:
    # 20 of 37 rows, 8 at a time: the last block has 4, although 17 more would be there.
    text = Rows(20, 8, (2, 2), 2).text()
    text = text.replace("%x0: memref<20x8xi32>", "%all: memref<37x8xi32>").replace(
        "  %c0 =",
        """  %slice = memref.subview %all[0, 0] [20, 8] [1, 1] : memref<37x8xi32> to memref<20x8xi32, strided<[8, 1]>>
  %x0 = memref.cast %slice : memref<20x8xi32, strided<[8, 1]>> to memref<20x8xi32>
  %c0 =""",
    )
    _, execution = executed(text, "toy")
    assert execution.results.traffic["arg0"].read_bytes == 20 * 8 * 4


def transfers(steps: Sequence[Step]) -> list[Send | Receive]:
    found: list[Send | Receive] = []
    for step in steps:
        if isinstance(step, (Send, Receive)):
            found.append(step)
        elif isinstance(step, (Repeat, Each)):
            found += transfers(step.body)
    return found


def test_nothing_is_cut_off_where_no_block_reaches_an_edge() -> None:
    window = Window(Axis(18, 3, 1, 1, 0, 0, 2, 4), Axis(8, 3, 1, 1, 0, 0, 6), 4, "h", "h", (2, 2))
    schedule = compiled(window.text(), "toy").schedule
    moves = [step for engine in schedule.engines.values() for step in transfers(engine.program)]
    assert {move.access.limits for move in moves} == {()}


def spans(rows: Rows, device: str) -> dict[str, tuple[str, ...]]:
    return {name: engine.span for name, engine in compiled(rows.text(), device).schedule.engines.items()}


def test_two_large_operands_take_a_lane_each() -> None:
    # A memory tile has 6 out-channels: results take 1, and 4 rows of their own are left for one of the two lanes.
    array = compiled(Rows(128, 64, (4, 8), 2, matrices=2).text(), "npu2")
    traffic = array.run.traffic
    lanes = {stream.name: stream.sender for stream in array.schedule.streams.values()}
    assert {"l3_to_l2_lane0_i32", "l3_to_l2_lane1_i32"} <= set(lanes)
    found = {name: engine.span for name, engine in array.schedule.engines.items() if name.startswith("memory_out")}
    assert sorted(found.values()) == [("column",), ("row", "column")]
    assert traffic["arg0"].read_bytes == traffic["arg1"].read_bytes == 128 * 64 * 4


def test_a_vector_that_all_read_does_not_share_the_matrix_lane() -> None:
    array = compiled(Rows(128, 64, (4, 8), 2, sums=True).text(), "npu2")
    sends = {
        send.access.buffer.name: engine.name
        for engine in array.schedule.engines.values()
        for send in transfers(engine.program)
        if engine.stage.name == "shim_out"
    }
    assert set(sends) == {"arg0", "arg1"}
    assert sends["arg0"] != sends["arg1"]
    vector = next(stream for stream in array.schedule.streams.values() if stream.multicast)
    assert vector.multicast == ("row",)


def test_rows_with_channels_of_their_own_need_not_wait_for_each_other() -> None:
    # Alone, the matrix takes 4 out-channels of each memory tile; with two more operands there is one for all rows.
    assert spans(Rows(128, 64, (4, 8), 2), "npu2")["memory_out1"] == ("row", "column")
    assert ("column",) in spans(Rows(128, 64, (4, 8), 2, matrices=3), "npu2").values()


def op_count(text: str, device: str) -> int:
    module = npuflow.parse(text, npuflow.new_context())
    npuflow.run_pipeline(module, f"npuflow-project-engines{{device={device}}}")
    return sum(op.name.startswith("npu.") for op in ops_of(module.operation))


def test_the_ir_grows_neither_with_sizes_nor_with_the_array() -> None:
    def window(size: int, grid: tuple[int, int]) -> Window:
        h = Axis(size, 3, 1, 1, 1, 1, 2, grid[0] * grid[1])
        return Window(h, Axis(9, 3, 1, 1, 1, 1, 9), 4, "h", "h", grid)

    counts = {
        op_count(window(64, (2, 2)).text(), "npu1"),
        op_count(window(256, (4, 4)).text(), "npu1"),
        op_count(window(1024, (4, 8)).text(), "npu2"),
    }
    assert len(counts) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ins(%zero8 : i8)", "ins(%one8 : i8)", "outside of L1 with other than zeros"),
        ("(o) -> (0, o)>(%oh)", "(o) -> (o, -o)>(%oh)", "a maximum or minimum that cannot be scheduled"),
        ("[%lowh, %loww, 0]", "[0, %loww, 0]", "size 0 of memref.subview, .*min.* from 0 on, cannot be scheduled"),
        ("[%qh, %qw, %pc]", "[%qh, %qh, %pc]", "not divided evenly over 2 places"),
        ("(x * 2 + y) * 2", "(x * 2 + y) * 1", "parts of l2_2 are 2 indices apart, and cores that write it reach 3"),
    ],
)
def test_what_cannot_be_scheduled_says_so(old: str, new: str, said: str) -> None:
    window = Window(Axis(16, 3, 1, 1, 1, 1, 2, 4), Axis(6, 3, 1, 1, 1, 1, 6), 4, "h", "h", (2, 2))
    text = window.text().replace("%zero8 =", "%one8 = arith.constant 1 : i8\n  %zero8 =")
    assert old in text
    with pytest.raises(npuflow.InputError, match=said):
        compiled(text.replace(old, new), "toy")
