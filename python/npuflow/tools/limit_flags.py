"""The flags that say what each child process of a verification may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuflow.tools.flags import flag

if TYPE_CHECKING:
    from npuflow.execute.limits import Limits


def time_limit_flag() -> Any:  # noqa: ANN401  (a field of any type, as `flag` gives)
    return flag(120, "stop a stage after so many seconds (default: 120)", group="", metavar="seconds")


def memory_limit_flag() -> Any:  # noqa: ANN401
    text = "stop a stage that takes more memory (default: what the machine has)"
    return flag(None, text, group="", metavar="bytes|4G")


def limits_of(time_limit: int, memory_limit: str | None) -> Limits:
    """The limits that the flags say; raises UsageError."""
    from npuflow.execute.limits import read_limits

    return read_limits(time_limit, memory_limit or "")
