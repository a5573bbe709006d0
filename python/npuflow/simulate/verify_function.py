"""A compiled function's functional run, compared with an independent reference on random data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.execute.arrays import Array
from npuflow.execute.compare import Comparison, compare
from npuflow.execute.verification import Reference, Status
from npuflow.simulate.compiled import CompiledFunction, Execution, execute_function
from npuflow.simulate.program import Program
from npuflow.simulate.results import Hazard, HazardKind, Results
from npuflow.simulate.sequence import SequenceExecution
from npuflow.simulate.walk import sends


@dataclass(frozen=True)
class Verified:
    """How a function's results compare; `message` says what is wrong or why nothing was compared.

    Results may be right by luck where the schedule has hazards: `is_close` is about the numbers alone.
    """

    status: Status
    against: str = ""
    max_error: float | None = None
    allowed_error: float | None = None
    message: str = ""
    hazards: tuple[str, ...] = ()
    is_close: bool = True
    why_not_iree: str = ""

    @staticmethod
    def skipped(reason: str) -> Verified:
        return Verified(Status.SKIPPED, message=reason)


def verify_function(function: CompiledFunction, reference: Reference) -> Verified:
    """Executes the function on the reference's inputs; wrong results and races are data, not exceptions."""
    return judge(execute_function(function, reference.inputs), reference)


def judge(execution: Execution, reference: Reference) -> Verified:
    """An execution on the reference's inputs, compared with what the reference says."""
    return _judged(execution.outputs, _hazards(execution), reference)


def judge_sequence(execution: SequenceExecution, reference: Reference) -> Verified:
    """The same of an execution part by part; hazards say whose they are."""
    found = (f"@{name}: {hazard}" for name, one in execution.executions for hazard in _hazards(one))
    return _judged(execution.outputs, tuple(found), reference)


def _hazards(execution: Execution) -> tuple[str, ...]:
    return tuple(str(hazard) for hazard in faults(execution.results))


def _judged(outputs: Sequence[Array], hazards: tuple[str, ...], reference: Reference) -> Verified:
    pairs = zip(outputs, reference.expected, reference.bounds, strict=True)
    comparisons = [compare(got, expected, bound) for got, expected, bound in pairs]
    worst = min(comparisons, key=_goodness)
    is_close = all(comparison.ok for comparison in comparisons)
    return Verified(
        Status.OK if is_close and not hazards else Status.WRONG,
        reference.judge.value,
        worst.max_error,
        worst.allowed,
        str(worst),
        hazards,
        is_close,
        reference.why_not_iree,
    )


def judge_alone(execution: Execution) -> Verified:
    """An execution that there is nothing to compare with: its hazards decide."""
    hazards = _hazards(execution)
    if hazards:
        return Verified(Status.WRONG, message="compared with nothing", hazards=hazards)
    checked = "no deadlock, no race, nothing read unwritten, nothing lost"
    return Verified(Status.EXECUTED, message=f"{checked}; its results are compared with nothing")


def _goodness(comparison: Comparison) -> tuple[bool, float]:
    share = comparison.max_error / comparison.allowed if comparison.allowed else comparison.max_error
    return comparison.ok, -share


def faults(results: Results) -> list[Hazard]:
    """The hazards that no right schedule has.

    Results on padding are computed and then left behind in L2, because the way out stops at the tensor's boundary:
    overwriting those bytes unread is no fault.
    """
    cut = _buffers_with_limited_reads(results.program)
    return [h for h in results.hazards if h.kind is not HazardKind.LOST or not _is_in(h, results.program, cut)]


def _buffers_with_limited_reads(program: Program) -> frozenset[str]:
    return frozenset(send.access.buffer for send in sends(program) if send.access.limits)


def _is_in(hazard: Hazard, program: Program, names: frozenset[str]) -> bool:
    for buffer in program.buffers:
        end = buffer.address_bytes + buffer.slot_bytes * buffer.depth
        if buffer.memory == hazard.memory and buffer.address_bytes <= hazard.low_byte < end:
            return buffer.name in names
    return False
