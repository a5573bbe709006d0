"""What a file's functions can move at least on a device, beside what they move when they are compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npuflow.api.compiled import Compiled
from npuflow.api.entry import compile as compile_source
from npuflow.compiler.compiled import Function
from npuflow.compiler.functions import show_what_is_private
from npuflow.compiler.given import take_apart
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse, parse_file
from npuflow.core.passes import fail
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.dialect.device import recorded_device
from npuflow.errors import InputError
from npuflow.execute.arrays import functions_of
from npuflow.report.file_bounds import BoundedFunction, bounded_function
from npuflow.report.traffic import levels_of_traffic
from npuflow.target import DEFAULT_DEVICE, Device, load_device

_NORMALIZED = "npuflow-normalize-linalg"


@dataclass(frozen=True)
class MovedBytes:
    """What a function's schedule moves inward and outward at each level, by the level's name."""

    inward_bytes: Mapping[str, int]
    outward_bytes: Mapping[str, int]

    def bytes_at(self, level: str) -> int:
        return self.inward_bytes.get(level, 0) + self.outward_bytes.get(level, 0)

    @property
    def hit_rate(self) -> float | None:
        """The share of what cores receive that DRAM doesn't send again; None where nothing lies between."""
        outer, *inner = self.inward_bytes.values()
        return 1 - outer / inner[0] if inner and inner[0] else None


@dataclass(frozen=True)
class FileBounds:
    """Every function's bounds, and what its schedule moves; `why_not` says why the file has none."""

    device: Device
    functions: Sequence[BoundedFunction]
    moved: Mapping[str, MovedBytes]
    why_not: str


def file_bounds(source: str | bytes | Path, device: str | None, sink: DiagnosticSink) -> FileBounds:
    """The bounds of a file or of MLIR text; what is wrong with it is raised, what doesn't fit the device is said."""
    context = new_context()
    if isinstance(source, Path):
        module = parse_file(str(source), context, sink)
    else:
        module = parse(source, context, sink.source_name, sink)
    show_what_is_private(module.operation)
    functions = take_apart(module).functions
    if functions is None or not list(functions_of(functions.operation)):
        hint = "give the program that a schedule was made of" if functions is None else "add one, or make one public"
        raise fail(module.operation, "there is no public function with a body to be compiled", hint)
    target = load_device(device or recorded_device(functions.operation) or DEFAULT_DEVICE)
    Runner(parse_pipeline(_NORMALIZED), sink=sink).run(functions)
    bounded = [bounded_function(function, target) for function in functions_of(functions.operation)]
    try:
        compiled = compile_source(source, device=device, sink=DiagnosticSink(source_name=sink.source_name))
    except InputError as error:
        return FileBounds(target, bounded, {}, error.diagnostics[0].message)
    return FileBounds(target, bounded, _moved(compiled), "")


def _moved(compiled: Compiled) -> Mapping[str, MovedBytes]:
    """What each function moves; of a sequence, what all calls of its parts move together."""
    calls = {f.name: [f] for f in compiled.functions if not f.part_of}
    calls |= {sequence.name: list(sequence.parts) for sequence in compiled.sequences}
    return {name: _moved_by(functions) for name, functions in calls.items()}


def _moved_by(functions: Sequence[Function]) -> MovedBytes:
    inward: dict[str, int] = {}
    outward: dict[str, int] = {}
    for function in functions:
        own = function.compiled
        for level in levels_of_traffic(function.simulate(), own.device, own.labels, function.sizes, own.updated):
            inward[level.level] = inward.get(level.level, 0) + level.read_bytes
            outward[level.level] = outward.get(level.level, 0) + level.write_bytes
    return MovedBytes(inward, outward)
