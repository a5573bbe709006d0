"""`npuflow bounds --sweep`: matmuls while one of their sizes changes, as a table, CSV and a page."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npuflow.errors import ExitCode, InputError, UsageError, with_hint
from npuflow.tools.bounds_flags import BoundsFlags, numbers_of
from npuflow.tools.outputs import screen_of, write_output

if TYPE_CHECKING:
    from npuflow.api.file_bounds import FileBounds
    from npuflow.bounds.balance import Types
    from npuflow.bounds.sizes import MatmulSizes
    from npuflow.bounds.sweep import Sweep
    from npuflow.target import Device

_MOST = 1 << 24
_COLUMNS = (
    *("op", "M", "N", "K", "macs", "compulsory_bytes", "lower_bound_bytes", "attainable_bytes"),
    *("ops_per_byte", "balance", "memory_bound", "l2_hit_rate"),
)

Swept = Mapping[str, "Sweep"]


def read_bounds(path: str, device: str | None) -> FileBounds:
    """The bounds of a file, or of standard input."""
    from npuflow.api.file_bounds import file_bounds
    from npuflow.core.diagnostics import DiagnosticSink

    if path == "-":
        return file_bounds(sys.stdin.buffer.read(), device, DiagnosticSink(source_name="<stdin>"))
    return file_bounds(Path(path), device, DiagnosticSink())


def sweep_of(asked: Sequence[str], inputs: Sequence[str], flags: BoundsFlags) -> ExitCode:
    """Sweeps --gemm or the file's matmuls, and writes what was asked for."""
    from npuflow.bounds.sweep import sweep

    axis, first, last = _range_of(flags.sweep or "")
    if asked and asked != ["gemm"]:
        raise UsageError(with_hint(f"--sweep changes a matmul's size, not --{asked[0]}'s", "give a file or --gemm"))
    device, matmuls = _of_numbers(flags) if asked else _of_file(inputs[0], flags)
    swept = {name: sweep(one, axis, first, last, device, types) for name, (one, types) in matmuls.items()}
    if flags.json != "-" and flags.csv != "-" and flags.html != "-":
        print("\n".join(_lines(swept, device)), file=screen_of(flags))
    rows = [row for name, one in swept.items() for row in _rows(name, one)]
    if flags.csv is not None:
        write_output(flags.csv, _csv_text(rows).encode())
    if flags.html is not None:
        from npuflow.report.sweep_page import sweep_page

        write_output(flags.html, sweep_page(swept, device.name).encode())
    if flags.json is not None:
        made = [dict(zip(_COLUMNS, row)) for row in rows]
        write_output(flags.json, (json.dumps({"device": device.name, "points": made}) + "\n").encode())
    return ExitCode.OK


def _range_of(text: str) -> tuple[str, int, int]:
    from npuflow.bounds.sweep import AXES

    found = re.fullmatch(r"([A-Za-z]+)=([0-9]{1,9})\.\.([0-9]{1,9})", text.strip())
    axis, first, last = (found[1].upper(), int(found[2]), int(found[3])) if found else ("", 0, 0)
    if axis not in AXES or not 1 <= first <= last <= _MOST:
        what = f"flag '--sweep' cannot be '{text}'"
        raise UsageError(with_hint(what, f"give M, N or K and sizes from 1 to {_MOST}, as M=1..4096"))
    return axis, first, last


def _of_numbers(flags: BoundsFlags) -> tuple[Device, Mapping[str, tuple[MatmulSizes, Types]]]:
    """--gemm in the first types that the device multiplies."""
    from npuflow.bounds.answers import QUESTIONS
    from npuflow.bounds.sizes import MatmulSizes
    from npuflow.target import DEFAULT_DEVICE, load_device

    device = load_device(flags.device or DEFAULT_DEVICE)
    m, n, k = numbers_of("gemm", flags.gemm, QUESTIONS["gemm"])
    types = device.supported_types()[0]
    lhs, rhs, acc = (int(re.sub(r"\D", "", kind)) // 8 for kind in types)
    return device, {f"matmul of {types[0]}": (MatmulSizes(m, n, k, 1, lhs, rhs, acc, acc), types)}


def _of_file(path: str, flags: BoundsFlags) -> tuple[Device, Mapping[str, tuple[MatmulSizes, Types]]]:
    from npuflow.bounds.sizes import MatmulSizes

    found = read_bounds(path, flags.device)
    matmuls = {
        f"@{function.name}, {op.name}": (op.sizes, op.types)
        for function in found.functions
        for op in function.ops
        if isinstance(op.sizes, MatmulSizes) and op.types is not None and op.balance is not None
    }
    if not matmuls:
        hint = "a sweep changes M, N or K of linalg.matmul and what becomes one"
        raise InputError(with_hint(f"there is no matmul in '{path}' that {found.device.name} multiplies", hint))
    return found.device, matmuls


def _lines(swept: Swept, device: Device) -> Iterator[str]:
    from npuflow.bounds.sweep import size_of

    for name, one in swept.items():
        first, last = one.points[0], one.points[-1]
        span = f"{one.axis} from {size_of(first, one.axis)} to {size_of(last, one.axis)}"
        yield f"{name} on {device.name}, {span}: the machine does {one.balance:.4g} operations per byte of DRAM"
        for point in (first, *one.changes, last):
            bound = "memory-bound" if point.is_memory_bound else "compute-bound"
            hits = "" if point.hit_rate is None else f", {point.hit_rate:.0%} need not come from DRAM again"
            size = size_of(point, one.axis)
            yield f"  {one.axis} = {size:<9} {point.intensity:>10.4g} operations per byte, {bound}{hits}"


def _rows(name: str, swept: Sweep) -> Iterator[tuple[object, ...]]:
    for point in swept.points:
        sizes = point.sizes
        yield (
            *(name, sizes.m, sizes.n, sizes.k, sizes.macs),
            *(point.compulsory_bytes, point.lower_bound_bytes, point.attainable_bytes),
            *(point.intensity, swept.balance, point.is_memory_bound, point.hit_rate),
        )


def _csv_text(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(rows)
    return text.getvalue()
