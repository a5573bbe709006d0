"""What is decided about functions, by names under which it can be left out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from npuflow.errors import UsageError, unknown_name


class Decision(Enum):
    """Something that may make a function faster or smaller; results are the same without it."""

    FUSION = "fusion"
    MASKS = "masks"
    RESHAPE = "reshape"
    PADDING = "padding"
    ENGINES = "engines"
    SPREAD = "spread"
    CORES = "cores"
    TRIES = "tries"
    PHASES = "phases"
    AHEAD = "ahead"
    KEEPING = "keeping"
    PARAMETERS = "parameters"
    LOADING = "loading"
    SENDING = "sending"
    BROADCAST = "broadcast"
    TASKS = "tasks"
    ORDER = "order"
    RESIDENCY = "residency"
    PREFETCH = "prefetch"
    TABLES = "tables"

    @property
    def what(self) -> str:
        """What it does, in words."""
        return _WHAT[self]


_WHAT = {
    Decision.FUSION: "what matmuls read is made on their tile, matmuls in a row and windows are one, where faster",
    Decision.MASKS: "scores that are masked are left out where that is faster",
    Decision.RESHAPE: "pixels in one line are taken for an image, so that they fill patches",
    Decision.PADDING: "zeros around windows are a register of the matrix engine, neither moved nor stored",
    Decision.ENGINES: "matrix and vector engines work side by side, on different tiles",
    Decision.SPREAD: "parts are spread alike over clusters, which keep what they make and exchange halos",
    Decision.CORES: "parts take fewer cores where each of these is loaded by itself between them",
    Decision.TRIES: "what takes too long is tried otherwise: groups apart or as one, parts mapped for DRAM",
    Decision.PHASES: "all parts are phases of one launch",
    Decision.AHEAD: "descriptors are written while the phase before still works",
    Decision.KEEPING: "programs and descriptors that fit beside others stay for the phases to come",
    Decision.PARAMETERS: "kernels that differ in constants alone are one, with the constants as data",
    Decision.LOADING: "tiles are loaded whole where that is faster than to write what differs",
    Decision.SENDING: "descriptors come as packets ahead, through shims with a channel left",
    Decision.BROADCAST: "tiles that get the same program and descriptors are sent them at once",
    Decision.TASKS: "tasks of channels beside DRAM are written while the phase before still works",
    Decision.RESIDENCY: "what a later part reads stays on the chip",
    Decision.PREFETCH: "what DRAM holds from the start comes on the chip while phases before work",
    Decision.TABLES: "constants lie in DRAM as channels read them, so that one task reads several",
    Decision.ORDER: "parts run in the order that keeps least alive",
}

Decisions = frozenset[Decision]
ALL_DECISIONS: Decisions = frozenset(Decision)
# What is decided while a function is compiled, and what is once its parts are there.
OF_PASSES: Decisions = frozenset(
    {
        Decision.FUSION,
        Decision.MASKS,
        Decision.RESHAPE,
        Decision.PADDING,
        Decision.ENGINES,
        Decision.SPREAD,
        Decision.CORES,
        Decision.TRIES,
    }
)
OF_PARTS: Decisions = ALL_DECISIONS - OF_PASSES


def decisions_without(names: Iterable[str]) -> Decisions:
    """All decisions but the named ones; raises UsageError for a name that is none's."""
    known = {decision.value: decision for decision in Decision}
    for name in names:
        if name not in known:
            raise UsageError(unknown_name("decision", name, known))
    return ALL_DECISIONS - {known[name] for name in names}
