"""The report as one page that needs nothing but a browser: timeline, array with its traffic, memories, tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources

from npuflow.execute.limits import byte_text
from npuflow.report.energy import energy_rows, energy_text
from npuflow.report.layout import array_layout, memory_maps
from npuflow.report.model import FunctionReport, Report, SequenceReport
from npuflow.report.sequences import HEADS, changes_text, part_rows, time_text
from npuflow.report.text import causes_text, largest_losses, reshape_text, text_of, verified_text
from npuflow.report.timeline import Timeline, tile_name
from npuflow.report.words import percent, quantity
from npuflow.simulate.results import RunResults

# What a browser draws without a pause while one zooms.
MOST_EVENTS = 30_000

_PAGE = "page.html"
_DATA_MARK = "/*DATA*/null"
_TITLE_MARK = "<!--TITLE-->"

Json = Mapping[str, object]


def html_of(report: Report, runs: Mapping[str, tuple[RunResults, Timeline]]) -> str:
    """The page; `runs` has each function's results and timeline."""
    page = (resources.files("npuflow.report") / _PAGE).read_text(encoding="utf-8")
    functions = [_function(report, function, *runs[function.name]) for function in report.functions]
    # A name with "</script>" in it must not end the script that the data stands in.
    made = {"functions": functions, "sequences": [_sequence(sequence) for sequence in report.sequences]}
    data = json.dumps(made, separators=(",", ":")).replace("</", "<\\/")
    whole = [function.name for function in report.functions if not function.part_of]
    names = ", ".join(f"@{name}" for name in (*(sequence.name for sequence in report.sequences), *whole))
    title = f"{names} on {report.device.name}".replace("&", "&amp;").replace("<", "&lt;")
    return page.replace(_TITLE_MARK, title).replace(_DATA_MARK, data)


def _sequence(sequence: SequenceReport) -> Json:
    facts = [
        ("split", sequence.reason),
        ("time", time_text(sequence)),
        ("changes", changes_text(sequence)),
        ("verified", verified_text(sequence)),
    ]
    return {
        "signature": sequence.signature,
        "facts": [fact for fact in facts if fact[1]],
        "heads": HEADS,
        "rows": list(part_rows(sequence)),
    }


def _function(report: Report, function: FunctionReport, results: RunResults, timeline: Timeline) -> Json:
    return {
        "name": function.name,
        "text": text_of(Report(report.device, report.pipeline, (function,))),
        "facts": _facts(report, function),
        "traffic": _traffic(function),
        "losses": _losses(function),
        "engines": [
            [f"{e.count} {e.kind}", percent(e.busy_share), f"{e.busiest} {percent(e.busiest_share)}", causes_text(e)]
            for e in function.engines
        ],
        "energy": list(energy_rows(function.energy)) if function.energy else None,
        "links": [[r.name, byte_text(round(r.bytes)), percent(r.share)] for r in function.resources],
        "array": array_layout(results),
        "memories": memory_maps(results.program, function.occupancy, timeline.tensors),
        "timeline": _timeline(timeline),
    }


def _facts(report: Report, function: FunctionReport) -> list[tuple[str, str]]:
    return [
        ("device", f"{report.device.name}: {report.device.description}"),
        ("pipeline", report.pipeline),
        ("time", f"{quantity(function.time_us / 1e6, 's')} ({function.cycles} cycles)"),
        ("rate", f"{quantity(function.ops_per_second, 'ops/s')}, {percent(function.efficiency)} of the peak"),
        ("bound by", f"{function.bound_by.value}: without it {percent(function.bound_by_saved_share)} less time"),
        *(("reshaped", text) for text in reshape_text(function)),
        *((("energy", energy_text(function.energy)),) if function.energy else ()),
        ("verified", verified_text(function)),
    ]


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


def _timeline(timeline: Timeline) -> Json:
    """Slices as rows of numbers: engine, kind, name, begin, end, bytes; names are listed once."""
    names = list(dict.fromkeys(one.name for one in timeline.slices))
    position = {name: number for number, name in enumerate(names)}
    kinds = list(dict.fromkeys(one.kind for one in timeline.slices))
    rows = [[s.engine, kinds.index(s.kind), position[s.name], s.begin, s.end, s.bytes] for s in timeline.slices]
    used = {one.engine for one in timeline.slices}
    engines = [[e.name, tile_name(e), number in used] for number, e in enumerate(timeline.program.engines)]
    return {
        "engines": engines,
        "names": names,
        "kinds": kinds,
        "slices": rows,
        "cycles": timeline.cycles,
        "covered": timeline.covered,
        "cut": timeline.is_cut,
        "cycles_per_us": timeline.program.clock_hz / 1e6,
    }
