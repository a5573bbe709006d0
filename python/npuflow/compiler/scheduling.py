"""`npuflow-schedule` as compiling runs it: to make schedules, and to check those that are given."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, expand
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.pipelines import SchedulePipeline


def make_schedules(module: ir.Module, device: str, sink: DiagnosticSink) -> None:
    """Replaces bufferized functions by schedules; raises with everything that keeps them off the device.

    That buffers are handed over in order is not proven of them: projection makes it so.
    """
    _run(module, device, "check-schedule", sink)


def check_schedules(module: ir.Module, device: str, sink: DiagnosticSink) -> None:
    """Raises with everything that keeps a module's schedules off the device, or from handing over in order."""
    _run(module, device, None, sink)


def _run(module: ir.Module, device: str, stop_after: str | None, sink: DiagnosticSink) -> None:
    """The IR isn't verified in between: npuflow-check-schedule reads every op."""
    pipeline = expand(parse_pipeline(SchedulePipeline.name), Expansion(stop_after, device=device))
    Runner(pipeline, verify_each=False, sink=sink).run(module)
