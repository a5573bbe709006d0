"""The flags of commands that compile: what for, how, and in how many processes."""

from __future__ import annotations

import os
from typing import Any

from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.errors import UsageError, with_hint
from npuflow.tools.flags import FileUse, flag

_JOBS = "NPUFLOW_JOBS"


def device_flag() -> Any:  # noqa: ANN401  (a field of any type, as `flag` gives)
    text = "the device, or its file (default: the module's, else npu1)"
    return flag(None, text, group="", metavar="name|file", file=FileUse.READ)


def columns_flag() -> Any:  # noqa: ANN401
    return flag(None, "use only so many of the device's columns", group="", metavar="n")


def pipeline_flag(default: str | None = None) -> Any:  # noqa: ANN401
    return flag(default, f"how to compile (default: {DEFAULT_PIPELINE})", group="", metavar="text")


def processes(jobs: int | None) -> int:
    """How many processes may work side by side: as many as somebody said, here or for all commands, or as cores."""
    if jobs is not None:
        return jobs
    said = os.environ.get(_JOBS)
    if not said:
        return len(os.sched_getaffinity(0))
    if not said.isdecimal() or int(said) < 1:
        raise UsageError(with_hint(f"{_JOBS} cannot be '{said}'", "give a number, 1 or larger"))
    return int(said)
