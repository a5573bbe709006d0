"""Measured cycles of matmuls and fused pairs of them on a systolic array, by the tiles that they were run with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from npuflow.errors import InputError, SourceLocation, unknown_name, with_hint
from npuflow.simulate.run import simulate
from npuflow.target import Device
from npuflow.validate.columns import Columns, Row, is_positive, parse_rows
from npuflow.validate.summary import ErrorSummary, summary_of
from npuflow.validate.systolic_program import TYPES, WORD_BYTES, program_of
from npuflow.validate.systolic_steps import FusedPair, SingleMatmul, TiledWork

DEVICE = "systolic16"
_SIZES = {
    "matmul": ("M", "K", "N", "tile_m", "tile_k", "tile_n"),
    "matmul_pair": ("M", "K", "L", "N", "tile_m", "tile_k", "tile_l"),
}
_REQUIRED = ("M", "K", "N", "tile_m", "tile_k", "cycles")
_MOST_SIZE = 10**6
_MOST_STEPS = 50_000


@dataclass(frozen=True)
class Words:
    """What is read from DRAM and written to it."""

    read: int
    written: int


@dataclass(frozen=True)
class SystolicRow:
    """What was measured; words only where the file has them."""

    id: str
    op: str
    work: TiledWork
    cycles: float
    words: Words | None
    location: SourceLocation


@dataclass(frozen=True)
class SystolicSkipped:
    """A row that cannot be predicted, and why."""

    row: SystolicRow
    reason: str


@dataclass(frozen=True)
class SystolicPrediction:
    """A row with what the simulator says, and max(compute, words to read) of the same device."""

    row: SystolicRow
    cycles: int
    words: Words
    roofline_cycles: float

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def error(self) -> float:
        """Signed, as a share of the measured cycles."""
        return self.cycles / self.row.cycles - 1

    @property
    def roofline_error(self) -> float | None:
        return self.roofline_cycles / self.row.cycles - 1


Answer: TypeAlias = SystolicPrediction | SystolicSkipped


def is_of_systolic(columns: Columns) -> bool:
    return {"tile_m", "tile_k", "cycles"} <= set(columns)


def parse_systolic_rows(text: str, name: str) -> list[SystolicRow]:
    """The rows of CSV text that is called `name`; raises with everything that is wrong with them."""
    return parse_rows(text, name, _REQUIRED, _problems, _made)


def _problems(row: Row) -> list[str]:
    op = _op(row)
    if op not in _SIZES:
        return [unknown_name("op", op, _SIZES)]
    found = []
    for column in _SIZES[op]:
        size = row.get(column) or ""
        if not (size.isdecimal() and 0 < int(size[:20]) <= _MOST_SIZE):
            found.append(with_hint(f"{column} is '{size[:40]}'", f"give a whole number from 1 to {_MOST_SIZE}"))
    cycles = row.get("cycles") or ""
    if not is_positive(cycles):
        found.append(with_hint(f"cycles is '{cycles}'", "give a positive number"))
    for column in ("words_read", "words_written"):
        words = row.get(column) or ""
        if words and not words.isdecimal():
            found.append(with_hint(f"{column} is '{words[:40]}'", "give a whole number, or nothing"))
    return found


def _op(row: Row) -> str:
    """As the file says, or by what only pairs have."""
    return row.get("op") or ("matmul_pair" if row.get("L") else "matmul")


def _made(row: Row, place: SourceLocation) -> SystolicRow:
    op = _op(row)
    sizes = [int(row[column] or 0) for column in _SIZES[op]]
    work = SingleMatmul(*sizes) if op == "matmul" else FusedPair(*sizes)
    read, written = row.get("words_read"), row.get("words_written")
    words = Words(int(read), int(written)) if read and written else None
    return SystolicRow(row.get("id") or f"line {place.line}", op, work, float(row["cycles"] or 0), words, place)


def predict_systolic(row: SystolicRow, device: Device) -> Answer:
    """A row's cycles and words from the simulator; what takes too many steps or doesn't fit on the chip is skipped."""
    if row.work.count > _MOST_STEPS:
        return SystolicSkipped(row, f"more than {_MOST_STEPS} steps")
    try:
        results = simulate(program_of(row.work, device))
    except InputError as error:
        return SystolicSkipped(row, str(error).splitlines()[0])
    moved = results.level_traffic(device.dram_level)
    words = Words(moved.read_bytes // WORD_BYTES, moved.written_bytes // WORD_BYTES)
    return SystolicPrediction(row, results.cycles, words, _roofline_cycles(row.work, words, device))


def _roofline_cycles(work: TiledWork, words: Words, device: Device) -> float:
    rate = device.dram.read_bytes_per_second / device.clock_hz / WORD_BYTES
    return max(work.macs / device.matmul_shapes(*TYPES)[0].macs_per_cycle, words.read / rate)


def summarise_systolic(predictions: list[SystolicPrediction]) -> list[ErrorSummary]:
    """One summary per op, and where there are several one of everything."""
    ops = list(dict.fromkeys(made.row.op for made in predictions))
    found = [summary_of(f"{DEVICE}, {op}", [made for made in predictions if made.row.op == op]) for op in ops]
    return [*found, summary_of("all", predictions)] if len(ops) > 1 else found
