"""A file's bounds on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from npuflow.execute.limits import byte_text
from npuflow.report.file_bounds import BoundedFunction, BoundedOp
from npuflow.report.measures import OpBound
from npuflow.report.words import percent, quantity
from npuflow.strategy.least_time import LeastTime

HEADS = ("compulsory", "lower bound", "attainable", "moved")

_LABEL = 28
_CELL = 11


def function_lines(function: BoundedFunction, moved: Mapping[str, int], hit_rate: float | None) -> Iterator[str]:
    """A function's ops, chains and, where `moved` says it, what its schedule moves at each level."""
    yield _row(f"@{function.name}", HEADS)
    for op in function.ops:
        yield f"  {op.name}"
        for level in op.levels:
            yield _row(f"    {level.level}", _cells(level.bound))
            if level.private_bytes is not None:
                yield _row("      each core for itself", ("", byte_text(level.private_bytes)))
        yield from (f"    {text}" for text in (*_balance(op), *_least(op)))
    for chain in function.chains:
        yield f"  {chain.name} in a row, {chain.level}"
        yield from (_row(f"    {one.name}", _cells(one)) for one in (chain.unfused, chain.fused))
    if moved:
        yield "  the schedule of all of it"
        yield from (_row(f"    {level}", (*_sums(function, level), byte_text(size))) for level, size in moved.items())
    if hit_rate is not None:
        yield f"    {percent(hit_rate)} of what cores receive needs not come from DRAM again"


def _row(label: str, cells: Sequence[str]) -> str:
    return f"{label:<{_LABEL}}" + " ".join(f"{cell:>{_CELL}}" for cell in cells).rstrip()


def _cells(bound: OpBound) -> Sequence[str]:
    best = "" if bound.attainable_bytes is None else byte_text(bound.attainable_bytes)
    return byte_text(bound.compulsory_bytes), byte_text(bound.lower_bound_bytes), best


def _sums(function: BoundedFunction, level: str) -> Sequence[str]:
    """What ops need one by one; nothing is said of the best where that of one is unknown."""
    bounds = [one.bound for op in function.ops for one in op.levels if one.level == level]
    best = [bound.attainable_bytes for bound in bounds if bound.attainable_bytes is not None]
    sums = (sum(bound.compulsory_bytes for bound in bounds), sum(bound.lower_bound_bytes for bound in bounds))
    return (*map(byte_text, sums), byte_text(sum(best)) if len(best) == len(bounds) else "")


def _balance(op: BoundedOp) -> Iterator[str]:
    if op.intensity is None or op.balance is None:
        return
    who = "memory-bound: DRAM takes longer" if op.is_memory_bound else "compute-bound: the cores take longer"
    yield f"{op.intensity:.4g} operations per byte, of {op.balance:.4g} that the machine does in the time: {who}"


def _least(op: BoundedOp) -> Iterator[str]:
    if (least := op.least) is None:
        return
    waits = f", {_time(least.waiting_seconds)} of waiting" if least.waiting_seconds else ""
    work = f"{_time(least.before_seconds)} until cores begin, {_time(least.core_seconds)} of kernels{waits}"
    beside = f"{_time(least.arrival_seconds)} into L1, {_time(least.dram_seconds)} of DRAM"
    yield f"no tiles take less than {_time(least.seconds)}: {work}; beside that {beside}"


def _time(seconds: float) -> str:
    return quantity(seconds, "s")


def function_json(function: BoundedFunction, moved: Mapping[str, int], hit_rate: float | None) -> Mapping[str, object]:
    """The same; names of keys are in docs/bounds.md."""
    return {
        "name": function.name,
        "ops": [_op_json(op) for op in function.ops],
        "chains": [asdict(chain) for chain in function.chains],
        "moved_bytes": dict(moved) or None,
        "l2_hit_rate": hit_rate,
    }


def _op_json(op: BoundedOp) -> Mapping[str, object]:
    levels = {
        one.level: {
            "compulsory_bytes": one.bound.compulsory_bytes,
            "lower_bound_bytes": one.bound.lower_bound_bytes,
            "attainable_bytes": one.bound.attainable_bytes,
            "private_bytes": one.private_bytes,
        }
        for one in op.levels
    }
    return {
        "name": op.name,
        "macs": op.sizes.macs,
        "types": op.types and list(op.types),
        "levels": levels,
        "intensity": op.intensity,
        "balance": op.balance,
        "memory_bound": op.is_memory_bound,
        "least_time": op.least and _least_json(op.least),
    }


def _least_json(least: LeastTime) -> Mapping[str, object]:
    made = asdict(least)
    mapping = made.pop("mapping")
    return {**made, "tiles": mapping["tiles"], "grid": mapping["spread"]["grid"]}
