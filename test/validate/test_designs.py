"""Rows to designs: layouts, types and grids as the columns and the note say."""

import dataclasses

import pytest

import npuflow
import npuflow.pipelines
from npuflow.schedule.kernels.kernel_cycles import KernelShape, kernel_cycles
from npuflow.target import load_device
from npuflow.target.matmul import KernelKind
from npuflow.validate.constants import with_constants
from npuflow.validate.designs import design_of, device_of, kind_of, module_text, why_unsupported
from npuflow.validate.measurements import Measurement
from npuflow.validate.predict import Prepared, Skipped, predict_us, prepare, restart_cycles
from npuflow.validate.stacks import ALL, stack_of_source

ROW = Measurement(
    "r", "npu2", "test", "matmul", "bf16", "f32", m=512, k=256, n=512, l1_m=64, l1_k=32, l1_n=128, l2_k=128, rows=4,
    cols=8, kernel="external", kernel_macs_per_cycle=0, time_us=100, note="herd is M over cols, N over rows",
    stack=stack_of_source("mlir-air"),
)  # fmt: skip
NPU2 = load_device("npu2")


def test_a_turned_grid() -> None:
    design = design_of(ROW)
    assert (design.grid, design.tile_l2, design.turned) == ((8, 4), (512, 512, 128), True)
    upright = design_of(dataclasses.replace(ROW, note=""))
    assert (upright.grid, upright.tile_l2) == ((4, 8), (256, 1024, 128))


def test_types_of_sums() -> None:
    def types(kernel: str, out_type: str) -> tuple[str, str, int]:
        design = design_of(dataclasses.replace(ROW, kernel=kernel, out_type=out_type))
        return design.types[2], design.result_type, design.cast_elements

    assert types("external", "f32") == ("f32", "f32", 0)
    assert types("direct", "bf16") == ("bf16", "bf16", 0)
    assert types("drain", "bf16") == ("f32", "bf16", 0)
    assert types("fused-cast", "bf16") == ("f32", "f32", 512 * 512)


def test_layouts_and_conversions_in_the_module() -> None:
    row = dataclasses.replace(ROW, note="B column-major", kernel="drain", out_type="bf16")
    text = module_text(row, design_of(row), (8, 8, 8))
    assert "tensor<512x256xbf16>, %b: tensor<512x256xbf16>" in text
    assert "affine_map<(m, n, k) -> (n, k)>" in text
    assert "arith.truncf %x : f32 to bf16" in text


def test_l2_k_where_nothing_is_said_is_one_tile_of_k() -> None:
    assert design_of(dataclasses.replace(ROW, l2_k=0)).l2_k == ROW.l1_k


def test_hawk_point_parts_have_a_device_of_their_own() -> None:
    hawk = dataclasses.replace(ROW, device="npu1", note="a Hawk Point part", kernel="O3-vectorised-L2-256x256")
    assert device_of(hawk) == "npu1-hawk"
    assert kind_of(hawk) == "O3-vectorised"


def test_a_kind_that_the_device_does_not_know_is_timed_as_its_first() -> None:
    unknown = dataclasses.replace(ROW, kernel="nobody's")
    assert kind_of(unknown) == ""
    assert not isinstance(prepare(unknown, npuflow.run_pipeline), Skipped)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"op": "attention"}, "operator attention"),
        ({"rows": 0}, "without a shape, tile or grid"),
        ({"device": "npu9"}, "npu9"),
        ({"l1_m": 512}, "L1 of a core needs"),
    ],
)
def test_what_cannot_be_built_says_why(changes: dict[str, object], reason: str) -> None:
    row = dataclasses.replace(ROW, **changes)  # type: ignore[arg-type]
    skipped = prepare(row, npuflow.run_pipeline)
    assert isinstance(skipped, Skipped)
    assert reason in skipped.reason
    assert (why_unsupported(row) is not None) == (reason in ("operator attention", "without a shape, tile or grid"))


def test_a_kernel_alone_takes_what_the_model_says() -> None:
    row = dataclasses.replace(
        ROW, op="core_kernel", kernel="hand-tuned", in_type="i8", out_type="i16", l1_m=64, l1_k=216, l1_n=64
    )
    prepared = prepare(row, npuflow.run_pipeline)
    assert isinstance(prepared, Prepared)
    shape = KernelShape("matmul", ("i8", "i8", "i16"), 64 * 64, 2, 64 * 216 * 64, 64 * 64 * 2)
    cycles = kernel_cycles(shape, NPU2, "hand-tuned")
    assert predict_us(prepared, NPU2) == pytest.approx(cycles / 1800)
    assert cycles >= 64 * 216 * 64 / 512


def test_published_rates_are_used_where_there_are_any() -> None:
    slow = prepare(dataclasses.replace(ROW, kernel_macs_per_cycle=10), npuflow.run_pipeline)
    assert isinstance(slow, Prepared)
    # Each core multiplies 64 x 128 tiles over k = 256, at 10 per cycle and 1800 cycles per microsecond.
    assert predict_us(slow, NPU2) > 64 * 128 * 256 / 10 / 1800


def test_an_l2_tile_costs_what_its_first_tiles_take_to_arrive() -> None:
    known = KernelKind(kind="external", issue_share=0.5, move_share=0.0, call_cycles=0, restart_cycles=50)
    narrow = with_constants(NPU2, {"dmas.bytes_per_cycle": 4.0})
    # 64x32 of A and 32x128 of B, two bytes each, at 4 bytes per cycle; the kind's own 50 cycles.
    assert restart_cycles(known, design_of(ROW), narrow) == 50 + (64 * 32 + 32 * 128) * 2 / 4


def test_smaller_l2_tiles_restart_more_often() -> None:
    def time_us(l2_k: int) -> float:
        prepared = prepare(dataclasses.replace(ROW, k=2048, l2_k=l2_k), npuflow.run_pipeline)
        assert isinstance(prepared, Prepared)
        # Neither DRAM nor the control processor holds the cores up here.
        quick = {"dram.bytes_per_second": 1e12, "control.descriptor_seconds": 1e-9}
        return predict_us(prepared, with_constants(NPU2, quick))

    known = NPU2.kernel_kind("external", ("bf16", "bf16", "f32"))
    assert known is not None
    # One block of 512x512 with K = 2048: 64 L2 tiles of 32 instead of 16 of 128, of which the first arrives earlier.
    restarts_us = 48 * restart_cycles(known, design_of(ROW), NPU2) / 1800
    assert 0.9 * restarts_us < time_us(32) - time_us(128) <= restarts_us


def test_a_stack_says_what_is_set_up_together_unless_the_note_does() -> None:
    rows_of_blocks = dataclasses.replace(ROW, stack=stack_of_source("arc-research-lab/Aries"), kernel="hand-tuned")
    assert design_of(rows_of_blocks).together == (1, ALL)
    assert kind_of(dataclasses.replace(rows_of_blocks, device="npu1")) == "aries"
    said = dataclasses.replace(ROW, note="B column-major; 3x1 blocks set up at a time")
    assert design_of(said).together == (3, 1)
    assert design_of(dataclasses.replace(ROW, stack=stack_of_source("mine"))).together is None


def test_groups_of_blocks_are_as_large_as_divides_them() -> None:
    def together(rows: int, columns: int) -> tuple[int, int] | None:
        return design_of(dataclasses.replace(ROW, m=512 * rows, n=512 * columns)).together

    assert (together(4, 6), together(4, 3), together(5, 7)) == ((2, 2), (2, 1), (1, 1))
    # One row or column of blocks has one loop around it, the inner one.
    assert (together(4, 1), together(1, 4), together(1, 5)) == ((1, 2), (1, 2), (1, 1))


def test_a_stack_launches_in_its_own_time() -> None:
    def time_us(source: str) -> float:
        row = dataclasses.replace(ROW, stack=stack_of_source(source), kernel_macs_per_cycle=100, kernel="hand-tuned")
        prepared = prepare(row, npuflow.run_pipeline)
        assert isinstance(prepared, Prepared)
        return predict_us(prepared, NPU2)

    iron = next(launch for launch in NPU2.launches if launch.stack == "iron")
    more = iron.seconds + 32 * iron.core_seconds - NPU2.control.launch_seconds
    # All 32 cores are set up; beside that, the two differ by rounding of the launch to cycles.
    assert time_us("amd/IRON") - time_us("nobody") == pytest.approx(more * 1e6, abs=0.01)


def test_a_design_has_its_own_columns_alone() -> None:
    # B comes in for four rows of cores: through one shim's channel, or through four.
    narrow = dataclasses.replace(ROW, k=4096, cols=1, note="herd is M over cols, N over rows")
    prepared = prepare(narrow, npuflow.run_pipeline)
    assert isinstance(prepared, Prepared)
    read_bytes = narrow.k * narrow.n * 2 * narrow.m / narrow.l1_m
    channel = NPU2.dma(3).bytes_per_cycle * NPU2.clock_hz
    assert predict_us(prepared, NPU2) > read_bytes / channel * 1e6


def test_rows_that_do_not_fill_a_kernels_inner_loop_take_as_long_as_those_that_do() -> None:
    def call_cycles(rows: int) -> int:
        drain = dataclasses.replace(ROW, kernel="drain", out_type="bf16", m=8 * rows, l1_m=rows)
        prepared = prepare(drain, npuflow.run_pipeline)
        assert isinstance(prepared, Prepared)
        assert prepared.scheduled is not None
        return max(kernel_cycles(shape, NPU2, "drain") for shape in prepared.scheduled.shapes if shape.macs)

    known = NPU2.kernel_kind("drain", ("bf16", "bf16", "f32"))
    assert known is not None
    assert known.row_blocks == 4
    # Half as many multiplications, as many instructions: only the sums of 16 rows less, 64 KiB in 32 bytes, are saved.
    moves = 2 * 16 * 128 * 4 / 32 * known.move_share
    assert call_cycles(32) - call_cycles(16) == pytest.approx(moves, abs=1)
    assert call_cycles(64) - call_cycles(32) > moves * 2
