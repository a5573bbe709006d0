"""Functions on a device whose memory tiles are a quarter as large: they compile, are right, and say what that costs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
import npuflow.target
from npuflow.execute.verification import Status

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program

DEVICES = Path(npuflow.target.__file__).parent / "devices"


@pytest.fixture
def quarter(tmp_path: Path) -> Path:
    """npu2 with memory tiles of 128 KiB."""
    text = (DEVICES / "npu2.toml").read_text()
    assert text.count("bytes = 524288 ") == 1
    file = tmp_path / "quarter.toml"
    file.write_text(text.replace("bytes = 524288 ", "bytes = 131072 "))
    return file


def wide() -> str:
    """Matmuls with norms between that hand over 512 and 192 KiB: of these, only a whole memory tile has room."""
    p = Program("wide")
    x, width = p.argument(256, 64), 64
    for wider in (512, 192):
        x = p.norm(p.matmul(x, p.argument(width, wider)), p.argument(wider))
        width = wider
    return p.text(p.matmul(x, p.argument(width, 64)))


def test_the_same_function_fits_and_less_of_it_stays(quarter: Path) -> None:
    whole, small = (
        npuflow.compile(wide(), "npuflow-stream-k{fuse=false}", device=device, split=True)
        for device in ("npu2", quarter)
    )
    report = small.run(verify=True, judge=JUDGE)
    (less,), (more,) = report.sequences, whole.run(verify=False).sequences
    assert less.verified.status is Status.OK
    assert less.peak_bytes["L2"] <= 131072
    assert less.plan.resident_bytes <= more.plan.resident_bytes
    # What doesn't stay says why: among other things, for lack of room.
    (sequence,) = small.sequences
    too_large = [value.number for value in sequence.plan.between if value.bytes > 131072 and value.home is None]
    assert too_large
    assert all(sequence.away[number] for number in too_large)
