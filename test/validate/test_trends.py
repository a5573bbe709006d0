"""What publications say of designs comes out of the mechanism: the same design, with one thing changed."""

import dataclasses

import pytest

import npuflow
import npuflow.pipelines
from npuflow.validate.measurements import Measurement
from npuflow.validate.predict import Prepared, predict_us, prepare

COLUMNS_OF_B = "B column-major; C single-buffered"

# Three GEMMs of arXiv 2512.13282, with the published rates of their kernels.
NPU1_BF16 = Measurement(
    "npu1", "npu1", "test", "matmul", "bf16", "bf16", m=4224, k=4032, n=4224, l1_m=96, l1_k=56, l1_n=96, l2_k=224,
    rows=4, cols=4, kernel="hand-tuned", kernel_macs_per_cycle=99.8, time_us=46115.2, note=COLUMNS_OF_B,
)  # fmt: skip
NPU1_I8 = dataclasses.replace(
    NPU1_BF16, in_type="i8", out_type="i8", m=4032, n=4032, l1_m=112, l1_k=112, l1_n=112, l2_k=448,
    kernel_macs_per_cycle=212.5, time_us=20106.8,
)  # fmt: skip
NPU2_I16 = Measurement(
    "npu2", "npu2", "test", "matmul", "i8", "i16", m=4096, k=4320, n=4480, l1_m=128, l1_k=72, l1_n=112, l2_k=432,
    rows=4, cols=8, kernel="hand-tuned", kernel_macs_per_cycle=307.2, time_us=5152.6, note=COLUMNS_OF_B,
)  # fmt: skip


def time_us(row: Measurement, *, together: tuple[int, int] | None = None) -> float:
    prepared = prepare(row, npuflow.run_pipeline, together=together)
    assert isinstance(prepared, Prepared), prepared.reason
    return predict_us(prepared, prepared.device)


@pytest.mark.parametrize("row", [NPU1_I8, NPU2_I16], ids=["npu1", "npu2"])
def test_set_up_that_is_not_overlapped_costs_about_a_quarter(row: Measurement) -> None:
    # Published: 27 to 28 % on such designs, which is all that the array idles between two blocks.
    assert 1.15 < time_us(row, together=(1, 1)) / time_us(row) < 1.35


def test_short_contiguous_runs_collapse_the_bandwidth() -> None:
    # Published: 3.12 TOPS with runs of 224 elements, 1.27 with 56; a factor of 2.46.
    times = [time_us(dataclasses.replace(NPU1_BF16, l2_k=k)) for k in (224, 112, 56)]
    assert times[1] < times[2]
    assert times[2] / times[0] == pytest.approx(3.12 / 1.27, rel=0.05)


def test_rows_of_b_cost_more_than_columns() -> None:
    # Published for npu2: 9 to 25 %. Runs are l1_n = 112 bytes long instead of l2_k = 432.
    rows = dataclasses.replace(NPU2_I16, note="C single-buffered")
    assert 1.09 < time_us(rows) / time_us(NPU2_I16) < 1.35


def test_rows_of_b_cost_little_on_npu1() -> None:
    # Published: 0.6 to 5 %. The columns' parts of a row adjoin, and make one run of 4 * 112 bytes.
    assert time_us(dataclasses.replace(NPU1_I8, note="C single-buffered")) / time_us(NPU1_I8) == pytest.approx(
        1, abs=0.05
    )


def test_rows_of_b_cost_much_in_short_runs_on_npu1_hawk() -> None:
    # Published: 2405 us with B by rows, of which each column takes 64 bytes, 1869 by columns; a factor of 1.29.
    rows = Measurement(
        "hawk", "npu1", "test", "matmul", "bf16", "f32", m=512, k=512, n=4096, l1_m=32, l1_k=32, l1_n=32, l2_k=0,
        rows=4, cols=4, kernel="O3-vectorised", kernel_macs_per_cycle=0, time_us=2405, note="a Hawk Point part",
    )  # fmt: skip
    columns = dataclasses.replace(rows, note=f"{COLUMNS_OF_B}; a Hawk Point part")
    assert time_us(rows) / time_us(columns) == pytest.approx(2405 / 1869, rel=0.1)


def test_room_for_a_second_c_costs_more_than_it_gives() -> None:
    # Published: 26.1 TOPS with C double-buffered, for which tiles shrink to 112x48x96, against 30.8; a factor of 0.85.
    model = dataclasses.replace(NPU2_I16, kernel_macs_per_cycle=0)
    smaller = dataclasses.replace(
        model, m=4032, n=4608, l1_m=112, l1_k=48, l1_n=96, note="B column-major; C double-buffered"
    )
    speeds = [row.macs / time_us(row) for row in (smaller, model)]
    assert speeds[0] / speeds[1] == pytest.approx(26.1 / 30.8, rel=0.1)


def test_a_single_c_costs_little_where_k_is_long() -> None:
    # Published: less than 5 % while K / k > 20. With K / k = 4 the way out of the core, 64 * 64 * 2 bytes, shows.
    single = dataclasses.replace(NPU2_I16, l1_m=64, l1_n=64, m=1024, n=1024, kernel_macs_per_cycle=40)
    double = dataclasses.replace(single, note="B column-major; C double-buffered")
    long = time_us(single) / time_us(double)
    assert 1 <= long < 1.05
    short = [time_us(dataclasses.replace(row, k=288, l2_k=288)) for row in (single, double)]
    assert short[0] / short[1] > long + 0.01


def test_narrow_tiles_of_generated_code_cost_more() -> None:
    # Published: 23.2 ms with tiles of 64 columns and 128 of K in L2, 13.0 with twice that where two thirds are
    # multiplied: 20 % more for each. A call costs what it does in drains of the same compiler, for half of the work.
    wide = Measurement(
        "wide", "npu2", "mlir-air", "matmul", "bf16", "bf16", m=2048, k=2048, n=8192, l1_m=64, l1_k=32, l1_n=128,
        l2_k=256, rows=4, cols=8, kernel="direct", kernel_macs_per_cycle=0, time_us=12997.8, note="M over cols",
    )  # fmt: skip
    narrow = dataclasses.replace(wide, k=2560, n=9728, l1_n=64, l2_k=128, time_us=23198.9)
    each = [time_us(row) / row.macs for row in (narrow, wide)]
    assert each[0] / each[1] == pytest.approx(1.20, rel=0.05)


def test_additions_scale_with_columns() -> None:
    # Published: 9.1, 19.0, 35.7 and 57.7 GB/s with 1, 2, 4 and 8 columns. Up to 4, a core's steps take the time; 8 wait
    # for DRAM. The same shape measured again differs by 5 to 15 %.
    add = Measurement(
        "add", "npu2", "test", "add", "bf16", "bf16", m=4194304, k=0, n=0, l1_m=2048, l1_k=0, l1_n=0, l2_k=0, rows=1,
        cols=8, kernel="direct", kernel_macs_per_cycle=0, time_us=437, note="",
    )  # fmt: skip
    rates = [3 * 2 * add.m / time_us(dataclasses.replace(add, cols=columns)) / 1e3 for columns in (1, 2, 4, 8)]
    assert rates == pytest.approx([9.1, 19.0, 35.7, 57.7], rel=0.1)
    assert rates[1] / rates[0] > 1.9
    assert rates[3] / rates[2] < 1.7
