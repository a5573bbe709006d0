"""Candidates timed by the workers of a Dask cluster on this machine, one of which is lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
import tuned_programs as programs

import npuflow

pytest.importorskip("distributed")

PATIENCE_SECONDS = 60


class Cluster:
    """A scheduler and two workers, processes of their own."""

    def __init__(self, tmp_path: object) -> None:
        scheduler = "import sys; from distributed.cli.dask_scheduler import main; main(sys.argv[1:])"
        arguments = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler = subprocess.Popen(
            [sys.executable, "-c", scheduler, *arguments], stderr=subprocess.PIPE, text=True, cwd=str(tmp_path)
        )
        assert self.scheduler.stderr is not None
        said = iter(self.scheduler.stderr.readline, "")
        line = next(line for line in said if "Scheduler at" in line)
        self.address = line.split("tcp://")[1].strip()
        worker = "import sys; from distributed.cli.dask_worker import main; main(sys.argv[1:])"
        flags = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
        self.workers = [
            subprocess.Popen(
                [sys.executable, "-c", worker, f"tcp://{self.address}", *flags],
                stderr=subprocess.DEVNULL,
                cwd=str(tmp_path),
            )
            for _ in range(2)
        ]

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(PATIENCE_SECONDS)
        assert self.scheduler.stderr is not None
        self.scheduler.stderr.close()


@pytest.fixture
def cluster(tmp_path: object) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


@pytest.mark.filterwarnings("ignore")
def test_a_lost_worker_costs_its_work_only(cluster: Cluster) -> None:
    killed = []

    def on_step(what: str, _count: int) -> None:
        """Kills a worker once three candidates are done."""
        killed.append(what)
        if killed.count("") == 3:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    here = npuflow.tune(programs.MATMUL, device="toy", candidates=10, cache="none", jobs=2)
    there = npuflow.tune(
        programs.MATMUL,
        device="toy",
        candidates=10,
        cache="none",
        jobs=2,
        executor=f"dask:{cluster.address}",
        on_step=on_step,
    )
    assert cluster.workers[0].wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert there.json() == here.json()


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_said() -> None:
    with pytest.raises(npuflow.UsageError, match="no scheduler of Dask answers"):
        npuflow.tune(programs.MATMUL, device="toy", cache="none", executor="dask:127.0.0.1:1")
