"""How long a core's program is: its kernels, and the steps that hand their operands over. Assumed. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_START_BYTES, _STEP_BYTES = 512, 64


def steps_bytes(steps: int) -> int:
    """Starting up, and so many steps; loops stay loops."""
    return _START_BYTES + _STEP_BYTES * steps


def program_bytes(kernels: Iterable[int], steps: int) -> int:
    """The program of distinct kernels of such sizes."""
    return sum(kernels) + steps_bytes(steps)
