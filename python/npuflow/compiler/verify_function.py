"""A compiled function's functional run, compared with an independent reference on random data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from npuflow.compiler.compiled_function import CompiledFunction, FunctionalRun, execute_function
from npuflow.compiler.execute_wide import execute_wide
from npuflow.compiler.sequence import CompiledSequence, execute_sequence
from npuflow.execute.arrays import Array
from npuflow.execute.compare import Comparison, worst_of
from npuflow.execute.references import Reference
from npuflow.execute.verification import Outcome, Status, outcome_of
from npuflow.execute.widen import NoWiderFormError
from npuflow.simulate.faults import faults


@dataclass(frozen=True)
class Verified:
    """How a function's results compare; `message` says what is wrong or why nothing was compared.

    Errors are the largest of a result, with the bound there, `wide` ones with all floats in 64 bits; `share` is the
    most that any error takes of its bound. Results may be right by luck where the schedule has hazards: `is_close` is
    about the numbers alone.
    """

    status: Status
    against: str = ""
    max_error: float | None = None
    allowed_error: float | None = None
    message: str = ""
    hazards: tuple[str, ...] = ()
    is_close: bool = True
    wide_max_error: float | None = None
    wide_allowed_error: float | None = None
    unchecked_elements: int = 0
    share: float = 0.0
    why_not_iree: str = ""

    @staticmethod
    def skipped(reason: str) -> Verified:
        return Verified(Status.SKIPPED, message=reason)


def verify_function(function: CompiledFunction | CompiledSequence, reference: Reference) -> Verified:
    """Executes a function, or its parts, on the reference's inputs; wrong results and races are data, not exceptions.

    Hazards of parts say whose they are.
    """
    hazards: dict[str, None] = {}

    def run(inputs: Sequence[Array]) -> Sequence[Array]:
        if isinstance(function, CompiledFunction):
            execution = execute_function(function, inputs)
            hazards.update(dict.fromkeys(_hazards(execution)))
            return execution.outputs
        in_parts = execute_sequence(function, inputs)
        for name, one in in_parts.executions:
            hazards.update(dict.fromkeys(f"@{name}: {hazard}" for hazard in _hazards(one)))
        return in_parts.outputs

    try:
        wide = partial(execute_wide, function) if reference.has_floats else None
        outcome = outcome_of(reference, run, wide)
    except NoWiderFormError:
        outcome = outcome_of(reference, run, None)
    return _judged(outcome, tuple(hazards), reference)


def _hazards(execution: FunctionalRun) -> tuple[str, ...]:
    return tuple(str(hazard) for hazard in faults(execution.results))


def _judged(outcome: Outcome, hazards: tuple[str, ...], reference: Reference) -> Verified:
    is_close = outcome.status is not Status.WRONG
    return Verified(
        outcome.status if is_close and not hazards else Status.WRONG,
        reference.judge.value,
        *_shown(outcome.narrow),
        str(outcome),
        hazards,
        is_close,
        *_shown(outcome.wide),
        sum(comparison.unchecked for comparison in outcome.narrow),
        max((comparison.share for comparison in (*outcome.narrow, *outcome.wide)), default=0.0),
        reference.why_not_iree,
    )


def _shown(comparisons: Sequence[Comparison]) -> tuple[float | None, float | None]:
    """The error and bound to show; none where nothing could be checked."""
    worst = worst_of(comparisons)
    return (None, None) if worst is None or worst.is_blind else (worst.max_error, worst.allowed)


def confirmed(verified: Verified, reference: Reference) -> Verified:
    """What was found against a reference, once the judge has said what he thinks of that reference."""
    if reference.dispute:
        return replace(verified, status=Status.WRONG, message=reference.dispute, is_close=False)
    return replace(verified, against=reference.judge.value, why_not_iree=reference.why_not_iree)


def judge_alone(execution: FunctionalRun) -> Verified:
    """An execution that there is nothing to compare with: its hazards decide."""
    hazards = _hazards(execution)
    if hazards:
        return Verified(Status.WRONG, message="compared with nothing", hazards=hazards)
    checked = "no deadlock, no race, nothing read unwritten, nothing lost"
    return Verified(Status.EXECUTED, message=f"{checked}; its results are compared with nothing")
