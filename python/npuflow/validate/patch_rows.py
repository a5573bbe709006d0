"""Measured cycles of ops on a matrix engine of patches, an op tile per row whose data is in the scratchpad."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.errors import InputError, SourceLocation, UsageError, unknown_name, with_hint
from npuflow.kernels.patch_cycles import PatchWork, patch_cycles
from npuflow.target import Device, MatmulShape, load_device
from npuflow.validate.columns import Columns, Row, is_positive, parse_rows
from npuflow.validate.cycle_rows import CycleRow, UnknownWork

_SIZES = ("ow", "oh", "ic", "oc")
# What a row has where it says nothing: one position, one cluster that sums are written to, and no padding.
_DEFAULTS = {"kw": 1, "kh": 1, "sw": 1, "sh": 1, "output_writes": 1, "pad_top": 0, "pad_bottom": 0}
REQUIRED = ("device", "op", "in_type", "mode", *_SIZES, "measured_cycles")
_MOST_SIZE = 10**6

# The element types of a file by those of MLIR, and of the sums that instructions for them have.
_TYPES = {"uint8": ("i8", "i32"), "int8": ("i8", "i32"), "float16": ("f16", "f32"), "bfloat16": ("bf16", "f32")}
_BYTES = {"uint8": 1, "int8": 1, "float16": 2, "bfloat16": 2, "int32": 4, "float32": 4}
_GRID = "cuboid_"
# What each op is: summed up over channels, for each channel alone, or element by element.
_SUMMED, _APART, _ELEMENTWISE = ("conv",), ("depthwise", "maxpool", "avgpool"), ("eltwise",)


@dataclass(frozen=True)
class PatchTimed:
    """An op on a tile in a grid of the engine; `types` are those of the instruction."""

    work: PatchWork
    grid: str
    types: tuple[str, str, str]
    op: str

    def cycles(self, device: Device) -> int:
        """In cycles of the engine."""
        grid = next(grid for grid in device.patch_engine.grids if grid.name == self.grid)
        return patch_cycles(self.work, grid, self._instruction(device), device.patch_engine)

    def read_cycles(self, device: Device) -> int:
        return self.cycles(device)

    def _instruction(self, device: Device) -> MatmulShape:
        return device.matmul_shapes(*self.types)[0]

    def __str__(self) -> str:
        work = self.work
        (rows, columns), (high, wide) = work.pixels, work.window
        channels = f"{work.summed_channels}->{work.channels}" if work.summed_channels else f"{work.channels}"
        window = f" {high}x{wide}/{work.strides[1]}" if high * wide > 1 else ""
        return f"{self.op} {rows}x{columns} {channels}{window} {self.types[0]} {self.grid}"


def is_of_patches(columns: Columns) -> bool:
    return {"mode", "oc", "measured_cycles"} <= set(columns)


def parse_patch_rows(text: str, name: str) -> list[CycleRow | UnknownWork]:
    """The rows of CSV text that is called `name`; raises with everything that is wrong with them."""
    return parse_rows(text, name, REQUIRED, _problems, _made)


def _problems(row: Row) -> list[str]:
    found = [with_hint(f"{column} is empty", "every row needs one") for column in REQUIRED if not row.get(column)]
    for column in (*_SIZES, *_DEFAULTS):
        text, least = row.get(column) or "", _DEFAULTS.get(column, 1)
        if text and not (text.isdecimal() and least <= int(text[:20]) <= _MOST_SIZE):
            found.append(with_hint(f"{column} is '{text[:40]}'", f"give a whole number from {least} to 1e6"))
    measured = row.get("measured_cycles") or ""
    if measured and not is_positive(measured):
        found.append(with_hint(f"measured_cycles is '{measured}'", "give a positive number"))
    return found


def _made(row: Row, place: SourceLocation) -> CycleRow | UnknownWork:
    """A row without problems: what it is, or why nobody can say how long it takes."""
    name = row.get("id") or ""
    reason = _unknown(row)
    if reason is not None:
        return UnknownWork(reason, place, name)
    op, grid = row["op"] or "", (row["mode"] or "").removeprefix(_GRID)
    timed = PatchTimed(_work(row, op), grid, _instruction_types(row["in_type"] or ""), op)
    return CycleRow(row["device"] or "", op, timed, float(row["measured_cycles"] or 0), place, name)


def _unknown(row: Row) -> str | None:
    device, op = row["device"] or "", row["op"] or ""
    try:
        machine = load_device(device)
    except (InputError, UsageError) as error:
        return str(error).splitlines()[0].removeprefix("error: ")
    if not machine.patch_engine.is_known:
        return f"device '{device}' has no [patch_engine]"
    if op not in (*_SUMMED, *_APART, *_ELEMENTWISE):
        return f"operator {op}"
    for column, text, known in (("in_type", row["in_type"] or "", _TYPES), ("out_type", _out_type(row), _BYTES)):
        if text not in known:
            return unknown_name(column, text, known)
    if not _has_patches(machine, row["in_type"] or ""):
        return f"device '{device}' has no patches of {row['in_type']}"
    mode = row["mode"] or ""
    grids = [f"{_GRID}{grid.name}" for grid in machine.patch_engine.grids]
    return None if mode in grids else unknown_name(f"mode of device '{device}'", mode, grids)


def _instruction_types(in_type: str) -> tuple[str, str, str]:
    factor, total = _TYPES[in_type]
    return (factor, factor, total)


def _has_patches(device: Device, in_type: str) -> bool:
    types = _instruction_types(in_type)
    return device.has_instruction(types) and bool(device.matmul_shapes(*types)[0].patch)


def _out_type(row: Row) -> str:
    return row.get("out_type") or row["in_type"] or ""


def _work(row: Row, op: str) -> PatchWork:
    def size(column: str) -> int:
        return int(row.get(column) or _DEFAULTS.get(column, 0))

    return PatchWork(
        (size("oh"), size("ow")),
        channels=size("oc"),
        summed_channels=size("ic") if op in _SUMMED else 0,
        window=(size("kh"), size("kw")),
        strides=(size("sh"), size("sw")),
        in_bytes=_BYTES[row["in_type"] or ""],
        out_bytes=_BYTES[_out_type(row)],
        operands=2 if op in _ELEMENTWISE else 0,
        padded_edges=(size("pad_top") > 0) + (size("pad_bottom") > 0),
        is_broadcast=size("output_writes") > 1,
    )
