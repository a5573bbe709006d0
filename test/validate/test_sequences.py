"""Sequences: several launches in one invocation, and what it takes to change from one design to the next."""

from pathlib import Path

import pytest

import npuflow
import npuflow.pipelines
from npuflow.errors import InputError
from npuflow.schedule.assign.assign_numbers import numbered, transfers_of
from npuflow.schedule.data.model import Schedule
from npuflow.target import load_device
from npuflow.validate.predict import Prepared, Skipped, predict_us, prepare
from npuflow.validate.read import read_measurements

NPU2 = load_device("npu2")
HEADER = "id,device,source,program,launches_stitched,measured_ms,note"
LAUNCHES = "count,op,in_type,out_type,M,K,N,l1_m,l1_k,l1_n,l2_k,rows,cols,kernel,note"
ADD = "add,bf16,bf16,16384,,,2048,,,,1,8,direct,"
GELU = "gelu,bf16,bf16,16384,,,1024,,,,2,8,direct,"


def sequence(folder: Path, *launches: str, row: str = "s,npu2,nobody,two of them,2,1.5,") -> Path:
    file = folder / "rows.csv"
    file.write_text(f"{HEADER}\n{row}\n")
    (folder / "sequences").mkdir(exist_ok=True)
    (folder / "sequences" / "s.csv").write_text("\n".join([LAUNCHES, *launches]) + "\n")
    return file


def prepared(file: Path) -> Prepared:
    (row,) = read_measurements(str(file))
    found = prepare(row, npuflow.run_pipeline)
    assert isinstance(found, Prepared), found.reason
    return found


def _descriptors_on_chip(schedule: Schedule) -> int:
    """Those of all channels beside memories on the chip."""
    return sum(
        transfer.descriptors.count * sum(1 for _ in schedule.places(engine.span))
        for engine in schedule.engines.values()
        if not engine.stage.at_dram
        for transfer in transfers_of(engine.program)
        if transfer.descriptors is not None
    )


def test_one_launch_of_all_and_what_each_adds(tmp_path: Path) -> None:
    both = prepared(sequence(tmp_path, f"1,{ADD}", f"3,{GELU}"))
    assert both.row.time_us == 1500
    (_, add), (count, gelu) = both.launches
    assert count == 3
    launch_us = NPU2.control.launch_seconds * 1e6
    alone = (predict_us(add, NPU2) - launch_us) + 3 * (predict_us(gelu, NPU2) - launch_us)
    # In front of each but the first: 16 cores' programs, and the descriptors of their channels and memory tiles'.
    assert gelu.scheduled is not None
    rewritten = _descriptors_on_chip(numbered(gelu.scheduled.schedule, NPU2))
    change_us = (16 * NPU2.control.program_seconds + rewritten * NPU2.control.descriptor_seconds) * 1e6
    assert rewritten > 16
    assert predict_us(both, NPU2) == pytest.approx(launch_us + alone + 3 * change_us)


def test_a_launch_that_cannot_be_built_says_why(tmp_path: Path) -> None:
    (row,) = read_measurements(str(sequence(tmp_path, f"1,{ADD}", "1,attention,bf16,bf16,64,,64,,,,,4,8,direct,")))
    skipped = prepare(row, npuflow.run_pipeline)
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "operator attention"


@pytest.mark.parametrize(
    ("launch", "row", "said", "line"),
    [
        (f"0,{ADD}", "s,npu2,nobody,,2,1.5,", "count is '0'", "s.csv:2"),
        (f"1,{ADD}".replace("16384", "-3"), "s,npu2,nobody,,2,1.5,", "M is '-3'", "s.csv:2"),
        (f"1,{ADD}", "s,npu2,nobody,,2,soon,", "measured_ms is 'soon'", "rows.csv:2"),
        (f"1,{ADD}", "s,npu2,nobody,,x,1.5,", "launches_stitched is 'x'", "rows.csv:2"),
        (f"1,{ADD}", "s,,nobody,,2,1.5,", "device is empty", "rows.csv:2"),
        (f"1,{ADD}", "../s,npu2,nobody,,2,1.5,", "id is '../s'", "rows.csv:2"),
    ],
)
def test_wrong_values_are_located(tmp_path: Path, launch: str, row: str, said: str, line: str) -> None:
    with pytest.raises(InputError) as raised:
        read_measurements(str(sequence(tmp_path, launch, row=row)))
    (diagnostic,) = raised.value.diagnostics
    assert said in diagnostic.message
    assert str(diagnostic.location).endswith(line)


def test_a_file_of_launches_that_is_not_there(tmp_path: Path) -> None:
    file = sequence(tmp_path, row="t,npu2,nobody,,2,1.5,")
    with pytest.raises(InputError, match=r"cannot read '.*sequences/t\.csv'.*list its launches there"):
        read_measurements(str(file))
