"""Measured cycles of single contiguous transfers, in cycles of a device's clock; each is a program of the simulator."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.errors import InputError, SourceLocation, UsageError, unknown_name, with_hint
from npuflow.simulate.one_transfer import OneTransfer
from npuflow.simulate.run import simulate
from npuflow.target import Device, load_device
from npuflow.validate.columns import Columns, Row, is_positive, parse_rows
from npuflow.validate.cycle_rows import CycleRow, UnknownWork

REQUIRED = ("device", "bytes", "src", "dst", "measured_cycles")
_MOST_BYTES = 10**10
# Memories by the names that files have for them: the kernels' own, and DRAM.
_PLACES = ("cmx", "dram")


@dataclass(frozen=True)
class TransferTimed:
    """A transfer between two memories with a device's clocks in some gear ("": as the file has them)."""

    source: str
    target: str
    bytes: int
    gear: str

    def cycles(self, device: Device) -> int:
        levels = {"cmx": device.kernel_level, "dram": device.dram_level}
        transfer = OneTransfer(levels[self.source], levels[self.target], self.bytes)
        return simulate(transfer.program(device.in_gear(self.gear))).cycles

    def read_cycles(self, device: Device) -> int:
        return device.as_timed(self.cycles(device))

    def __str__(self) -> str:
        gear = f" gear {self.gear}" if self.gear else ""
        return f"{self.source} to {self.target} {self.bytes} bytes{gear}"


def is_of_transfers(columns: Columns) -> bool:
    return {"bytes", "src", "dst", "measured_cycles"} <= set(columns)


def parse_transfer_rows(text: str, name: str) -> list[CycleRow | UnknownWork]:
    """The rows of CSV text that is called `name`; raises with everything that is wrong with them."""
    return parse_rows(text, name, REQUIRED, _problems, _made)


def _problems(row: Row) -> list[str]:
    found = [with_hint(f"{column} is empty", "every row needs one") for column in REQUIRED if not row.get(column)]
    size, measured = row.get("bytes") or "", row.get("measured_cycles") or ""
    if size and not (size.isdecimal() and 0 < int(size[:20]) <= _MOST_BYTES):
        found.append(with_hint(f"bytes is '{size[:40]}'", "give a whole number from 1 to 1e10"))
    if measured and not is_positive(measured):
        found.append(with_hint(f"measured_cycles is '{measured}'", "give a positive number"))
    found += [
        unknown_name(end, row[end] or "", _PLACES) for end in ("src", "dst") if row.get(end) not in (None, "", *_PLACES)
    ]
    return found


def _made(row: Row, place: SourceLocation) -> CycleRow | UnknownWork:
    device, name = row["device"] or "", row.get("id") or ""
    try:
        load_device(device)
    except (InputError, UsageError) as error:
        return UnknownWork(str(error).splitlines()[0].removeprefix("error: "), place, name)
    timed = TransferTimed(row["src"] or "", row["dst"] or "", int(row["bytes"] or 0), row.get("gear") or "")
    group = f"{timed.source} to {timed.target}"
    return CycleRow(device, group, timed, float(row["measured_cycles"] or 0), place, name)
