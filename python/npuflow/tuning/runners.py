"""Where candidates are timed: in forks of this process, or by workers of Dask; both are executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager

from npuflow.errors import UsageError, with_hint
from npuflow.execute.limits import Limits, limited
from npuflow.execute.sandbox import beside, run_in_child
from npuflow.tuning.trial import StrategyTrial, TrialOutcome, run_trial

Submit = Callable[[StrategyTrial], "Future[TrialOutcome]"]
DASK = "dask:"
LOST = "lost: "
# A candidate takes a second or so; one that takes as long as this is of no use to anybody.
_LIMITS = Limits(300.0)


@contextmanager
def local_runner(jobs: int) -> Iterator[Submit]:
    """Forks of this process, as many at a time; one that crashes or never ends costs its own candidate."""
    with limited(_LIMITS), beside(jobs) as pool:
        yield lambda trial: pool.submit(_in_child, trial)


def _in_child(trial: StrategyTrial) -> TrialOutcome:
    return run_in_child(lambda: run_trial(trial), "timing a candidate")


@contextmanager
def dask_runner(address: str) -> Iterator[Submit]:
    """Workers of a Dask cluster, which hands what a lost one had to others."""
    try:
        from distributed import Client
    except ImportError:
        what = f"--executor={DASK}{address} needs the package distributed"
        raise UsageError(with_hint(what, "pip install 'npuflow[dask]'")) from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        what = f"no scheduler of Dask answers at '{address}': {error}"
        raise UsageError(with_hint(what, "start one: dask scheduler; dask worker ADDRESS")) from None
    with client:
        executor: Executor = client.get_executor(retries=2)
        yield lambda trial: executor.submit(run_trial, trial)


@contextmanager
def runner_of(executor: str, jobs: int) -> Iterator[Submit]:
    """The runner that is asked for by name: `local`, or `dask:ADDRESS`."""
    if executor.startswith(DASK) and len(executor) > len(DASK):
        with dask_runner(executor.removeprefix(DASK)) as submit:
            yield submit
    elif executor == "local":
        with local_runner(jobs) as submit:
            yield submit
    else:
        what = f"the executor is '{executor}'"
        raise UsageError(with_hint(what, "give local, or dask:ADDRESS, as dask:127.0.0.1:8786"))


def run_in_order(
    submit: Submit, trials: Sequence[StrategyTrial], at_once: int, goes_on: Callable[[], bool]
) -> Iterator[tuple[int, TrialOutcome]]:
    """Numbers and outcomes of trials, as they come; those begun are the first ones, until `goes_on` says no.

    What a runner loses is run here, so that it costs its work only.
    """
    waiting: dict[Future[TrialOutcome], int] = {}
    numbers = iter(range(len(trials)))
    while True:
        while len(waiting) < at_once and goes_on() and (number := next(numbers, None)) is not None:
            waiting[submit(trials[number])] = number
        if not waiting:
            return
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda one: waiting[one]):
            number = waiting.pop(future)
            yield number, _outcome(future, trials[number])


def _outcome(future: Future[TrialOutcome], trial: StrategyTrial) -> TrialOutcome:
    try:
        return future.result()
    except Exception:  # noqa: BLE001  (a lost worker's work is done here; a defect is met again where it shows)
        return _lost(trial)


def _lost(trial: StrategyTrial) -> TrialOutcome:
    try:
        with limited(_LIMITS):
            return _in_child(trial)
    except Exception as error:  # noqa: BLE001  (one candidate must not end a search; the table says what it met)
        return TrialOutcome(refusal=f"{LOST}{str(error).splitlines()[0]}")
