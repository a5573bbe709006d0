"""How long functions take and what they lose: programs that are alike once, others in processes side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from npuflow.compiler.compiled import Function
from npuflow.compiler.verify_function import Verified
from npuflow.execute.sandbox import in_turns
from npuflow.report.measure import report_function
from npuflow.report.model import FunctionReport

_NOT_RUN = Verified.skipped("not run yet")


def timed_reports(functions: Sequence[Function], jobs: int, on_step: Callable[[str], None]) -> list[FunctionReport]:
    """Every function's report, in order, of those whose times are the same from one run; nothing is verified yet."""
    first: dict[object, int] = {}
    places: dict[str, int] = {}
    for number, function in enumerate(functions):
        known = places.get(function.like)
        places[function.name] = first.setdefault(function.timing, number) if known is None else known
    measured = dict(zip(first.values(), _measured([functions[number] for number in first.values()], jobs, on_step)))
    return [_own(measured[number], function) for number, function in zip(places.values(), functions)]


def _measured(functions: Sequence[Function], jobs: int, on_step: Callable[[str], None]) -> list[FunctionReport]:
    threads = -(-jobs // len(functions))
    if jobs == 1 or len(functions) == 1:
        return [_simulated(function, threads, on_step) for function in functions]
    on_step(f"simulating {len(functions)} functions, each without each of its costs as well")

    def reports(some: Iterator[int]) -> dict[int, FunctionReport]:
        return {number: _simulated(functions[number], threads, lambda _: None) for number in some}

    known: dict[int, FunctionReport] = {}
    for found in in_turns(reports, range(len(functions)), jobs, "simulating"):
        known |= found
    known |= reports(number for number in range(len(functions)) if number not in known)
    return [known[number] for number in range(len(functions))]


def _simulated(function: Function, threads: int, on_step: Callable[[str], None]) -> FunctionReport:
    on_step(f"simulating @{function.name}")
    results = function.simulate()
    on_step(f"simulating @{function.name} without each of its costs")
    return report_function(function.compiled, results, _NOT_RUN, function.sizes, function.strategy, threads)


def _own(report: FunctionReport, function: Function) -> FunctionReport:
    return replace(
        report,
        name=function.name,
        signature=str(function.compiled.signature),
        is_given=function.is_given,
        part_of=function.part_of,
        kinds=function.kinds,
        like=function.like,
    )
