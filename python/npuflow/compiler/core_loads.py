"""What it takes a core to be set up between the parts of a function, where that is done core by core."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from npuflow.compiler.compiled import Sequence

# What changes between parts take of the time behind the launch, so that it is worth while to look for less.
_MUCH = 0.1


def core_seconds(sequence: Sequence) -> float:
    """How long a core takes to be set up in front of a part, on average; 0 where all of them take little."""
    if not sequence.changes:
        return 0.0
    changes = sum(phase.change_us for phase in sequence.timed) * 1e-6
    cores = sum(prod(part.compiled.grid) for before, part in pairwise(sequence.parts) if before.name != part.name)
    return changes / cores if changes > _MUCH * (sequence.seconds - sequence.device.control.launch_seconds) else 0.0
