"""What the software behind a measurement does that columns don't say: an entry for each stack of compiler and runtime.

A row's `stack` column names one; without it, its source does. Nothing here is a number of the hardware: how long a
stack takes to launch, and how good its kernels are, stands in the device files under its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from npuflow.ops.products import largest_divisor

Blocks = tuple[int, int]
ALL = 10**9  # more blocks than any result has


@dataclass(frozen=True)
class Stack:
    """How designs of one compiler and runtime are built.

    `together`, by the kind of kernel ("": any other), is how many rows and columns of blocks the control processor sets
    up before it waits until they are written; a kind that isn't there is set up ahead. If `divides`, they are fewer
    where that doesn't divide how many there are. `kinds` are names that device files have for its kernels of a kind, or
    for those of an operator alone. `matvec_depth` is the slots of what a matrix-vector product fetches, and
    `matvec_folds` the most blocks of its rows that are one task, of which the largest divisor of how many there are is
    taken (0: all are set up ahead); with `keeps`, what all tiles of an operator need alike is fetched once. With
    `straight`, other operators move what they read from DRAM into L1, and back, on channels of any column.
    """

    name: str
    sources: tuple[str, ...]
    together: Mapping[str, Blocks] = field(default_factory=dict)
    divides: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict)
    matvec_depth: int = 2
    matvec_folds: int = 0
    keeps: bool = False
    straight: bool = False

    def kind_of(self, kernel: str, op: str) -> str:
        """What device files call its kernels of a kind for an operator; empty where they have no other name for it."""
        return self.kinds.get(f"{kernel} {op}", self.kinds.get(kernel, ""))

    def blocks_together(self, kernel: str, blocks: Blocks) -> Blocks | None:
        """How many of a kernel's `blocks`, in rows and columns, are set up at a time; None where all are ahead.

        Where there is one row or column of them, their only loop is the inner one.
        """
        most = self.together.get(kernel, self.together.get(""))
        if most is None or not self.divides:
            return most
        loops = (1, max(blocks)) if 1 in blocks else blocks
        outer, inner = (largest_divisor(count, at_most) for count, at_most in zip(loops, most))
        return (outer, inner)

    def blocks_folded(self, blocks: int) -> int:
        """How many of a matrix-vector product's `blocks` are one task; 0 where all are set up ahead."""
        return largest_divisor(blocks, self.matvec_folds) if self.matvec_folds else 0


PLAIN = Stack("", ())
# Matmuls are compiled with runtime_loop_tiling_sizes=[2, 2], of which the compiler takes the largest divisors of how
# many blocks there are. Matrix-vector products turn double buffers off, and are compiled with [4, 4]: their blocks
# follow one another in DRAM, so that a group of them is one pattern. Sequences are compiled with [16, 16]. Elementwise
# operators and norms know no L2: each of their streams gets the next channel of the shims, two of a column.
_MLIR_AIR = Stack(
    "mlir-air",
    ("mlir-air",),
    dict.fromkeys(("external", "direct", "fused-cast", "drain"), (2, 2)),
    divides=True,
    kinds={"fused-cast": "external", "external rope": "external-rows"},
    matvec_depth=1,
    matvec_folds=4,
    straight=True,
)
STACKS = (
    # The same designs, several launches of which are one invocation.
    replace(_MLIR_AIR, name="mlir-air-llms", sources=("programming_examples/llms",), matvec_folds=16),
    _MLIR_AIR,
    # A row of blocks is written before the next is set up.
    Stack("aries", ("Aries",), {"": (1, ALL)}, kinds={"hand-tuned": "aries"}),
    Stack("iron", ("amd/IRON",), kinds={"hand-tuned": "iron", "external": "iron"}, keeps=True),
    Stack("iree-amd-aie", ("iree-amd-aie",)),
)


def stack_named(name: str) -> Stack | None:
    return next((stack for stack in STACKS if stack.name == name), None)


def stack_of_source(source: str) -> Stack:
    """The stack that a source's designs were made with; one that nothing is known of where none is."""
    return next((stack for stack in STACKS if any(part in source for part in stack.sources)), PLAIN)
