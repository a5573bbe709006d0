"""What npuflow chooses for measured matmuls, against the designs that were measured."""

from dataclasses import replace

import pytest

import npuflow.pipelines  # noqa: F401  (registers our passes and pipelines)
from npuflow.tuning.choices import DesignChoice, compare, summaries_of
from npuflow.tuning.trial import TrialOutcome
from npuflow.tuning.tune_module import TuneSettings
from npuflow.validate.measurements import Measurement

# Tiles so small that blocks are set up for longer than they are computed.
SMALL = Measurement(
    "small", "npu1", "nobody", "matmul", "bf16", "f32", 64, 64, 64, 4, 8, 4, 64, 2, 2, time_us=1.0, note="of nobody"
)


def outcome(cycles: int) -> TrialOutcome:
    return TrialOutcome(cycles=1000 + cycles, launch_cycles=1000)


def test_a_design_of_small_tiles_is_beaten_and_tuning_never_loses() -> None:
    compared = compare([SMALL, replace(SMALL, id="again")], 1, TuneSettings(2))
    first, again = compared.choices
    assert compared.skipped == ()
    assert (first.design, first.default, first.tuned) == (again.design, again.default, again.tuned)
    assert "tile_l1 = [4, 4, 8]" in first.design.used[0]
    assert first.ratio < 0.9
    assert first.tuned_ratio is not None
    assert first.tuned_ratio <= first.ratio


def test_what_is_no_matmul_or_does_not_fit_says_why() -> None:
    rows = [
        replace(SMALL, id="other", op="add"),
        replace(SMALL, id="unsaid", l1_k=0),
        replace(SMALL, id="wide", rows=5),
        replace(SMALL, id="nowhere", device="npu9"),
        replace(SMALL, id="large", m=4096, n=4096, k=4096, l1_m=512, l1_n=512, l1_k=512, l2_k=512),
    ]
    compared = compare(rows, 1)
    assert compared.choices == ()
    reasons = {one.row.id: one.reason for one in compared.skipped}
    assert set(reasons) == {row.id for row in rows}
    assert reasons["other"] == "operator add"
    assert reasons["unsaid"] == "matmul without a shape, tile or grid"
    assert "grid" in reasons["wide"]
    assert "npu9" in reasons["nowhere"]
    assert "L1" in reasons["large"]


def test_ratios_are_behind_the_launch() -> None:
    choices = [
        DesignChoice(SMALL, outcome(100), outcome(50), outcome(25)),
        DesignChoice(replace(SMALL, id="slower"), outcome(100), outcome(200), outcome(100)),
    ]
    found = dict(summaries_of(choices))
    # sqrt(0.5 x 2) and sqrt(0.25 x 1)
    assert found["default"].geometric_mean == pytest.approx(1.0)
    assert (found["default"].above_one, found["default"].worst, found["default"].worst_id) == (1, 2.0, "slower")
    assert found["tuned"].geometric_mean == pytest.approx(0.5)
    assert found["tuned"].above_one == 0


def test_nothing_is_said_of_no_rows() -> None:
    assert list(summaries_of([])) == []
