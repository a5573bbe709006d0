"""The report as JSON: everything the text has, and what it leaves out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict

from npuflow.compiler.conversion import Conversion
from npuflow.compiler.layer_errors import Deviation
from npuflow.compiler.verify_function import Verified
from npuflow.execute.references import Judge
from npuflow.network.timed_phases import TimedPhase
from npuflow.report.energy import EnergyUse
from npuflow.report.measures import EngineClass, LevelTraffic
from npuflow.report.model import FunctionReport, Report, SequenceReport
from npuflow.report.sequences import left_bytes

# What `npuflow compare` knows a report by; the version changes when a key that it reads does.
FORMAT = "npuflow run"
VERSION = 3

Json = Mapping[str, object]


def json_of(report: Report) -> str:
    """The report's text form; keys are documented in docs/run.md."""
    return json.dumps(report_dict(report), indent=2) + "\n"


def report_dict(report: Report) -> Json:
    device = report.device
    return {
        "format": FORMAT,
        "version": VERSION,
        "device": device.name,
        "device_description": device.description,
        "rows": device.rows,
        "columns": device.columns,
        "clock_hz": device.clock_hz,
        "dram_bytes_per_second": device.dram_bytes_per_second,
        "peak_ops_per_second": dict(device.peaks),
        "pipeline": report.pipeline,
        "functions": [_function(function) for function in report.functions],
        "sequences": [_sequence(sequence) for sequence in report.sequences],
        "conversions": [_conversion(conversion) for conversion in report.conversions],
    }


def _conversion(conversion: Conversion) -> Json:
    return {
        "name": conversion.name,
        "compute_type": conversion.compute_type.value,
        "unmeasured": conversion.unmeasured or None,
        "results": [_deviation(result) for result in conversion.results],
        "layers": [
            {"sizes": layer.sizes, "place": layer.place, "factors": layer.factors, **_deviation(layer.error)}
            for layer in conversion.layers
        ],
    }


def _deviation(found: Deviation) -> Json:
    return {key: json_number(value) for key, value in asdict(found).items()}


def _sequence(sequence: SequenceReport) -> Json:
    return {
        "name": sequence.name,
        "signature": sequence.signature,
        "reason": sequence.reason,
        "parts": [part.name for part in sequence.parts],
        "time_us": sequence.time_us,
        "cycles": sequence.cycles,
        "changes": sequence.changes,
        "launches": sequence.launches,
        "launch_us": sequence.launch_us,
        "change_us": sequence.change_us,
        "phases": [_phase(phase) for phase in sequence.phases],
        "plan": _plan(sequence),
        "moved_bytes": sequence.moved_bytes,
        "compulsory_bytes": sequence.compulsory_bytes,
        "peak_bytes": dict(sequence.peak_bytes),
        "prefetched_bytes": sequence.prefetched_bytes,
        "handed_bytes": sequence.handed_bytes,
        "in_place_us": sequence.in_place_us,
        "separate_us": sequence.separate_us,
        "reconfigured_us": sequence.reconfigured_us,
        "energy": _energy(sequence.energy),
        "like": sequence.like or None,
        "verified": _verified(sequence.verified),
    }


def _plan(sequence: SequenceReport) -> Json:
    plan, left = sequence.plan, left_bytes(sequence)
    values = [
        {
            "value": value.number,
            "role": value.role.value,
            "bytes": value.bytes,
            "first": value.first,
            "last": value.last,
            "address": value.address,
            "home": value.home and [{"column": slab.column, "address": slab.address} for slab in value.home.slabs],
            "stays": value.stays and list(value.stays),
            "away": sequence.away.get(value.number),
        }
        for value in plan.values
    ]
    return {
        "workspace_bytes": plan.workspace_bytes,
        "alive_bytes": plan.alive_bytes,
        "resident_bytes": plan.resident_bytes,
        "kept_bytes": sum(value.bytes for value in plan.kept),
        "values": values,
        "left_bytes": left and left[1],
    }


def _phase(phase: TimedPhase) -> Json:
    done = phase.set_up
    return {
        "part": phase.name,
        "begin_us": phase.begin_us,
        "end_us": phase.end_us,
        "change_us": phase.change_us,
        "descriptors_ahead": done.ahead.descriptors,
        "descriptors_behind": done.behind.descriptors,
        "starts": done.writes.starts,
        "parameters": done.writes.parameters,
        "loads": done.loads,
        "loads_ahead": done.sent,
        "tasks_ahead": done.tasks,
    }


def _function(function: FunctionReport) -> Json:
    return {
        "name": function.name,
        "signature": function.signature,
        "grid": list(function.grid),
        "is_schedule": function.is_given,
        "part_of": function.part_of or None,
        "kinds": function.kinds or None,
        "like": function.like or None,
        "strategy": {k: list(v) if isinstance(v, tuple) else v for k, v in sorted(function.strategy.items())},
        "time_us": function.time_us,
        "cycles": function.cycles,
        "launch_us": function.launch_us,
        "ops": [asdict(op) for op in function.ops],
        "macs": function.macs,
        "executed_macs": function.executed_macs,
        "vector_operations": function.vector_operations,
        "ops_per_second": function.ops_per_second,
        "peak_ops_per_second": function.peak_ops_per_second,
        "types": function.types,
        "efficiency": function.efficiency,
        "bound_by": function.bound_by.value,
        "bound_by_saved_share": function.bound_by_saved_share,
        "traffic": {level.level: _level(level) for level in function.traffic},
        "engines": [_engines(engines) for engines in function.engines],
        "resources": [asdict(resource) for resource in function.resources],
        "losses": [asdict(loss) for loss in function.losses],
        "occupancy": [asdict(one) for one in function.occupancy],
        "reshapes": asdict(function.reshapes) if function.reshapes else None,
        "energy": _energy(function.energy),
        "dataflow": asdict(function.dataflow) if function.dataflow else None,
        "verified": _verified(function.verified),
        "simulated_operations": function.operations,
    }


def _level(level: LevelTraffic) -> Json:
    return {
        "read_bytes": level.read_bytes,
        "write_bytes": level.write_bytes,
        "compulsory_bytes": level.compulsory_bytes,
        "lower_bound_bytes": level.lower_bound_bytes,
        "ops": [asdict(one) for one in level.ops],
        "tensors": {
            tensor.tensor: {
                "read_bytes": tensor.read_bytes,
                "write_bytes": tensor.write_bytes,
                "compulsory_bytes": tensor.compulsory_bytes,
            }
            for tensor in level.tensors
        },
    }


def _engines(engines: EngineClass) -> Json:
    return {
        "kind": engines.kind,
        "count": engines.count,
        "busy_share": engines.busy_share,
        "busiest": engines.busiest,
        "busiest_share": engines.busiest_share,
        "shares": dict(engines.shares),
    }


def _energy(energy: EnergyUse | None) -> Json | None:
    if energy is None:
        return None
    return {
        "joules": energy.joules,
        "average_watts": energy.average_watts,
        "busy_watts": energy.busy_watts,
        "busy_chip_watts": energy.busy_chip_watts,
        "static_watts": energy.static_watts,
        "busy_seconds": energy.busy_seconds,
        "shares": [
            {"kind": s.kind.value, "name": s.name, "what": s.what, "count": s.count, "joules": s.joules}
            for s in energy.shares
        ],
    }


def _verified(verified: Verified) -> Json:
    return {
        "status": verified.status.value,
        "against": str(Judge.JIT) if verified.against == Judge.JIT.value else verified.against or None,
        "why_not_iree": verified.why_not_iree or None,
        "max_error": json_number(verified.max_error),
        "allowed_error": json_number(verified.allowed_error),
        "wide_max_error": json_number(verified.wide_max_error),
        "wide_allowed_error": json_number(verified.wide_allowed_error),
        "unchecked_elements": verified.unchecked_elements,
        "message": verified.message,
        "hazards": list(verified.hazards),
    }


def json_number(value: float | None) -> float | str | None:
    """JSON has no word for NaN and infinity."""
    return value if value is None or math.isfinite(value) else str(value)
