"""What decisions are worth: the times without each of them, and without all, or as one after the other is added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from npuflow.api.compiled import Compiled
from npuflow.compiler.compiled import Function, Sequence
from npuflow.compiler.known_residents import KnownResidents
from npuflow.execute.limits import byte_text
from npuflow.network.decisions import ALL_DECISIONS, OF_PARTS, OF_PASSES, Decision, Decisions
from npuflow.report.traffic import buffers_at
from npuflow.report.words import INDENT, quantity, table_lines
from npuflow.simulate.results import RunResults
from npuflow.target import Device

_HEADS = ("time", "ratio", "launches", "changes", "alive", "DRAM", "what it does")
# Compiles a program with some decisions.
Compiles = Callable[[Decisions], Compiled]


@dataclass(frozen=True)
class Ablated:
    """A function without some decisions: its time, what of that launches and changes are, and bytes.

    `alive_bytes` is what lies in DRAM between parts at a time, `moved_bytes` what they move from and to DRAM.
    """

    without: tuple[Decision, ...]
    time_us: float
    launch_us: float
    change_us: float
    alive_bytes: int
    moved_bytes: int


@dataclass(frozen=True)
class Ablation:
    """A function with all decisions, without each, and without all; or without any, and as they are `added`.

    There are no rows where nothing makes a difference.
    """

    signature: str
    rows: tuple[Ablated, ...]
    added: bool = False


def ablations_of(compiles: Compiles) -> Iterator[Ablation]:
    """Every function; what passes decide is compiled anew, equal programs are simulated once."""
    best = compiles(ALL_DECISIONS)
    passes = [one for one in Decision if one in OF_PASSES and _is_made(one, best.device)]
    each = {one: compiles(ALL_DECISIONS - {one}) for one in passes}
    none = compiles(ALL_DECISIONS.difference(passes))
    of_parts = frozenset(one for one in OF_PARTS if _is_made(one, best.device))
    for name in _names(best):
        signature, timed = _signature(best, name), _AblatedFunction(best, name)
        rows = [timed.row(ALL_DECISIONS)]
        for one in Decision:
            if one in each:
                rows.append(_AblatedFunction(each[one], name).row(ALL_DECISIONS - {one}))
            elif one in of_parts and timed.sequence is not None:
                rows.append(timed.row(ALL_DECISIONS - {one}))
        rows.append(_AblatedFunction(none, name).row(ALL_DECISIONS.difference(passes) - of_parts))
        makes_difference = timed.sequence is not None or len({row.time_us for row in rows}) > 1
        yield Ablation(signature, tuple(rows) if makes_difference else ())


def additions_of(compiles: Compiles) -> Iterator[Ablation]:
    """Every function without what passes decide, and as that is added in order; all else is decided throughout."""
    device = compiles(ALL_DECISIONS).device
    passes = [one for one in Decision if one in OF_PASSES and _is_made(one, device)]
    steps = list(accumulate(passes, lambda kept, one: kept | {one}, initial=ALL_DECISIONS.difference(passes)))
    made = [(decided, compiles(decided)) for decided in steps]
    for name in _names(made[-1][1]):
        rows = tuple(_AblatedFunction(compiled, name).row(decided) for decided, compiled in made)
        yield Ablation(_signature(made[-1][1], name), rows, added=True)


def _is_made(decision: Decision, device: Device) -> bool:
    """Whether there is anything to decide on a device."""
    if decision is Decision.ENGINES:
        return device.has_two_engines
    if decision is Decision.PREFETCH:
        return device.home_level is not None
    if decision is Decision.TABLES:
        return not device.dma(device.dram_level).reaches
    if decision is Decision.SPREAD:
        return device.home_level == device.kernel_level and device.rows * device.columns > 1
    if decision is Decision.CORES:
        return device.control.loads_one_by_one
    if decision is Decision.PADDING:
        return device.patch_engine.padding_share > 0
    return decision is not Decision.RESHAPE or any(shape.patch for shape in device.matmuls)


def _names(compiled: Compiled) -> Iterable[str]:
    return dict.fromkeys(function.part_of or function.name for function in compiled.functions)


def _signature(compiled: Compiled, name: str) -> str:
    found = [one.compiled.signature for one in compiled.sequences if one.name == name]
    return str(found[0] if found else next(f.compiled.signature for f in compiled.functions if f.name == name))


class _AblatedFunction:
    """A function of a compiled program, whole or as a sequence, whose equal programs are planned and simulated once."""

    def __init__(self, compiled: Compiled, name: str) -> None:
        self.sequence = next((one for one in compiled.sequences if one.name == name), None)
        self.function = next((one for one in compiled.functions if one.name == name), None)
        self._runs: dict[tuple[object, ...], RunResults] = {}
        self._known = KnownResidents()

    def row(self, decided: Decisions) -> Ablated:
        without = tuple(decision for decision in Decision if decision not in decided)
        return self._whole(without) if self.sequence is None else self._parts(self.sequence, decided, without)

    def _whole(self, without: tuple[Decision, ...]) -> Ablated:
        assert self.function is not None, "a function runs as a whole or as a sequence"
        compiled, results = self.function.compiled, self._run(self.function)
        time_us = results.cycles / compiled.program.clock_hz * 1e6
        moved = _moved_bytes(results, compiled.device.dram_level)
        return Ablated(without, time_us, compiled.launch_us, 0.0, 0, moved)

    def _parts(self, sequence: Sequence, decided: Decisions, without: tuple[Decision, ...]) -> Ablated:
        one = sequence.with_decided(decided, self._known)
        results = {part.name: self._run(part) for part in one.parts}
        phases = one.phases(results)
        launches, changes = (sum(getattr(phase, key) for phase in phases) for key in ("launch_us", "change_us"))
        moved = sum(_moved_bytes(results[part.name], one.device.dram_level) for part in one.parts)
        return Ablated(without, phases[-1].end_us, launches, changes, one.plan.alive_bytes, moved)

    def _run(self, part: Function) -> RunResults:
        compiled, tasks = part.compiled, part.compiled.tasks
        key = part.name, compiled.homes, compiled.near, () if tasks is None else tasks.tasks
        if key not in self._runs:
            self._runs[key] = part.simulate()
        return self._runs[key]


def _moved_bytes(results: RunResults, dram_level: int) -> int:
    """What a part moves from and to DRAM."""
    found = (results.traffic[buffer.name] for buffer in buffers_at(results.program, dram_level))
    return sum(one.read_bytes + one.written_bytes for one in found)


def ablations_text(ablations: Iterable[Ablation], device: str) -> str:
    """A table for each function; ratios are to the first time."""
    return "\n\n".join("\n".join(_lines(one, device)) for one in ablations)


def _lines(ablation: Ablation, device: str) -> Iterator[str]:
    yield f"{ablation.signature} on {device}"
    if not ablation.rows:
        yield f"{INDENT}runs as a whole: there is nothing to leave out"
        return
    first = ablation.rows[0]
    before = [first, *ablation.rows]
    names = [_added(one, row) if ablation.added else _left_out(row) for one, row in zip(before, ablation.rows)]
    rows = (_cells(*name, row, first.time_us) for name, row in zip(names, ablation.rows))
    yield from table_lines([("with" if ablation.added else "without", *_HEADS), *rows])


def _left_out(row: Ablated) -> tuple[str, str]:
    if len(row.without) == 1:
        return row.without[0].value, row.without[0].what
    return ("all of them" if row.without else "nothing"), ""


def _added(before: Ablated, row: Ablated) -> tuple[str, str]:
    new = [decision for decision in before.without if decision not in row.without]
    return (f"+ {new[0].value}", new[0].what) if new else ("none of them", "")


def _cells(name: str, what: str, row: Ablated, first_us: float) -> tuple[str, ...]:
    times = (quantity(us / 1e6, "s") for us in (row.launch_us, row.change_us))
    ratio = f"{row.time_us / first_us:.3g}"
    sizes = (byte_text(size) for size in (row.alive_bytes, row.moved_bytes))
    return name, quantity(row.time_us / 1e6, "s"), ratio, *times, *sizes, what


def ablations_data(ablations: Iterable[Ablation], device: str) -> dict[str, object]:
    """The same as data."""
    functions = [
        {
            "signature": one.signature,
            "rows": [
                {
                    "without": [decision.value for decision in row.without],
                    "time_us": row.time_us,
                    "launch_us": row.launch_us,
                    "change_us": row.change_us,
                    "alive_bytes": row.alive_bytes,
                    "moved_bytes": row.moved_bytes,
                }
                for row in one.rows
            ],
        }
        for one in ablations
    ]
    return {"format": "npuflow ablate", "version": 1, "device": device, "functions": functions}
