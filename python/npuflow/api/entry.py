"""`npuflow.compile` and `npuflow.convert`: from a source to what can be run."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, replace
from pathlib import Path

from npuflow.api.arguments import choice, name_of, of_type, source_of, whole_number, yes_or_no
from npuflow.api.compiled import Compiled
from npuflow.bindings import ir
from npuflow.compiler.compilation import Split
from npuflow.compiler.compiled import Function, Sequence
from npuflow.compiler.compiled_function import compile_schedule
from npuflow.compiler.conversion import ComputeType, Conversion, Converted
from npuflow.compiler.conversion import convert as convert_module
from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.compiler.functions import How, show_what_is_private
from npuflow.compiler.given import device_of, move, schedules_in, take_apart
from npuflow.compiler.scheduling import check_schedules
from npuflow.compiler.split import compile_or_split
from npuflow.constants.moved import moved_to
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, expand
from npuflow.core.garbage import seldom_collecting
from npuflow.core.options import print_options
from npuflow.core.parsing import parse, parse_file
from npuflow.core.passes import fail
from npuflow.core.pipeline_text import NamedNode, Node, PassNest, make_node, parse_pipeline
from npuflow.dialect.context import new_context
from npuflow.dialect.device import recorded_device
from npuflow.errors import InputError, UsageError, with_hint
from npuflow.execute.arrays import Array
from npuflow.network.decisions import ALL_DECISIONS, OF_PASSES, Decision, Decisions, decisions_without
from npuflow.pipelines import MatmulPipeline
from npuflow.target import DEFAULT_DEVICE, MACS_RATE, load_device


@seldom_collecting()
def compile(  # noqa: A001, PLR0913  (the package's name qualifies it; each argument is a choice of its own)
    source: str | bytes | Path | ir.Module,
    pipeline: str = DEFAULT_PIPELINE,
    *,
    device: str | Path | None = None,
    columns: int | None = None,
    kernel_macs_per_cycle: float | None = None,
    split: bool | None = None,
    disable: str | abc.Iterable[str] = (),
    compute_type: str | ComputeType | None = None,
    calibration: abc.Sequence[Array] | None = None,
    jobs: int = 1,
    sink: DiagnosticSink | None = None,
    on_given: abc.Callable[[ir.Module], None] = lambda _: None,
) -> Compiled:
    """Compiles MLIR text, bytecode, a file or a module, which stays as it is; schedules are only checked.

    A file is a Path, or a text of one line that ends in `.mlir` or `.mlirbc`. `device` is a name or a TOML file,
    `columns` how many of its columns to use. `kernel_macs_per_cycle` replaces the times of the matmul kernels by a rate
    that was measured, calls included. `split` says whether functions run as a sequence of parts: left out, those do
    that don't fit as a whole or are faster so; `disable` names decisions about these to leave out, as "phases". With a
    `compute_type`, what `convert` makes on `calibration` data is compiled, and what results are compared with. `jobs`
    is how many processes compile what differs; with more than one, passes of your own leave nothing behind in this
    one's memory.
    `sink` receives remarks and warnings. `on_given` is handed what is compiled, and results are compared with, before
    that begins, where no schedules are in it.
    """
    rate = kernel_macs_per_cycle
    if rate is not None:
        of_type("kernel_macs_per_cycle", rate, (int, float), "give a number, as 180.5")
    if rate is not None and not MACS_RATE.holds(rate):
        raise UsageError(with_hint(f"a kernel of {rate} MAC/cycle", f"give a number {MACS_RATE}"))
    of_type("the pipeline", pipeline, str, "give text such as npuflow-stream-k{grid=2,2}")
    asked = name_of("the device", device, "a name or a TOML file") if device is not None else None
    if columns is not None:
        whole_number("columns", columns, least=1)
    whole_number("jobs", jobs, least=1)
    yes_or_no("split", split)
    of_type("disable", disable, abc.Iterable, "give names of decisions, as 'phases' or ['phases', 'order']")
    if calibration is not None:
        of_type("calibration", calibration, abc.Sequence, "give a list of arrays, one for each argument")
    sink = sink or DiagnosticSink()
    if calibration is not None and compute_type is None:
        raise UsageError(with_hint("calibration is for a compute type, and none is asked for", "compute_type='i8'"))
    module = parsed_source(source_of(source), sink)
    conversions: tuple[Conversion, ...] = ()
    if compute_type is not None:
        converted = convert(module, compute_type, calibration, sink=sink)
        module, conversions = converted.module, converted.conversions
    how = Split.IF_FASTER if split is None else Split.ALWAYS if split else Split.NEVER
    left_out = disable.split(",") if isinstance(disable, str) else disable
    parting = _Parting(how, decisions_without(left_out) if left_out else ALL_DECISIONS)
    try:
        show_what_is_private(module.operation)
        if not schedules_in(module.operation):
            on_given(module)
        made = _compiled(module, pipeline, with_columns(asked, columns, module), rate, parting, sink, jobs)
        return replace(made, conversions=conversions)
    except InputError as error:
        raise InputError([sink.named(diagnostic) for diagnostic in error.diagnostics]) from error


@seldom_collecting()
def convert(
    source: str | bytes | Path | ir.Module,
    compute_type: str | ComputeType,
    calibration: abc.Sequence[Array] | None = None,
    *,
    sink: DiagnosticSink | None = None,
) -> Converted:
    """Networks of f32 in an array's own types, "bf16" or "i8": a module to be compiled, and how far off its layers are.

    The source stays as it is. Numbers' ranges, of which scales of i8 are made, and errors are those on `calibration`,
    an array for each argument of the only function, or on random data.
    """
    sink = sink or DiagnosticSink()
    wanted = choice("compute type", compute_type, ComputeType)
    try:
        return convert_module(parsed_source(source_of(source), sink), wanted, calibration, sink=sink)
    except InputError as error:
        raise InputError([sink.named(diagnostic) for diagnostic in error.diagnostics]) from error


@dataclass(frozen=True)
class _Parting:
    """Which functions run in parts, and what is decided about these."""

    split: Split
    decided: Decisions


def _compiled(
    module: ir.Module,
    pipeline: str,
    asked: str | None,
    rate: float | None,
    parting: _Parting,
    sink: DiagnosticSink,
    jobs: int,
) -> Compiled:
    root = module.operation
    found = take_apart(module)
    if not found.names:
        raise fail(root, "there is no public function with a body", "add one, or make one public")
    schedules = schedules_in(found.schedules.operation) if found.schedules is not None else []
    chosen = device_of(schedules, asked) or recorded_device(root)
    functions: list[Function] = []
    sequences: tuple[Sequence, ...] = ()
    if found.schedules is not None:
        check_schedules(found.schedules, chosen or DEFAULT_DEVICE, sink)
        target = load_device(chosen or DEFAULT_DEVICE)
        made = [compile_schedule(module, op, target, kernel_macs_per_cycle=rate) for op in schedules]
        functions += [Function(one, (), {}, is_given=True) for one in made]
    text, given = "", module
    if found.functions is not None:
        named = parse_pipeline(pipeline)
        if left_out := OF_PASSES - parting.decided:
            named = _without(named, left_out)
        nest = expand(named, Expansion(device=chosen))
        text = pipeline.strip() or str(nest)
        unfused = _unfused(named)
        apart = None if unfused is None else expand(unfused, Expansion(device=chosen))
        how = How(nest, chosen, rate, parting.decided, apart)
        batch = compile_or_split(module, how, parting.split, sink, jobs)
        functions += batch.functions
        sequences, module = batch.sequences, batch.module
        if found.schedules is not None:
            move(schedules, module)
    places = {name: number for number, name in enumerate(found.names)}
    functions.sort(key=lambda function: places[function.part_of or function.name])
    return Compiled(functions[0].compiled.device, text, tuple(functions), given, module, sequences)


def _unfused(nest: PassNest) -> PassNest | None:
    """The same pipelines without fusion; None where there is none, or where they say what is fused, and how."""
    pipelines = [node.instance for node in nest.elements if isinstance(node, NamedNode)]
    if any(isinstance(one, MatmulPipeline) and one.says_what_is_fused for one in pipelines):
        return None
    unfused = _without(nest, frozenset({Decision.FUSION}))
    return None if unfused == nest else unfused


def _without(nest: PassNest, left_out: Decisions) -> PassNest:
    """The same pipelines, told to leave out what is decided while functions are compiled."""

    def without(node: Node) -> Node:
        if not isinstance(node, NamedNode) or not isinstance(node.instance, MatmulPipeline):
            return node
        pipeline = node.instance
        if Decision.FUSION in left_out:
            pipeline = replace(pipeline, fuse=False)
        if Decision.MASKS in left_out:
            pipeline = replace(pipeline, masked_parts=1)
        if Decision.RESHAPE in left_out:
            pipeline = replace(pipeline, reshape=False)
        if Decision.PADDING in left_out:
            pipeline = replace(pipeline, padding=False)
        if Decision.ENGINES in left_out:
            pipeline = replace(pipeline, depth_between=1)
        return make_node(node.name, print_options(pipeline))

    return replace(nest, elements=tuple(map(without, nest.elements)))


def parsed_source(source: object, sink: DiagnosticSink) -> ir.Module:
    if isinstance(source, Path):
        return parse_file(str(source), new_context(), sink)
    if isinstance(source, (str, bytes)):
        return parse(source, new_context(), sink.source_name, sink)
    given: ir.Module = source
    return moved_to(new_context(), given, sink)


def with_columns(device: str | None, columns: int | None, module: ir.Module) -> str | None:
    """The device that is asked for, by a name that says how much of it is used."""
    if columns is None:
        return device
    name = device or recorded_device(module.operation) or DEFAULT_DEVICE
    whole = load_device(name)
    whole.check_grid(1, columns)
    if ":" not in name:
        return f"{name}:{columns}"
    return f"{name.rpartition(':')[0]}:{whole.rows}x{columns}"
