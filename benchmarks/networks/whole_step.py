#!/usr/bin/env python3
"""One step of benchmarks/networks/whole.py, in a process of its own: a network imported, compiled or verified."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from npuflow.execute.arrays import Array

FOLDER = Path(__file__).resolve().parent
SECONDS = 900


def networks() -> dict[str, str]:
    """Each network's name, and the file that has it."""
    vision = ("resnet18", "resnet50", "mobilenet_v2", "vit_block", "unet_block")
    language = ("bert_block", "gpt2_block", "lstm", "llama_prefill", "llama_decode", "llama_decode_cat")
    return {**dict.fromkeys(vision, "vision"), **dict.fromkeys(language, "language")}


# What is too large to be executed whole is verified on these inputs, of the same types as its own.
SMALLER = {
    "resnet50": ("64x64 pixels", "1x3x64x64xf32"),
    "unet_block": ("8x8 pixels", "1x320x8x8xf32,1x1280xf32,1x77x768xf32"),
    "llama_prefill": ("32 tokens", "1x32x2048xf32"),
}


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
    signature = compiled_whole.signature
    moved = sum(level.read_bytes + level.write_bytes for f in parts for level in f.traffic if level.level == "L3")
    time = report.sequences[0] if report.sequences else report.functions[0]
    once = report.sequences[0].compulsory_bytes if report.sequences else report.functions[0].traffic[0].compulsory_bytes
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


def array_of(value: Tensor) -> Array:
    """A copy of a tensor as numpy has it."""
    import ml_dtypes
    import torch

    copy = value.detach().clone()
    return copy.float().numpy().astype(ml_dtypes.bfloat16) if copy.dtype is torch.bfloat16 else copy.numpy()


def from_pytorch(job: Job) -> str:
    """How far what is imported computes from what PyTorch does."""
    import torch

    from npuflow.compiler.layer_errors import deviation
    from npuflow.execute.jit import compile_function
    from npuflow.importing.python_networks import load_network
    from npuflow.importing.torch_programs import DEFAULT_NAME, from_torch

    network = load_network(*job.source.rsplit(":", 1), ())
    module = from_torch(network.module, network.inputs)
    given, before = [array_of(value) for value in network.inputs], [value.clone() for value in network.inputs]
    found = compile_function(module.operation, DEFAULT_NAME, poison=False).run(given).results
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(network.module(*network.inputs))
    expected += [now for now, then in zip(network.inputs, before) if not torch.equal(now, then)]  # what it writes to
    worst = max(deviation(now, array_of(then)).relative for now, then in zip(found, expected, strict=True))
    return f"{worst:.0e} from PyTorch"


STEPS = {"import": imported, "compile": compiled, "verify": verified}


def main() -> None:
    """Prints as JSON what a step finds: its name, then a network's, its type, its program's file and the device."""
    step, name, kind, path, device = sys.argv[1:]
    print(json.dumps(STEPS[step](Job(name, kind, path, device))))


if __name__ == "__main__":
    main()
