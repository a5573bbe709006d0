"""What a vector unit is: how wide it is, what it starts per cycle, and when results can be used.

A device file has it as `[vector]`, `[[vector.operations]]` and `[[vector.kernels]]`; `kernels.vector_cycles` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from npuflow.target.fields import MOST_CYCLES, between, one_of

# What kinds of work a kernel's body is made of; a device's file says what each costs where that is more than one cycle.
OPERATIONS = (
    "add",
    "multiply",
    "multiply-add",
    "compare",
    "convert",
    "saturate",
    "divide",
    "root",
    "exponential",
    "logarithm",
    "tanh",
    "erf",
    "other",
)

# The element types that bodies compute in.
COMPUTED = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")


@dataclass(frozen=True, kw_only=True)
class VectorOperation:
    """An operation on one vector; an empty `type` means any element type."""

    operation: str = one_of(OPERATIONS)
    type: str = one_of(("", *COMPUTED), default="")
    issue_cycles: int = between(0, MOST_CYCLES)
    latency_cycles: float = between(0, MOST_CYCLES)


class Overlap(Enum):
    """Which inner loops begin a step before the one before has ended: none, those that sum up in registers, or all.

    A compiler that cannot tell whether a step reads what the one before has written to memory overlaps sums only.
    """

    NONE = "none"
    SUMS = "sums"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class VectorKernelKind:
    """How a kind of vector code is written: a step of its inner loop works on `vectors_per_step` side by side.

    `step_cycles` are lost at each step that doesn't overlap with the next, beside what it loads and computes.
    """

    kind: str
    overlap: Overlap
    vectors_per_step: int = between(1, 1024)
    step_cycles: float = between(0, MOST_CYCLES, default=0.0)
    call_cycles: int = between(0, MOST_CYCLES)


@dataclass(frozen=True, kw_only=True)
class VectorUnit:
    """A core's vector unit. Loads, stores and operations start side by side; a vector fits a load and an accumulator.

    `accumulator_bytes` of 0 sets no limit. What `operations` doesn't list starts one per cycle and takes
    `latency_cycles`.
    """

    accumulator_bytes: int = between(0, 65536, default=0)
    loads_per_cycle: int = between(1, 1024, default=1)
    stores_per_cycle: int = between(1, 1024, default=1)
    load_latency_cycles: float = between(0, MOST_CYCLES, default=0.0)
    latency_cycles: float = between(0, MOST_CYCLES, default=0.0)
    operations: tuple[VectorOperation, ...] = ()
    kernels: tuple[VectorKernelKind, ...] = ()

    def operation(self, name: str, type_: str) -> VectorOperation:
        """What an operation on a type costs: the first entry for both, else one cycle."""
        for known in self.operations:
            if known.operation == name and known.type in ("", type_):
                return known
        return VectorOperation(operation=name, issue_cycles=1, latency_cycles=self.latency_cycles)

    def kernel_kind(self, kind: str, call_cycles: int) -> VectorKernelKind:
        """How a kind of code is written: the first entry for a kind not listed, ideal code where there are none."""
        ideal = VectorKernelKind(kind="", overlap=Overlap.ALL, vectors_per_step=1, call_cycles=call_cycles)
        first = self.kernels[0] if self.kernels else ideal
        return next((known for known in self.kernels if known.kind == kind), first)


# Of a device that says nothing of it: an operation per cycle, each result at once.
PLAIN_UNIT = VectorUnit()
