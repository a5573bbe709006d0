"""How long programs of cores are: estimated from their steps and kernels' bodies, since others compile them."""

from __future__ import annotations

from collections.abc import Mapping

from npuflow.errors import SourceLocation
from npuflow.kernels.program_bytes import steps_bytes
from npuflow.schedule.data import model
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.placed import placed_steps


def kernel_calls(engine: model.Engine, schedule: Schedule) -> Mapping[str, SourceLocation | None]:
    """The kernels that an engine calls, and where."""
    steps = (placed.step for placed in placed_steps(engine, schedule.extents))
    return {step.kernel: step.location for step in steps if isinstance(step, model.Compute)}


def program_users(engine: model.Engine, schedule: Schedule, code_bytes: Mapping[str, int]) -> list[tuple[str, int]]:
    """What an engine's program consists of: every distinct kernel once, every step once (loops stay loops)."""
    count = sum(1 for _ in placed_steps(engine, schedule.extents))
    users = [(name, code_bytes[name]) for name in kernel_calls(engine, schedule)]
    return [*users, ("its steps", steps_bytes(count))]
