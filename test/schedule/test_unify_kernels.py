"""What a core calls in several places is in its program once, if it is the same code."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import npuflow
from npuflow.core.passes import ops_of
from npuflow.schedule.ir.read_schedule import schedules_of

sys.path.insert(0, str(Path(__file__).parent))

from kept_rows import Strips


def test_kernels_of_the_same_code_have_one_name() -> None:
    """The first four rows of the first of three convolutions take the kernel of a step, which makes four as well.

    So does the fill in front of it. The other two begin with fewer rows, or with none.
    """
    module = npuflow.parse(Strips(3, rows=4).text("npu1"), npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-schedule")
    (schedule,) = schedules_of(module.operation)
    calls = Counter(str(op.attributes["kernel"]) for op in ops_of(schedule, "npu.compute"))
    kinds = {str(op.attributes["kernel"]): str(op.attributes["kind"]) for op in ops_of(schedule, "npu.compute")}
    assert sorted(kinds[name] for name, count in calls.items() if count == 2) == ['"fill"', '"window"']
    assert set(calls.values()) == {1, 2}
    defined = [op for op in ops_of(schedule, "func.func") if "kernel" in op.opview.name.value]
    assert len(defined) == len(calls)
