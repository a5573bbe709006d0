"""How much of what could be run is run: some of it, always the same; at night (NPUFLOW_TEST_PROFILE=nightly) all of it.

Nothing that draws depends on speed: no deadline, and no complaint that drawing takes long.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

NIGHTLY = os.environ.get("NPUFLOW_TEST_PROFILE") == "nightly"

_EXAMPLES = os.environ.get("NPUFLOW_TEST_EXAMPLES")
Choice = TypeVar("Choice")


def drawn(few: int, many: int) -> settings:
    """Draws a few; at night many, or as many as NPUFLOW_TEST_EXAMPLES says, and others each time."""
    examples = int(_EXAMPLES or many) if NIGHTLY else few
    return settings(max_examples=examples, suppress_health_check=list(HealthCheck))


def spread(number: int, choices: Sequence[Choice]) -> Sequence[Choice]:
    """One choice for a case of this number, another one for its neighbours; at night all of them.

    for number, program in enumerate(programs): for pipeline in spread(number, PIPELINES): ...
    """
    return choices if NIGHTLY else [choices[number % len(choices)]]


settings.register_profile(
    "npuflow",
    max_examples=int(_EXAMPLES or 1000) if NIGHTLY else 100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not NIGHTLY,
)
settings.load_profile("npuflow")
