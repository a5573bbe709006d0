"""The report on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from npuflow.execute.limits import byte_text
from npuflow.execute.references import Judge
from npuflow.execute.verification import Status
from npuflow.report.conversion_text import conversion_texts
from npuflow.report.dataflow_text import dataflow_lines
from npuflow.report.energy import WITHOUT_CHANGES, EnergyUse, energy_rows, energy_text
from npuflow.report.measures import EngineClass, LevelTraffic, Loss, OpBound, TensorTraffic
from npuflow.report.model import FunctionReport, Report, SequenceReport
from npuflow.report.sequences import (
    HEADS,
    PLAN_HEADS,
    changes_text,
    mapping_of_sequence,
    part_rows,
    plan_rows,
    plan_text,
    time_text,
    traffic_text,
)
from npuflow.report.words import INDENT, percent, quantity, table_lines
from npuflow.strategy.strategy import DEPTHS

LOSSES_SHOWN = 3

_LABEL = 12
_CELL = 11
_AGAINST = {judge.value: str(judge) for judge in Judge}
# A cause that took less than this share is not worth a word.
_SHARE_SHOWN = 0.005
_LOSS_SHOWN = 0.0005
_CAUSES_SHOWN = 4


def text_of(report: Report, *, details: bool = False) -> str:
    """Every function of the report, as a person reads it; with `details`, parts of sequences and trees of dataflow."""
    screens: list[Iterator[str]] = []
    begun: set[str] = set()
    sequences = {sequence.name: sequence for sequence in report.sequences}
    for function in report.functions:
        owner = function.part_of
        if owner in sequences and owner not in begun:
            begun.add(owner)
            screens.append(_sequence(report, sequences[owner], details=details))
        if details or owner not in sequences:
            whole = details or not function.like
            screens.append(_function(report, function, details=details) if whole else _like(report, function))
    return "\n\n".join(map("\n".join, screens))


def heading_text(report: Report, signature: str) -> str:
    """What runs where."""
    device = report.device
    return f"{signature} on {device.name} ({device.rows}x{device.columns} cores, {device.clock_hz / 1e9:g} GHz)"


def _sequence(report: Report, sequence: SequenceReport, *, details: bool) -> Iterator[str]:
    yield heading_text(report, sequence.signature)
    yield from (_line("type", text) for text in conversion_texts(report, sequence.name))
    yield _line("mapping", mapping_of_sequence(report.pipeline, sequence))
    yield _line("split", sequence.reason)
    if sequence.like:
        yield _line("like", like_text(sequence.like))
    yield _line("time", time_text(sequence))
    if changes_text(sequence):
        yield _line("changes", changes_text(sequence))
    if plan_text(sequence):
        yield _line("plan", plan_text(sequence))
    yield _line("traffic", traffic_text(sequence))
    yield _line("verified", verified_text(sequence))
    yield ""
    yield from table_lines([HEADS, *part_rows(sequence)])
    if sequence.energy is not None:
        yield ""
        yield from _energy(sequence.energy, WITHOUT_CHANGES)
    if details:
        yield ""
        yield from table_lines([PLAN_HEADS, *plan_rows(sequence)])


def like_text(other: str) -> str:
    """What it means that a function is like another."""
    return f"@{other} but for its name: compiled, simulated and verified once"


def _like(report: Report, function: FunctionReport) -> Iterator[str]:
    """A function that is like another, whose screen says the rest."""
    yield from _beginning(report, function)
    yield _line("verified", verified_text(function))


def _beginning(report: Report, function: FunctionReport) -> Iterator[str]:
    yield heading_text(report, function.signature)
    yield from (_line("type", text) for text in conversion_texts(report, function.name))
    if function.like:
        yield _line("like", like_text(function.like))
    yield _line("mapping", mapping_text(report, function))
    yield _line("time", f"{quantity(function.time_us / 1e6, 's')}, {function.cycles} cycles")
    yield _line("rate", rate_text(function))
    yield _line("bound by", _bound(function))


def _function(report: Report, function: FunctionReport, *, details: bool) -> Iterator[str]:
    yield from _beginning(report, function)
    yield from (_line("reshaped" if i == 0 else "", text) for i, text in enumerate(reshape_text(function)))
    yield _line("verified", verified_text(function))
    yield ""
    yield from _traffic(function)
    if details and function.dataflow is not None:
        yield ""
        yield from (f"{INDENT}{line}" for line in dataflow_lines(function.dataflow))
    yield ""
    yield from _engines(function)
    if function.energy is not None:
        yield ""
        yield from _energy(function.energy)
    yield ""
    yield from _losses(function)
    yield from (_line("memory" if i == 0 else "", text) for i, text in enumerate(_memory(function)))


def _line(label: str, text: str) -> str:
    return f"{INDENT}{label:<{_LABEL}}{text}"


def mapping_text(report: Report, function: FunctionReport) -> str:
    """Where the strategy comes from, and what it is."""
    rows, columns = function.grid
    tiles = (f"{key.replace('_', '-')} {_said(key, value)}" for key, value in strategy_items(function))
    origin = "given as a schedule" if function.is_given else report.pipeline.partition("{")[0]
    return ", ".join([origin, f"grid {rows}x{columns}", *tiles])


def strategy_items(function: FunctionReport) -> list[tuple[str, int | tuple[int, ...]]]:
    """The strategy's fields in the order a person asks for them; the grid stands elsewhere."""
    sizes = ("spread", "tile_l2", "tile_l1", "stream", "stream_l2", "gather", "hold", "pack")
    order = [key for key in (*sizes, *DEPTHS) if function.strategy.get(key)]
    return [(key, function.strategy[key]) for key in order]


def _said(key: str, value: int | tuple[int, ...]) -> str:
    """Sizes as a shape; loops, which have no sizes, one by one."""
    return ",".join(map(str, value)) if key == "spread" and isinstance(value, tuple) else _sizes(value)


def _sizes(value: int | tuple[int, ...]) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def rate_text(function: FunctionReport) -> str:
    """Operations per second, of the array's, and how much of the work is on padding."""
    if not function.executed_macs:
        return "no kernel multiplies and accumulates"
    rate = quantity(function.ops_per_second, "ops/s")
    if not function.peak_ops_per_second:
        return rate
    peak = quantity(function.peak_ops_per_second, "ops/s")
    padding = function.executed_macs - function.macs
    more = f"; {percent(padding / function.executed_macs)} of the work is padding" if padding > 0 else ""
    return f"{rate}, {percent(function.efficiency)} of the array's {peak} ({function.types}){more}"


def _bound(function: FunctionReport) -> str:
    busiest = max(function.engines, key=lambda engines: engines.busiest_share)
    shares = [f"{busiest.busiest} is {percent(busiest.busiest_share)} busy"]
    if function.resources:
        shares.append(f"{function.resources[0].name} {percent(function.resources[0].share)}")
    saved = f"without it {percent(function.bound_by_saved_share)} less time"
    return f"{function.bound_by.value}: {saved}; {', '.join(shares)}"


def reshape_text(function: FunctionReport) -> Iterator[str]:
    """What it saves to reshape lines of pixels to images: for the function, then a call of each kernel."""
    reshapes = function.reshapes
    if reshapes is None:
        return
    before = f"{reshapes.cycles_before} cycles, {reshapes.cycles_before / function.cycles:.2f} times as long"
    yield f"lines of pixels to images, nothing moves; before, the same tiles took {before}"
    for kernel, one in reshapes.kernels.items():
        sizes = f"{_sizes(one.line)} pixels to {_sizes(one.image)}"
        yield f"{kernel}: {sizes}, a call takes {one.cycles} cycles, {one.cycles_before} before"


def verified_text(function: FunctionReport | SequenceReport) -> str:
    """How the check ended, in words."""
    verified = function.verified
    if isinstance(function, FunctionReport) and function.part_of:
        return f"as a part of @{function.part_of}"
    if verified.status is Status.SKIPPED:
        return f"no: {verified.message}"
    if verified.status is Status.EXECUTED:
        return f"executed: {verified.message}"
    if not verified.against:
        return f"WRONG: {len(verified.hazards)} hazards, {verified.message}"
    against = f"against {_AGAINST.get(verified.against, verified.against)}"
    reason = f" ({verified.why_not_iree.splitlines()[0]})" if verified.why_not_iree else ""
    text = f"{verified.message}, {against}{reason}"
    if verified.status in (Status.OK, Status.UNCHECKED):
        return text
    return f"WRONG: {text}" + (f", {len(verified.hazards)} hazards" if verified.hazards else "")


def _traffic(function: FunctionReport) -> Iterator[str]:
    yield _row("traffic", ("read", "written", "compulsory", "lower bound"))
    for level in function.traffic:
        yield _row(level.level, _level_cells(level))
        yield from (_row(f"  {tensor.tensor}", _tensor_cells(tensor)) for tensor in level.tensors)
        if len(level.ops) > 1:
            yield from (_row(f"  {one.name}", _op_cells(one)) for one in level.ops)


def _row(label: str, cells: Sequence[str]) -> str:
    return f"{INDENT}{label:<{_LABEL}}" + " ".join(f"{cell:>{_CELL}}" for cell in cells).rstrip()


def _level_cells(level: LevelTraffic) -> Sequence[str]:
    bound = "?" if level.lower_bound_bytes is None else byte_text(level.lower_bound_bytes)
    return (byte_text(level.read_bytes), byte_text(level.write_bytes), byte_text(level.compulsory_bytes), bound)


def _tensor_cells(tensor: TensorTraffic) -> Sequence[str]:
    return tuple(map(byte_text, (tensor.read_bytes, tensor.write_bytes, tensor.compulsory_bytes)))


def _op_cells(one: OpBound) -> Sequence[str]:
    """What an op would have to move on its own; what it moved is in the tensors."""
    return ("", "", byte_text(one.compulsory_bytes), byte_text(one.lower_bound_bytes))


def _engines(function: FunctionReport) -> Iterator[str]:
    names = [f"{engines.count} {engines.kind}" for engines in function.engines]
    width = max(map(len, ("engines", *names)))
    yield f"{INDENT}{'engines':<{width}} {'busy':>6}  what they do, on average"
    for name, engines in zip(names, function.engines):
        yield f"{INDENT}{name:<{width}} {percent(engines.busy_share):>6}  {causes_text(engines)}"


def _energy(energy: EnergyUse, besides: str = "") -> Iterator[str]:
    yield _line("energy", energy_text(energy) + besides)
    for name, joules, share, what in energy_rows(energy):
        yield f"{INDENT}  {name:<{_LABEL - 2}}{joules:>{_CELL}} {share:>6}  {what}"


def causes_text(engines: EngineClass) -> str:
    """The largest causes that took a share worth a word."""
    shown = sorted(engines.shares.items(), key=lambda item: -item[1])[:_CAUSES_SHOWN]
    return ", ".join(f"{CAUSE_WORDS[name]} {percent(share)}" for name, share in shown if share >= _SHARE_SHOWN)


CAUSE_WORDS = {
    "kernel": "computing",
    "transfer": "moving",
    "control": "controlling",
    "start": "starting",
    "contention": "sharing bandwidth",
    "partner": "waiting for the other end",
    "data": "waiting for data",
    "space": "waiting for space",
    "task": "waiting for a task",
    "other": "waiting",
    "idle": "done",
}


def _losses(function: FunctionReport) -> Iterator[str]:
    shown = largest_losses(function)
    if not shown:
        yield _line("losses", "none that a run without it would show")
        return
    yield f"{INDENT}the largest losses, each measured by a run without it (they overlap)"
    for loss in shown:
        yield f"{INDENT}{percent(loss.saved_share):>6}  {quantity(loss.saved_us / 1e6, 's'):>9}  {loss.what}"


def largest_losses(function: FunctionReport) -> list[Loss]:
    """The losses to show: a broad one gives way to a narrower one that explains it."""
    found = (loss for loss in function.losses if loss.explained_by is None and loss.saved_share >= _LOSS_SHOWN)
    return list(islice(found, LOSSES_SHOWN))


def _memory(function: FunctionReport) -> Iterator[str]:
    for one in function.occupancy:
        many = f"{one.memories_used} of {one.memories} in use" if one.memories > 1 else "in use"
        fill = f"{one.used_bytes} of {one.usable_bytes} bytes ({percent(one.share)})"
        yield f"{one.level} {fill} at most, {many}"
