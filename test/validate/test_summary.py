"""Error summaries, the roofline and the fit, on made-up rows whose answers are known."""

import dataclasses
from math import isnan, log

import pytest

import npuflow
import npuflow.pipelines
from npuflow.errors import UsageError
from npuflow.target import load_device
from npuflow.validate.constants import constant, with_constants
from npuflow.validate.fit import errors, fit, left_out
from npuflow.validate.measurements import Measurement
from npuflow.validate.predict import Prepared, predict_us, prepare
from npuflow.validate.roofline import fit_rooflines, traffic_bytes
from npuflow.validate.summary import Prediction, summarise

NPU2 = load_device("npu2")
ROW = Measurement(
    "r", "npu2", "s", "matmul", "bf16", "f32", m=512, k=256, n=512, l1_m=64, l1_k=32, l1_n=128, l2_k=128, rows=4,
    cols=8, kernel="external", kernel_macs_per_cycle=0, time_us=100, note="herd is M over cols, N over rows",
)  # fmt: skip


def test_summaries_per_source_and_of_all() -> None:
    # Errors of 0, 1, ..., 9 % at one source, one of -30 % at another.
    made = [Prediction(ROW, 100 + i, 110) for i in range(10)]
    made.append(Prediction(dataclasses.replace(ROW, source="t", id="far"), 70))
    one, other, everything = summarise(made)
    assert (one.group, one.rows, other.group, everything.group) == ("s, matmul bf16", 10, "t, matmul bf16", "all")
    assert [one.median, one.mean, one.percentile_90, one.worst] == pytest.approx([0.045, 0.045, 0.08, 0.09])
    assert one.roofline_mean == pytest.approx(0.1)
    assert one.of_roofline == pytest.approx(0.45)
    assert (other.roofline_mean, other.of_roofline) == (None, None)
    assert (everything.worst_id, everything.worst) == ("far", pytest.approx(0.3))
    assert summarise([]) == []


def test_traffic_of_a_design() -> None:
    # Blocks of 512 x 512: every operand and the result once.
    assert traffic_bytes(ROW) == 512 * 256 * 2 * 2 + 512 * 512 * 4
    # Four blocks along n read A four times.
    assert traffic_bytes(dataclasses.replace(ROW, n=2048)) == 512 * 256 * 2 * (4 + 4) + 512 * 2048 * 4


def test_a_roofline_finds_the_numbers_that_made_its_rows() -> None:
    rows = []
    for k in (256, 1024, 4096):
        for n in (512, 2048, 8192):
            row = dataclasses.replace(ROW, k=k, n=n)
            compute = row.macs / (64 * 32 * 1.8e9)
            rows.append((dataclasses.replace(row, time_us=max(compute, traffic_bytes(row) / 40e9) * 1e6 + 90), NPU2))
    (fitted,) = fit_rooflines(rows).values()
    errors = [abs(fitted.predict_us(row, device) / row.time_us - 1) for row, device in rows]
    assert max(errors) < 0.02


def test_a_fit_finds_the_constants_that_made_its_rows() -> None:
    truth = with_constants(NPU2, {"control.launch_seconds": 60e-6, "kernels.external.issue_share": 0.1})
    rows = []
    for k in (256, 2048):
        prepared = prepare(dataclasses.replace(ROW, k=k), npuflow.run_pipeline)
        assert isinstance(prepared, Prepared)
        rows.append(
            dataclasses.replace(prepared, row=dataclasses.replace(prepared.row, time_us=predict_us(prepared, truth)))
        )
    found = fit(rows, NPU2, ("control.launch_seconds", "kernels.external.issue_share"), rounds=8)
    assert found.mean_error < 0.02
    assert found.values["control.launch_seconds"] == pytest.approx(60e-6, rel=0.1)
    assert found.values["kernels.external.issue_share"] == pytest.approx(0.1, rel=0.1)


def test_what_is_left_out_tells_nothing() -> None:
    # Five shapes say that the launch takes 60 us; what another one says is not heard where that is judged.
    truth = with_constants(NPU2, {"control.launch_seconds": 60e-6})
    rows = []
    for k in (256, 512, 768, 1024, 1280, 1536):
        prepared = prepare(dataclasses.replace(ROW, k=k), npuflow.run_pipeline)
        assert isinstance(prepared, Prepared)
        time_us = predict_us(prepared, truth) * (1.5 if k == 1536 else 1)
        rows.append(dataclasses.replace(prepared, row=dataclasses.replace(prepared.row, time_us=time_us)))
    unseen = left_out(rows, truth, ("control.launch_seconds",), [row.row.k for row in rows])
    assert unseen[-1] == pytest.approx(-log(1.5), abs=0.001)
    assert 0 < max(abs(unseen[:-1])) < 0.05
    assert errors(rows, truth)[:-1] == pytest.approx(0)
    alone = left_out(rows, truth, ("control.launch_seconds",), ["the only group"] * len(rows))
    assert all(map(isnan, alone))


def test_constants_by_name() -> None:
    changed = with_constants(
        NPU2, {"dmas.bytes_per_cycle": 5.0, "dram.bytes_per_second": 1e9, "kernels.direct/f32.call_cycles": 7}
    )
    assert {dma.bytes_per_cycle for dma in changed.dmas} == {link.bytes_per_cycle for link in changed.links} == {5.0}
    assert constant(changed, "dram.bytes_per_second") == changed.dram.read_bytes_per_second == 1e9
    assert {known.acc for known in changed.kernels if known.call_cycles == 7} == {"f32"}
    calls = with_constants(NPU2, {"vector.kernels.external-rows.call_cycles": 40.6})
    assert constant(calls, "vector.kernels.external-rows.call_cycles") == 41
    runs = with_constants(NPU2, {"dram.run_overhead_bytes": 31.0, "dram.page_overhead_bytes": 32.0})
    assert constant(runs, "dram.run_overhead_bytes") == runs.dram.write_run_overhead_bytes == 31
    assert constant(runs, "dram.page_overhead_bytes") == runs.dram.page_overhead_bytes == 32
    with pytest.raises(UsageError, match=r"no constant is called 'x\.y'"):
        with_constants(NPU2, {"x.y": 1})
