"""How long takes what is done side by side, roughly. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def together(times: Sequence[float], power: float) -> float:
    """About as long as the slowest takes, and longer where others take nearly that; with a power of 1, their sum."""
    return float(sum(time**power for time in times) ** (1 / power))
