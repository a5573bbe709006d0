"""A schedule is simulated once for each machine that it runs on, and anew where anything that it depends on changes."""

import dataclasses

import pytest

import npuflow
import npuflow.pipelines
from npuflow.target import load_device
from npuflow.validate import times
from npuflow.validate.constants import with_constants
from npuflow.validate.measurements import Measurement
from npuflow.validate.predict import Prepared, predict_us, prepare
from npuflow.validate.stacks import stack_of_source

NPU2 = load_device("npu2")
ROW = Measurement(
    "row", "npu2", "test", "matmul", "bf16", "f32", m=256, k=256, n=512, l1_m=32, l1_k=32, l1_n=64, l2_k=128, rows=4,
    cols=8, kernel="external", kernel_macs_per_cycle=0, time_us=100, note="",
)  # fmt: skip


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The programs that have been simulated."""
    found: list[object] = []
    simulate = times.simulate
    monkeypatch.setattr(times, "simulate", lambda program: found.append(program) or simulate(program))
    return found


def prepared(row: Measurement) -> Prepared:
    found = prepare(row, npuflow.run_pipeline)
    assert isinstance(found, Prepared), found.reason
    return found


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        ("dram.bytes_per_second", 10e9),
        ("dram.page_overhead_bytes", 500),
        ("dmas.bytes_per_cycle", 2),
        ("control.launch_seconds", 1e-3),
        ("control.descriptor_seconds", 1e-4),
        ("kernels.external.issue_share", 0.01),
        ("kernels.external.restart_cycles", 9000),
    ],
)
def test_what_it_depends_on_is_simulated_anew(constant: str, value: float, simulated: list[object]) -> None:
    row = prepared(ROW)
    before = predict_us(row, NPU2)
    changed = with_constants(NPU2, {constant: value})
    assert predict_us(row, changed) > before * 1.01
    assert len(simulated) == 2
    assert predict_us(prepared(ROW), changed) == predict_us(row, changed)
    assert predict_us(row, NPU2) == before
    assert len(simulated) == 3


@pytest.mark.parametrize(
    "constant", ["kernels.drain.call_cycles", "vector.kernels.direct.step_cycles", "launches.iron.seconds"]
)
def test_what_others_depend_on_is_not(constant: str, simulated: list[object]) -> None:
    row = prepared(ROW)
    assert predict_us(row, with_constants(NPU2, {constant: 0.5})) == predict_us(row, NPU2)
    assert len(simulated) == 1


def test_a_stack_has_its_own_launch(simulated: list[object]) -> None:
    row = prepared(dataclasses.replace(ROW, source="amd/IRON", stack=stack_of_source("amd/IRON")))
    slower = with_constants(NPU2, {"launches.iron.seconds": 2e-3})
    assert predict_us(row, slower) > predict_us(row, NPU2) + 1000
    assert len(simulated) == 2
