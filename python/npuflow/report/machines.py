"""One program on several machines, in one table: what each function takes on each of them, and what limits it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from npuflow.report.model import FunctionReport, Report, SequenceReport
from npuflow.report.words import percent, quantity

_HEADS = ("device", "time", "cycles", "rate", "of the peak", "DRAM read", "written", "parts", "bound by")
_KIB = 1024


@dataclass(frozen=True)
class MachineResult:
    """A function on a machine. Rates are of its multiplications; bytes are DRAM's. Of parts, all together."""

    device: str
    time_us: float
    cycles: int
    ops_per_second: float
    peak_share: float
    read_bytes: int
    written_bytes: int
    parts: int
    bound_by: str

    def cells(self) -> tuple[str, ...]:
        moved = (f"{count / _KIB:.1f} KiB" for count in (self.read_bytes, self.written_bytes))
        rate = quantity(self.ops_per_second, "ops/s") if self.ops_per_second else "none"
        time = quantity(self.time_us / 1e6, "s")
        return (
            self.device,
            time,
            str(self.cycles),
            rate,
            percent(self.peak_share),
            *moved,
            str(self.parts),
            self.bound_by,
        )


@dataclass(frozen=True)
class RefusedMachine:
    """A machine that the program couldn't be compiled for, and why."""

    device: str
    reason: str


@dataclass(frozen=True)
class MachineTable:
    """Results of each function by its signature, in the order of the machines."""

    functions: Mapping[str, tuple[MachineResult, ...]]
    refused: tuple[RefusedMachine, ...]

    def lines(self) -> list[str]:
        """As text: the fastest first where there are several."""
        found: list[str] = []
        for signature, results in self.functions.items():
            found += ["", f"{signature}"] if found else [signature]
            rows = [_HEADS, *(one.cells() for one in sorted(results, key=lambda one: one.time_us))]
            widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADS))]
            found += [f"  {_aligned(row, widths)}".rstrip() for row in rows]
        found += [f"  {one.device} is refused: {one.reason}" for one in self.refused]
        return found

    def json(self) -> dict[str, object]:
        functions = [
            {"signature": signature, "machines": [asdict(one) for one in results]}
            for signature, results in self.functions.items()
        ]
        return {"functions": functions, "refused": [asdict(one) for one in self.refused]}


def machine_table(reports: Sequence[Report], refused: Sequence[RefusedMachine] = ()) -> MachineTable:
    """The reports of one program on several machines side by side; parts of sequences are in these."""
    found: dict[str, list[MachineResult]] = {}
    for report in reports:
        whole: list[FunctionReport | SequenceReport] = [one for one in report.functions if not one.part_of]
        for one in [*whole, *report.sequences]:
            found.setdefault(one.signature, []).append(_result(report.device.name, one))
    return MachineTable({signature: tuple(results) for signature, results in found.items()}, tuple(refused))


def _result(device: str, one: FunctionReport | SequenceReport) -> MachineResult:
    parts = one.parts if isinstance(one, SequenceReport) else (one,)
    operations = sum(2 * part.macs for part in parts)
    seconds = one.time_us / 1e6
    least = sum(2 * part.macs / part.peak_ops_per_second for part in parts if part.peak_ops_per_second)
    outer = [part.traffic[0] for part in parts if part.traffic]  # DRAM's stands first
    return MachineResult(
        device,
        one.time_us,
        one.cycles,
        operations / seconds,
        least / seconds,
        sum(level.read_bytes for level in outer),
        sum(level.write_bytes for level in outer),
        len(parts),
        _slowest(parts).bound_by.value,
    )


def _slowest(parts: Sequence[FunctionReport]) -> FunctionReport:
    return max(parts, key=lambda part: part.time_us)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others, last = (cell.ljust(width) if at in (0, len(row) - 1) else cell.rjust(width)
                            for at, (cell, width) in enumerate(zip(row, widths)))  # fmt: skip
    return "  ".join((first, *others, last))
