"""How long a kernel without matrix instructions takes on a core: a model of its inner loop. Pure.

One loop is gone through in vectors: of all, the one that costs least, along which operands should lie side by side.
A step of the innermost loop loads, computes and stores a few vectors. Where steps overlap, it takes as long as the
busiest of the unit's slots, or as a sum takes to be there for the next; where they don't, as long as the longest chain
from a load to the result. The device's file has all latencies and says how code of a kind is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log2, prod

from npuflow.target import Device
from npuflow.target.vector import Overlap, VectorKernelKind, VectorUnit

LOADED, SUM = -1, -2


@dataclass(frozen=True)
class Node:
    """An operation of a kernel's body; `uses` are earlier nodes by number, what was LOADED, or the SUM so far."""

    operation: str
    type: str
    uses: tuple[int, ...]


@dataclass(frozen=True)
class VectorOperand:
    """The loops that an operand follows, and that along which its elements lie side by side, if any."""

    element_bytes: int
    follows: frozenset[int]
    along: int | None

    def moves(self, loop: int, lanes: int, vector_bytes: int) -> int:
        """Loads or stores for one vector of a loop; elements that lie apart are moved one by one."""
        if loop not in self.follows:
            return 1
        return ceil(lanes * self.element_bytes / vector_bytes) if loop == self.along else lanes


@dataclass(frozen=True)
class VectorWork:
    """One kernel. Its loops are `runs` of loops of the op that all operands go through as if they were one."""

    runs: tuple[tuple[int, ...], ...]
    sums: tuple[bool, ...]
    inputs: tuple[VectorOperand, ...]
    outputs: tuple[VectorOperand, ...]
    nodes: tuple[Node, ...]
    widest_bytes: int

    @property
    def narrowest_bytes(self) -> int:
        return min(operand.element_bytes for operand in (*self.inputs, *self.outputs))


def vector_cycles(work: VectorWork, sizes: Sequence[int], device: Device, kind: str = "") -> int:
    """Cycles of one call for a tile, by the sizes of the op's loops; `kind` is one of the device's kernel kinds."""
    engine = device.engines[0]
    code = device.vector.kernel_kind(kind, engine.call_cycles)
    extents = [prod(sizes[loop] for loop in run) for run in work.runs] or [1]
    loops = [_Loop(work, device.vector, code, engine.vector_bytes, extents, loop) for loop in range(len(extents))]
    return code.call_cycles + ceil(min(loop.cycles() for loop in loops))


@dataclass(frozen=True)
class _Loop:
    """The kernel with one of its loops gone through in vectors."""

    work: VectorWork
    unit: VectorUnit
    code: VectorKernelKind
    vector_bytes: int
    extents: Sequence[int]
    loop: int

    def cycles(self) -> float:
        sums = self.work.sums
        outer = prod(size for i, size in enumerate(self.extents) if i != self.loop and not self._is_sum(i))
        summed = prod(size for i, size in enumerate(self.extents) if i != self.loop and self._is_sum(i))
        steps = ceil(ceil(self.extents[self.loop] / self.lanes) / self.code.vectors_per_step)
        if self._is_sum(self.loop):
            return outer * (self._summing(summed * steps) + self._across_lanes())
        if any(sums):
            return outer * steps * self._summing(summed)
        return self._streaming(outer * steps)

    def _is_sum(self, loop: int) -> bool:
        return loop < len(self.work.sums) and self.work.sums[loop]

    @property
    def lanes(self) -> int:
        narrow = self.vector_bytes // self.work.narrowest_bytes
        wide = self.unit.accumulator_bytes // self.work.widest_bytes or narrow
        return max(1, min(narrow, wide))

    def _issue(self, *, stores: bool) -> int:
        """Cycles that the busiest of a step's slots takes."""
        operands = [
            (self.work.inputs, self.unit.loads_per_cycle),
            (self.work.outputs if stores else (), self.unit.stores_per_cycle),
        ]
        moved = [sum(o.moves(self.loop, self.lanes, self.vector_bytes) for o in some) / rate for some, rate in operands]
        computed = sum(self.unit.operation(node.operation, node.type).issue_cycles for node in self.work.nodes)
        return max(1, ceil(max(*moved, computed) * self.code.vectors_per_step))

    def _streaming(self, steps: int) -> float:
        """Steps that each store what they compute."""
        issue, chain = self._issue(stores=True), self._chain()
        if self.code.overlap is Overlap.ALL or not self.work.inputs:
            return steps * issue + chain
        return steps * self._alone(issue, chain)

    def _summing(self, steps: int) -> float:
        """Steps that add to a sum in registers, and storing that."""
        issue, chain = self._issue(stores=False), self._chain()
        if self.code.overlap is Overlap.NONE:
            return steps * self._alone(issue, chain)
        lost = 0 if self.code.overlap is Overlap.ALL else self.code.step_cycles
        return steps * (max(issue, self._carried()) + lost) + chain

    def _alone(self, issue: int, chain: float) -> float:
        """A step that nothing overlaps with: its vectors start one after the other."""
        return max(issue, chain + issue - issue // self.code.vectors_per_step) + self.code.step_cycles

    def _across_lanes(self) -> float:
        """Adding up the lanes of a sum, by halves."""
        type_ = next((node.type for node in reversed(self.work.nodes)), "")
        return ceil(log2(max(1, self.lanes))) * self.unit.operation("add", type_).latency_cycles

    def _chain(self) -> float:
        """From a load to the result."""
        return max(
            self.unit.load_latency_cycles * bool(self.work.inputs), self._longest(self.unit.load_latency_cycles, -inf)
        )

    def _carried(self) -> float:
        """From a sum to the sum that the next step adds to."""
        return self._longest(-inf, 0)

    def _longest(self, loaded: float, sum_: float) -> float:
        times: list[float] = []
        for node in self.work.nodes:
            starts = [loaded if use == LOADED else sum_ if use == SUM else times[use] for use in node.uses]
            times.append(max(starts, default=-inf) + self.unit.operation(node.operation, node.type).latency_cycles)
        return max([0.0, *times])
