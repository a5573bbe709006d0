"""Runs of an access: how long they are, how far apart, and where they begin."""

import pytest

from npuflow.simulate.program import FlatAccess, FlatAffine
from npuflow.simulate.runs import runs_of
from npuflow.target.runs import DramRuns


@pytest.mark.parametrize(
    ("access", "runs"),
    [
        (FlatAccess("x", (8, 56), (4032, 1), 2), DramRuns(112, 8064, 0, (8064,))),
        (FlatAccess("x", (8, 64), (64, 1), 2), DramRuns(1024)),  # one run
        (FlatAccess("x", (2, 8, 64), (8192, 64, 1), 2), DramRuns(1024, 16384, 0, (16384,))),
        # Two levels of rows: neighbours are 4096 bytes apart; all begin 6 bytes on, and at steps of 112 from there.
        (
            FlatAccess("x", (2, 8, 56), (65536, 2048, 1), 2, FlatAffine(3, (56,))),
            DramRuns(112, 4096, 6, (131072, 4096, 112)),
        ),
    ],
)
def test_runs_of_an_access(access: FlatAccess, runs: DramRuns) -> None:
    assert runs_of(access) == runs
