"""The contiguous runs that a transfer is made of in DRAM: how far apart they begin, and where in bursts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True)
class DramRuns:
    """Runs of `run_bytes`, of which the next begins `pitch_bytes` behind one; 0 where a transfer is one run.

    They begin at `begin_bytes` and at steps of `steps_bytes` from there, at every multiple of what these have in
    common.
    """

    run_bytes: int
    pitch_bytes: int = 0
    begin_bytes: int = 0
    steps_bytes: tuple[int, ...] = ()

    def ends_off_bursts(self, burst_bytes: int) -> float:
        """How many of a run's two ends aren't at the edge of a burst, on average over where the runs can begin."""
        common = gcd(burst_bytes, *self.steps_bytes)
        ends = (self.begin_bytes, self.begin_bytes + self.run_bytes)
        aligned = sum(end % common == 0 for end in ends)
        return len(ends) - aligned * common / burst_bytes
