#!/usr/bin/env python3
"""Imports whole networks from PyTorch, compiles, times and verifies them: the table of docs/networks-whole.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from whole_step import FOLDER, SECONDS, SMALLER, Job, networks

STEP = str(FOLDER / "whole_step.py")
PAGE = FOLDER.parents[1] / "docs" / "networks-whole.md"
TYPES = ("f32", "bf16", "i8")
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


@dataclass(frozen=True)
class Row:
    """How one network came out, in one type."""

    network: str
    type: str
    sizes: str = ""
    parts: int = 0
    calls: int = 0
    time_us: float = 0.0
    in_place_us: float = 0.0
    moved: float = 0.0
    error: float | None = None
    import_seconds: float = 0.0
    compile_seconds: float = 0.0
    report_seconds: float = 0.0
    memory_bytes: int = 0
    why: str = ""
    verified: str = "no"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these networks")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--device", default="npu2")
    parser.add_argument("--no-verify", action="store_true", help="only compiles and times them")
    parser.add_argument("--rows", type=Path, help="a JSON file that rows are kept in, and taken from if they are there")
    parser.add_argument("--programs", type=Path, help="a folder that imported programs are kept in, and taken from")
    parser.add_argument("--write", action="store_true", help=f"writes {PAGE.name}, of all rows that there are")
    options = parser.parse_args(arguments)
    kept = {}
    if options.rows and options.rows.exists():
        kept = {(row["network"], row["type"]): Row(**row) for row in json.loads(options.rows.read_text())}
    for name in options.names or networks():
        for kind in options.types.split(","):
            with folder(options.programs) as programs:
                job = Job(name, kind, f"{programs}/{name}-{kind}.mlir", options.device)
                row = kept.get((name, kind)) or measured(job)
                if not options.no_verify and row.verified == "no" and not row.why:
                    row = with_verification(row, job)
            kept[name, kind] = row
            print(" | ".join(cells(row)), flush=True)
            if options.rows:
                options.rows.write_text(json.dumps([asdict(row) for row in kept.values()], indent=1))
    if options.write:
        PAGE.write_text(page(PAGE.read_text(), [kept[key] for key in ordered(kept)]))
    return 1 if any(row.why or "wrong" in row.verified for row in kept.values()) else 0


def ordered(keys: Sequence[tuple[str, str]] | dict[tuple[str, str], Row]) -> list[tuple[str, str]]:
    return [(name, kind) for name in networks() for kind in TYPES if (name, kind) in keys]


@contextmanager
def folder(kept: Path | None) -> Iterator[Path]:
    """A folder for programs: the one that is given, or one that is gone behind this."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def measured(job: Job) -> Row:
    """A network's row, of processes that import and compile it."""
    row = Row(job.name, job.type)
    for find in (found_imported, partial(in_process, "compile")):
        found = find(job)
        most = max(row.memory_bytes, int(str(found.get("memory_bytes", 0))))
        row = replace(row, **{**found, "memory_bytes": most})
        if row.why:
            break
    return row


def found_imported(job: Job) -> dict[str, object]:
    """What importing a network found, now or when its program was written."""
    said = Path(f"{job.path}.json")
    if not said.exists() or not Path(job.path).exists():
        found = in_process("import", job)
        if "why" in found:
            return found
        said.write_text(json.dumps(found))
    return dict(json.loads(said.read_text()))


def with_verification(row: Row, job: Job) -> Row:
    """A row with what a process says that executes the network."""
    imported_there = {} if job.name in SMALLER else found_imported(job)
    found = imported_there if imported_there.get("why") else in_process("verify", job)
    return replace(row, verified=str(found.get("verified") or f"no: {found['why']}"))


def in_process(step: str, job: Job) -> dict[str, object]:
    """What a process of its own finds, whatever becomes of it."""
    command = [sys.executable, STEP, step, job.name, job.type, job.path, job.device]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        return json.loads(ended.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"why": f"{step} takes more than {SECONDS} s"}
    except (IndexError, ValueError):
        return {"why": f"{step} failed: {(ended.stderr.strip().splitlines() or ['without a word'])[-1]}"}


def cells(row: Row) -> list[str]:
    name = [row.network.replace("_", " "), row.type]
    if row.why:
        return [*name, row.why.replace("|", "/"), *[""] * (len(HEAD) - 3)]
    error = "" if row.type == "f32" else "no" if row.error is None else f"{100 * row.error:.2g} %"
    return [
        *name,
        f"{row.calls}" + (f" ({row.parts})" if row.parts != row.calls else ""),
        f"{row.time_us / 1e3:.2f} ms ({row.in_place_us / 1e3:.2f})",
        f"{row.moved:.2f}x",
        error,
        f"{row.import_seconds:.1f}",
        f"{row.compile_seconds:.1f}",
        f"{row.report_seconds:.1f}",
        f"{row.memory_bytes / 2**30:.2f} GiB",
        row.verified,
    ]


HEAD = ("network", "type", "phases", "time", "traffic", "error", "import", "compile", "report", "memory", "verified")


def page(text: str, rows: Sequence[Row]) -> str:
    """The page with the table of these rows between its marks."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + " --- |" * len(HEAD)]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    before, rest = text.split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{rest.split(END)[1]}"])


if __name__ == "__main__":
    sys.exit(main())
