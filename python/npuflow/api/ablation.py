"""What decisions about functions that run in parts are worth: the times without each of them, and without all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npuflow.api.compiled import Compiled
from npuflow.compiler.compiled import Sequence
from npuflow.execute.limits import byte_text
from npuflow.network.decisions import ALL_DECISIONS, OF_PARTS, Decision, Decisions
from npuflow.report.sequences import phases_of
from npuflow.report.traffic import buffers_at
from npuflow.report.words import INDENT, quantity, table_lines
from npuflow.simulate.at_home import HomePort
from npuflow.simulate.results import RunResults

_HEADS = ("without", "time", "ratio", "launches", "changes", "alive", "DRAM", "what it does")


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
    """A function with all decisions, without each, and without all; nothing where it runs as a whole."""

    signature: str
    rows: tuple[Ablated, ...]


def ablations_of(compiled: Compiled) -> Iterator[Ablation]:
    """Every function that was compiled with its parts in the program's order; equal programs are simulated once."""
    sequences = {sequence.name: sequence for sequence in compiled.sequences}
    whole = {function.name: function for function in compiled.functions if not function.part_of}
    for name in dict.fromkeys(function.part_of or function.name for function in compiled.functions):
        if name in sequences:
            yield Ablation(str(sequences[name].compiled.signature), tuple(_rows(sequences[name])))
        else:
            yield Ablation(str(whole[name].compiled.signature), ())


def _rows(sequence: Sequence) -> Iterator[Ablated]:
    runs: dict[tuple[str, tuple[HomePort, ...]], RunResults] = {}
    each = (ALL_DECISIONS - {one} for one in Decision if one in OF_PARTS)
    kept: list[Decisions] = [ALL_DECISIONS, *each, ALL_DECISIONS - OF_PARTS]
    for decided in kept:
        one, results = sequence.with_decided(decided), {}
        for part in one.parts:
            key = part.name, part.compiled.homes
            if key not in runs:
                runs[key] = part.simulate()
            results[part.name] = runs[key]
        phases = phases_of(one, results)
        yield Ablated(
            tuple(decision for decision in Decision if decision not in decided),
            phases[-1].end_us,
            sum(phase.launch_us for phase in phases),
            sum(phase.change_us for phase in phases),
            one.plan.alive_bytes,
            sum(_moved_bytes(results[part.name], one.device.dram_level) for part in one.parts),
        )


def _moved_bytes(results: RunResults, dram_level: int) -> int:
    """What a part moves from and to DRAM."""
    found = (results.traffic[buffer.name] for buffer in buffers_at(results.program, dram_level))
    return sum(one.read_bytes + one.written_bytes for one in found)


def ablations_text(ablations: Iterable[Ablation], device: str) -> str:
    """A table for each function; ratios are to the time with all decisions."""
    return "\n\n".join("\n".join(_lines(one, device)) for one in ablations)


def _lines(ablation: Ablation, device: str) -> Iterator[str]:
    yield f"{ablation.signature} on {device}"
    if not ablation.rows:
        yield f"{INDENT}runs as a whole: there is nothing to leave out"
        return
    yield from table_lines([_HEADS, *(_cells(row, ablation.rows[0].time_us) for row in ablation.rows)])


def _cells(row: Ablated, best_us: float) -> tuple[str, ...]:
    names, what = "nothing", ""
    if len(row.without) == 1:
        names, what = row.without[0].value, row.without[0].what
    elif row.without:
        names = "all of them"
    times = (quantity(us / 1e6, "s") for us in (row.launch_us, row.change_us))
    ratio = f"{row.time_us / best_us:.3g}"
    return (
        names,
        quantity(row.time_us / 1e6, "s"),
        ratio,
        *times,
        byte_text(row.alive_bytes),
        byte_text(row.moved_bytes),
        what,
    )


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
