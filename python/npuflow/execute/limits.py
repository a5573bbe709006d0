"""What one child process of a verification may take: time and memory."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from npuflow.errors import InputError, UsageError, with_hint

DEFAULT_TIME_LIMIT_SECONDS = 120.0

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:I?B)?", re.IGNORECASE)
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


class ProgramFailedError(InputError):
    """A compiled program crashed, was stopped by a limit or wrote outside of its arrays."""


class LimitError(ProgramFailedError):
    """A child process was stopped, or not begun, because it takes more than it may."""


@dataclass(frozen=True)
class Limits:
    """What each child may take: `Limits(2.0, 1 << 30)`. Without a limit on memory, what the machine has available."""

    time_seconds: float = DEFAULT_TIME_LIMIT_SECONDS
    memory_bytes: int | None = None

    @property
    def most_bytes(self) -> int:
        return available_bytes() if self.memory_bytes is None else self.memory_bytes

    def require(self, need_bytes: int, what: str) -> None:
        """Raises LimitError where something is known to take more memory than it may."""
        if need_bytes > self.most_bytes:
            has = f"has {byte_text(self.most_bytes)} {'available' if self.memory_bytes is None else 'allowed'}"
            text = f"{what} needs {byte_text(need_bytes)} of memory, {has}"
            raise LimitError(with_hint(text, self.memory_hint))

    @property
    def memory_hint(self) -> str:
        other = "try a smaller shape"
        if self.memory_bytes is None:
            return f"free memory, or {other}"
        return f"allow more (--memory-limit, npuflow.Limits), or {other}"

    def out_of_time(self, what: str) -> LimitError:
        text = f"{what} did not end within {self.time_seconds:g} s"
        hint = "allow more time (--time-limit, npuflow.Limits), or try a smaller shape"
        return LimitError(with_hint(text, hint))

    def out_of_memory(self, what: str, most_bytes: int) -> LimitError:
        """The error of a child process that was stopped when it had taken `most_bytes`."""
        text = f"{what} took more than {byte_text(most_bytes)} of memory"
        return LimitError(with_hint(text, self.memory_hint))


DEFAULT_LIMITS = Limits()
# For our own work, in which nobody's program runs.
UNLIMITED = Limits(math.inf, sys.maxsize)

_in_force: ContextVar[Limits] = ContextVar("limits", default=DEFAULT_LIMITS)


def limits_in_force() -> Limits:
    """What a child process that begins now may take."""
    return _in_force.get()


@contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """`with limited(Limits(time_seconds=2)): ...`: every child that begins in the block, whoever begins it, obeys."""
    token = _in_force.set(limits)
    try:
        yield
    finally:
        _in_force.reset(token)


def available_bytes() -> int:
    """What programs may still take before the machine swaps, and no more than a container may take at all."""
    fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    available = int(fields["MemAvailable"].split()[0]) << 10
    try:
        return min(available, int(_GROUP_LIMIT.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such group, or one without a limit
        return available


def byte_text(count: int) -> str:
    """Exact below a KiB; else with a binary prefix, and without decimals where there are none."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= scale:
            return f"{count // scale} {unit}" if count % scale == 0 else f"{count / scale:.2f} {unit}"
    return f"{count} B"


def read_limits(time_seconds: int, memory: str) -> Limits:
    """The limits that options say, of which an empty text is what the machine has; raises UsageError."""
    if not time_seconds:
        raise UsageError(with_hint("the time limit cannot be 0", "give a number of seconds, 1 or larger"))
    size = read_size(memory)
    if memory and not size:
        raise UsageError(with_hint(f"the memory limit cannot be '{memory}'", "give bytes, or as 512M or 4G"))
    return Limits(float(time_seconds), size)


def read_size(text: str) -> int | None:
    """The bytes that `4G`, `1.5GiB`, `512M` or `1048576` mean, in powers of 1024; None for anything else."""
    found = _SIZE.fullmatch(text.strip())
    return int(float(found[1]) * _UNITS[found[2].upper()]) if found else None
