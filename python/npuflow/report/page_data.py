"""What the page shows of functions and sequences, as JSON: texts, tables and drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.compiler.tasks_ahead import CONTROL
from npuflow.execute.limits import byte_text
from npuflow.report.dataflow_text import edge_text
from npuflow.report.energy import WITHOUT_CHANGES, energy_rows, energy_text
from npuflow.report.layout import array_layout, memory_maps
from npuflow.report.mapping import mapping_lines
from npuflow.report.measures import DataflowNode
from npuflow.report.model import FunctionReport, Report, SequenceReport
from npuflow.report.page_timeline import timeline_json
from npuflow.report.roofline import roofline_points
from npuflow.report.sequences import (
    HEADS,
    changes_text,
    mapping_of_sequence,
    part_rows,
    plan_text,
    time_text,
    traffic_text,
)
from npuflow.report.text import (
    causes_text,
    heading_text,
    largest_losses,
    mapping_text,
    rate_text,
    reshape_text,
    verified_text,
)
from npuflow.report.timeline import Timeline
from npuflow.report.words import percent, quantity
from npuflow.simulate.results import RunResults

Json = Mapping[str, object]


def sequence_json(report: Report, sequence: SequenceReport) -> Json:
    facts = [
        ("device", f"{report.device.name}: {report.device.description}"),
        ("mapping", mapping_of_sequence(report.pipeline, sequence)),
        ("split", sequence.reason),
        ("time", time_text(sequence)),
        ("changes", changes_text(sequence)),
        ("plan", plan_text(sequence)),
        ("traffic", traffic_text(sequence)),
        ("energy", energy_text(sequence.energy) + WITHOUT_CHANGES if sequence.energy else ""),
        ("verified", verified_text(sequence)),
    ]
    return {
        "name": sequence.name,
        "heading": heading_text(report, sequence.signature),
        "facts": [fact for fact in facts if fact[1]],
        "heads": HEADS,
        "rows": list(part_rows(sequence)),
        "calls": [[phase.name, phase.begin_us, phase.launch_us > 0] for phase in sequence.phases],
        "between": _between(sequence),
        "busy": _busy_parts(sequence),
        "energy": list(energy_rows(sequence.energy)) if sequence.energy else None,
    }


def _between(sequence: SequenceReport) -> list[Json]:
    """What memories hold between parts: each tensor, its address and size, and the times from which to which."""
    phases, sizes = sequence.phases, {"DRAM between parts": sequence.plan.workspace_bytes}
    found: dict[str, list[list[object]]] = {}
    for value in sequence.plan.in_workspace:
        lives = [phases[value.first].begin_us, phases[value.last].end_us]
        found.setdefault("DRAM between parts", []).append([f"%{value.number}", value.address, value.bytes, *lives])
    for value in sequence.plan.values:
        first, last = value.at_home
        lives = [phases[first].begin_us, phases[last].end_us]
        for slab, own in value.slabs:
            level = sequence.parts[0].occupancy[-1]
            name = f"{level.level} {slab.column} between parts"
            sizes[name] = level.usable_bytes
            found.setdefault(name, []).append([f"%{value.number}", slab.address, own, *lives])
    return [{"name": name, "size": sizes[name], "held": held} for name, held in sorted(found.items())]


def _busy_parts(sequence: SequenceReport) -> list[tuple[str, float, float]]:
    """How busy each kind of engine is over all calls, changes included; launches that parts don't have left out."""
    busy: dict[str, float] = {}
    for part, phase in zip(sequence.parts, sequence.phases):
        for one in part.engines:
            launching = part.launch_us - phase.launch_us if one.kind == CONTROL else 0.0
            busy[one.kind] = busy.get(one.kind, 0.0) + one.busy_share * part.time_us - launching
    shares = {kind: round(spent / sequence.time_us, 4) for kind, spent in busy.items()}
    return [(kind, share, share) for kind, share in shares.items()]


def function_json(report: Report, function: FunctionReport, results: RunResults, timeline: Timeline) -> Json:
    return {
        "name": function.name,
        "part_of": function.part_of,
        "kinds": function.kinds,
        "heading": heading_text(report, function.signature),
        "facts": _facts(report, function),
        "traffic": _traffic(function),
        "losses": _losses(function),
        "engines": [
            [f"{e.count} {e.kind}", percent(e.busy_share), f"{e.busiest} {percent(e.busiest_share)}", causes_text(e)]
            for e in function.engines
        ],
        "busy": [[e.kind, round(e.busy_share, 4), round(e.busiest_share, 4)] for e in function.engines],
        "energy": list(energy_rows(function.energy)) if function.energy else None,
        "dataflow": _tree(function.dataflow) if function.dataflow else None,
        "links": [[r.name, byte_text(round(r.bytes)), percent(r.share)] for r in function.resources],
        "array": array_layout(results),
        "memories": memory_maps(results.program, function.occupancy, timeline.tensors),
        "timeline": timeline_json(timeline, function.occupancy),
    }


def _facts(report: Report, function: FunctionReport) -> list[tuple[str, str]]:
    return [
        ("device", f"{report.device.name}: {report.device.description}"),
        ("mapping", mapping_text(report, function)),
        *mapping_lines(function),
        ("time", f"{quantity(function.time_us / 1e6, 's')} ({function.cycles} cycles)"),
        ("rate", rate_text(function)),
        ("bound by", f"{function.bound_by.value}: without it {percent(function.bound_by_saved_share)} less time"),
        *(("reshaped", text) for text in reshape_text(function)),
        *((("energy", energy_text(function.energy)),) if function.energy else ()),
        ("verified", verified_text(function)),
    ]


def _tree(node: DataflowNode) -> Json:
    """What a node is, what comes to it and what goes back, each with whether it stays on the core, and its children."""
    sides = {"reads": node.reads, "writes": node.writes}
    edges = {side: [[edge_text(edge), edge.stays] for edge in found] for side, found in sides.items()}
    return {"what": node.what, **edges, "children": [_tree(child) for child in node.children]}


def _traffic(function: FunctionReport) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for level in function.traffic:
        bound = "?" if level.lower_bound_bytes is None else byte_text(level.lower_bound_bytes)
        amounts = (level.read_bytes, level.write_bytes, level.compulsory_bytes)
        rows.append((level.level, *map(byte_text, amounts), bound))
        for tensor in level.tensors:
            amounts = (tensor.read_bytes, tensor.write_bytes, tensor.compulsory_bytes)
            rows.append((f"\u2003{tensor.tensor}", *map(byte_text, amounts), ""))
    return rows


def _losses(function: FunctionReport) -> list[Sequence[str]]:
    shown = {loss.name for loss in largest_losses(function)}
    rows: list[Sequence[str]] = []
    for loss in function.losses:
        note = f" (mostly {loss.explained_by})" if loss.explained_by else ""
        mark = "\u25cf" if loss.name in shown else ""
        saved = quantity(loss.saved_us / 1e6, "s")
        rows.append((mark, loss.name, percent(loss.saved_share), saved, loss.what + note))
    return rows


def roofline_json(report: Report) -> Json:
    """Roofs of the device and the file's ops under them."""
    return {
        "bytes_per_second": report.device.dram_bytes_per_second,
        "peaks": list(report.device.peaks.items()),
        "points": [
            [p.function, p.op, p.types, p.intensity, p.compulsory, p.rate, p.busy_rate] for p in roofline_points(report)
        ],
    }
