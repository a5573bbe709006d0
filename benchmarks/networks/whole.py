#!/usr/bin/env python3
"""Imports whole networks from PyTorch, compiles, times and verifies them: the table of docs/networks-whole.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs" / "networks-whole.md"
TYPES = ("f32", "bf16", "i8")
SECONDS = 900
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


def networks() -> dict[str, str]:
    """Each network's name, and the file that has it."""
    vision = ("resnet18", "resnet50", "mobilenet_v2", "vit_block", "unet_block")
    language = ("bert_block", "gpt2_block", "lstm", "llama_prefill", "llama_decode")
    return {**dict.fromkeys(vision, "vision"), **dict.fromkeys(language, "language")}


# What is too large to be executed whole is verified on these inputs, of the same types as its own.
SMALLER = {
    "unet_block": ("8x8 pixels", "1x320x8x8xf32,1x1280xf32,1x77x768xf32"),
    "llama_prefill": ("32 tokens", "1x32x2048xf32"),
}
# Converted networks are verified where it takes a minute or two.
LIGHT = ("mobilenet_v2", "vit_block", "bert_block", "gpt2_block", "lstm", "llama_decode")


@dataclass(frozen=True)
class Job:
    """One network in one type, whose program is in a file."""

    name: str
    type: str
    path: str
    device: str

    @property
    def source(self) -> str:
        return f"{FOLDER / networks()[self.name]}.py:{self.name}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these networks")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--device", default="npu2")
    parser.add_argument("--no-verify", action="store_true", help="only compiles and times them")
    parser.add_argument("--rows", type=Path, help="a JSON file that rows are kept in, and taken from if they are there")
    parser.add_argument("--write", action="store_true", help=f"writes {PAGE.name}, of all rows that there are")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)  # one step, in a process of its own
    options = parser.parse_args(arguments)
    if options.measure:
        step, name, kind, path = options.measure
        print(json.dumps(STEPS[step](Job(name, kind, path, options.device))))
        return 0
    kept = {}
    if options.rows and options.rows.exists():
        kept = {(row["network"], row["type"]): Row(**row) for row in json.loads(options.rows.read_text())}
    for name in options.names or networks():
        for kind in options.types.split(","):
            row = kept.get((name, kind)) or measured(name, kind, options.device)
            if not options.no_verify and row.verified == "no" and not row.why and (kind == "f32" or name in LIGHT):
                row = with_verification(row, options.device)
            kept[name, kind] = row
            print(" | ".join(cells(row)), flush=True)
            if options.rows:
                options.rows.write_text(json.dumps([asdict(row) for row in kept.values()], indent=1))
    if options.write:
        PAGE.write_text(page(PAGE.read_text(), [kept[key] for key in ordered(kept)]))
    return 1 if any(row.why or "wrong" in row.verified for row in kept.values()) else 0


def ordered(keys: Sequence[tuple[str, str]] | dict[tuple[str, str], Row]) -> list[tuple[str, str]]:
    return [(name, kind) for name in networks() for kind in TYPES if (name, kind) in keys]


def measured(name: str, kind: str, device: str) -> Row:
    """A network's row, of processes that import and compile it."""
    row = Row(name, kind)
    with tempfile.TemporaryDirectory() as directory:
        for step in ("import", "compile"):
            found = in_process(step, name, kind, f"{directory}/{name}.mlir", device)
            most = max(row.memory_bytes, int(str(found.get("memory_bytes", 0))))
            row = replace(row, **{**found, "memory_bytes": most})
            if row.why:
                break
    return row


def with_verification(row: Row, device: str) -> Row:
    """A row with what a process says that executes the network."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/{row.network}.mlir"
        imported_there = {} if row.network in SMALLER else in_process("import", row.network, row.type, path, device)
        found = (
            imported_there if imported_there.get("why") else in_process("verify", row.network, row.type, path, device)
        )
    return replace(row, verified=str(found.get("verified") or f"no: {found['why']}"))


def in_process(step: str, name: str, kind: str, path: str, device: str) -> dict[str, object]:
    """What a process of its own finds, whatever becomes of it."""
    command = [sys.executable, __file__, "--device", device, "--measure", step, name, kind, path]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        return json.loads(ended.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"why": f"{step} takes more than {SECONDS} s"}
    except (IndexError, ValueError):
        return {"why": f"{step} failed: {(ended.stderr.strip().splitlines() or ['without a word'])[-1]}"}


def used_seconds() -> float:
    own, children = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def used_bytes() -> int:
    return 1024 * max(getrusage(RUSAGE_SELF).ru_maxrss, getrusage(RUSAGE_CHILDREN).ru_maxrss)


def imported(job: Job) -> dict[str, object]:
    """Writes the network's program to a file."""
    import npuflow
    from npuflow.importing.networks import import_network

    module = import_network(job.source)
    error = None
    if job.type != "f32":
        converted = npuflow.convert(module, job.type)
        module = converted.module
        results = converted.conversions[0].results
        error = max(result.relative for result in results) if results else None
    with Path(job.path).open("wb") as file:
        module.operation.write_bytecode(file)
    return {"import_seconds": used_seconds(), "memory_bytes": used_bytes(), "error": error}


def compiled(job: Job) -> dict[str, object]:
    """Compiles it and makes a report, without executing it."""
    import npuflow
    from npuflow.errors import NpuflowError

    try:
        begun = used_seconds()
        made = npuflow.compile(Path(job.path), device=job.device)
        at = used_seconds()
        report = made.run(verify=False)
        ended = used_seconds()
    except NpuflowError as error:
        return {"why": str(error).splitlines()[0].partition("; hint:")[0]}
    parts = report.sequences[0].parts if report.sequences else report.functions
    compiled_whole = made.sequences[0].compiled if made.sequences else made.functions[0].compiled
    tables = made.sequences[0].compiled.table_arrays if made.sequences else ()
    signature = compiled_whole.signature
    once = sum(spec.nbytes for spec in (*signature.inputs, *signature.outputs)) + sum(one.nbytes for one in tables)
    moved = sum(level.read_bytes + level.write_bytes for f in parts for level in f.traffic if level.level == "L3")
    time = report.sequences[0] if report.sequences else report.functions[0]
    return {
        "sizes": ", ".join(map(str, signature.inputs)),
        "parts": len({part.name for part in parts}),
        "calls": len(parts),
        "time_us": time.time_us,
        "in_place_us": report.sequences[0].in_place_us if report.sequences else time.time_us,
        "moved": moved / once,
        "compile_seconds": at - begun,
        "report_seconds": ended - at,
        "memory_bytes": used_bytes(),
    }


def verified(job: Job) -> dict[str, object]:
    """Executes it, or the same on smaller inputs, and compares with PyTorch, IREE and the program's own execution."""
    import npuflow
    from npuflow.errors import NpuflowError
    from npuflow.execute.limits import Limits
    from npuflow.importing.input_types import read_input_type
    from npuflow.importing.networks import import_network

    source, what = Path(job.path), "whole"
    try:
        if job.name in SMALLER:
            what, sizes = SMALLER[job.name]
            types = [read_input_type(text) for text in sizes.split(",")]
            source = import_network(job.source, types)
            if job.type != "f32":
                source = npuflow.convert(source, job.type).module
        report = npuflow.compile(source, device=job.device).run(verify=True, limits=Limits(time_seconds=SECONDS))
    except NpuflowError as error:
        return {"why": str(error).splitlines()[0].partition("; hint:")[0]}
    one = (report.sequences or report.functions)[0].verified
    judge = "IREE" if one.against == "iree" else "its own execution"
    said = f"{what}, {one.status.value}, {judge}"
    return {"verified": f"{said}, {from_pytorch(job)}" if job.type == "f32" and job.name not in SMALLER else said}


def from_pytorch(job: Job) -> str:
    """How far what is imported computes from what PyTorch does."""
    import torch

    from npuflow.compiler.layer_errors import deviation
    from npuflow.execute.jit import compile_function
    from npuflow.importing.python_networks import load_network
    from npuflow.importing.torch_programs import DEFAULT_NAME, from_torch

    network = load_network(*job.source.rsplit(":", 1), ())
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(network.module(*network.inputs))
    module = from_torch(network.module, network.inputs)
    given = [value.numpy() for value in network.inputs]
    found = compile_function(module.operation, DEFAULT_NAME, poison=False).run(given).results
    worst = max(deviation(now, then.numpy()).relative for now, then in zip(found, expected, strict=True))
    return f"{worst:.0e} from PyTorch"


STEPS = {"import": imported, "compile": compiled, "verify": verified}


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


HEAD = ("network", "type", "launches", "time", "traffic", "error", "import", "compile", "report", "memory", "verified")


def page(text: str, rows: Sequence[Row]) -> str:
    """The page with the table of these rows between its marks."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + " --- |" * len(HEAD)]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    before, rest = text.split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{rest.split(END)[1]}"])


if __name__ == "__main__":
    sys.exit(main())
