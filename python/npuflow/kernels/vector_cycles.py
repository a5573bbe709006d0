"""How long a kernel without matrix instructions takes on a core: a model of its inner loop. Pure.

One loop is gone through in vectors, or several within each other as if they were one: of all, those that cost least,
along which operands should lie side by side. Where a core has several engines of the class, each does a part of a call.
A step of the innermost loop loads, computes and stores a few vectors. Where steps overlap, it takes as long as the
busiest of the unit's slots, or as a sum takes to be there for the next; where they don't, as long as the longest chain
from a load to the result. The device's file has all latencies and says how code of a kind is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, log2, prod
from typing import NamedTuple

from npuflow.target import ComputeEngine, Device, KernelClass
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
    """The loops that an operand follows, and those along which its elements lie side by side, the innermost last.

    A window's also lie `apart`, by so many along a loop, from anywhere in a row on.
    """

    element_bytes: int
    follows: frozenset[int]
    along: tuple[int, ...]
    apart: tuple[tuple[int, int], ...] = ()

    def within(self, loops: Sequence[int]) -> tuple[int, ...] | None:
        """Those of loops within each other that it follows; None where its elements lie apart along them.

        What doesn't follow the outer ones is the same for each row of the inner ones: a vector takes it row by row.
        """
        own = tuple(loop for loop in loops if loop in self.follows)
        if own and (own != tuple(loops[-len(own) :]) or own != self.along[-len(own) :]):
            return None
        return own

    def taken_out(self, loops: Sequence[int], width: int, vector_bytes: int) -> tuple[int, int]:
        """Loads of a vector whose elements lie apart, and operations that make it of these.

        Either all that lies between is loaded, and each load after the first shifted in, and what is needed picked
        out; or it is loaded by elements.
        """
        step = dict(self.apart).get(loops[0]) if len(loops) == 1 else None
        if step is None:
            return width, 0
        loads = 1 + ceil(((width - 1) * step + 1) * self.element_bytes / vector_bytes)
        return min((loads, loads - 1 + (step > 1)), (width, 0))


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

    @cached_property
    def vector_loops(self) -> tuple[tuple[int, ...], ...]:
        """What may be gone through in vectors: each loop, and those within each other that some operand lies along."""
        found: list[tuple[int, ...]] = [(loop,) for loop in range(max(1, len(self.runs)))]
        for operand in (*self.inputs, *self.outputs):
            found += [operand.along[-count:] for count in range(2, len(operand.along) + 1)]
        return tuple(
            loops for loops in dict.fromkeys(found) if len({self.sums[loop] for loop in loops if self.sums}) < 2
        )


@dataclass(frozen=True)
class VectorKernel:
    """A kernel on a device, made as those of a kind of the device's are: what is the same for tiles of all sizes."""

    work: VectorWork
    device: Device
    kind: str = ""

    def cycles(self, sizes: Sequence[int]) -> int:
        """Cycles of one call for a tile, by the sizes of the op's loops."""
        extents = [prod([sizes[loop] for loop in run]) for run in self.work.runs] or [1]
        least = min([way.cycles(part) for part in self._parts(extents) for way in self.ways])
        return self.device.cycles_of(self.engine, self.code.call_cycles + ceil(least))

    def _parts(self, extents: Sequence[int]) -> list[list[int]]:
        """What the busiest of several engines does of a call: its part of a loop that isn't summed up, if any."""
        count, sums = self.engine.count, self.work.sums or (False,)
        divided = [run for run, is_sum in enumerate(sums) if not is_sum and extents[run] > 1] if count > 1 else []
        parts = [[-(-e // count) if run == each else e for run, e in enumerate(extents)] for each in divided]
        return parts or [list(extents)]

    def least_cycles(self) -> tuple[float, float]:
        """Cycles at least: of a call, and of each step of the op's loops, whichever is gone through in vectors."""
        code, body = self.code, self.body
        each = max(len(self.work.inputs) / self.unit.loads_per_cycle, body.issue, 1 / code.vectors_per_step)
        if code.overlap is Overlap.NONE:
            each = max(each, (body.chain + code.step_cycles) / code.vectors_per_step)
        rate = self.device.clock_hz / self.device.clock_of(self.engine)
        return code.call_cycles * rate, each * rate / (self.width * self.engine.count)

    @cached_property
    def ways(self) -> tuple[_Vectors, ...]:
        return tuple(_Vectors(self, loops) for loops in self.work.vector_loops)

    @property
    def unit(self) -> VectorUnit:
        return self.device.vector

    @cached_property
    def engine(self) -> ComputeEngine:
        return self.device.engine(KernelClass.VECTOR)

    @cached_property
    def code(self) -> VectorKernelKind:
        return self.unit.kernel_kind(self.kind, self.engine.call_cycles)

    @cached_property
    def body(self) -> _Body:
        return _body(self.work, self.unit)

    @cached_property
    def width(self) -> int:
        """Elements of a vector."""
        narrow = self.engine.vector_bytes // self.work.narrowest_bytes
        wide = self.unit.accumulator_bytes // self.work.widest_bytes or narrow
        return max(1, min(narrow, wide))


@dataclass(frozen=True)
class _Body:
    """A body's cycles: to start all of it, from a load to the result, and from a sum to the next."""

    issue: int
    chain: float
    carried: float


def _body(work: VectorWork, unit: VectorUnit) -> _Body:
    costs = [unit.operation(node.operation, node.type) for node in work.nodes]
    latencies = [cost.latency_cycles for cost in costs]
    load = unit.load_latency_cycles if work.inputs else 0.0
    chain = max(load, _longest(work.nodes, latencies, load, -inf))
    return _Body(sum(cost.issue_cycles for cost in costs), chain, _longest(work.nodes, latencies, -inf, 0.0))


def _longest(nodes: Sequence[Node], latencies: Sequence[float], loaded: float, sum_: float) -> float:
    """When the last node is done, if what was loaded and the sum are there at these times."""
    times: list[float] = []
    for node, latency in zip(nodes, latencies):
        starts = [loaded if use == LOADED else sum_ if use == SUM else times[use] for use in node.uses]
        times.append(max(starts) + latency)
    return max([0.0, *times])


# The loops that a row of an operand goes along, and its elements' bytes.
_Row = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class _VectorMoves:
    """Loads or stores of one vector that no tile changes, operations that come with them, and what lies in rows."""

    count: int
    operations: int
    rows: tuple[_Row, ...]


class _StepCycles(NamedTuple):
    """Cycles of a step, and what is behind the last one; of sums side by side, what a step issues and each stores."""

    each: float
    last: float
    issue: int
    stored: int


@dataclass(frozen=True)
class _Vectors:
    """The kernel with one of its loops gone through in vectors, or several as if they were one."""

    kernel: VectorKernel
    loops: tuple[int, ...]

    def cycles(self, extents: Sequence[int]) -> float:
        elements = outer = summed = 1
        for loop in self.loops:
            elements *= extents[loop]
        for loop in self._kept:
            outer *= extents[loop]
        for loop in self._summed:
            summed *= extents[loop]
        width, vectors_per_step = self._sides
        vectors = -(-elements // width)
        steps = -(-vectors // vectors_per_step)
        each, last, issue, stored = self._steps_of(extents) if self._has_rows else self._fixed_steps
        if self._adds_up:
            return outer * (summed * steps * each + last + self._across)
        if not self._has_sums:
            return outer * steps * each + last
        if not self._overlaps:
            return outer * steps * (summed * each + last)
        # While one sum isn't there yet, others are worked on.
        return max(outer * steps * max(summed * issue, stored), summed * self.kernel.body.carried) + last

    @cached_property
    def _sides(self) -> tuple[int, int]:
        """Elements side by side in a vector, and vectors in a step."""
        return self.kernel.width, self.kernel.code.vectors_per_step

    @cached_property
    def _adds_up(self) -> bool:
        """Whether vectors are summed up along what they hold."""
        return self._sums[self.loops[0]]

    @cached_property
    def _has_sums(self) -> bool:
        return any(self._sums)

    @cached_property
    def _overlaps(self) -> bool:
        return self.kernel.code.overlap is Overlap.ALL

    @cached_property
    def _sums(self) -> tuple[bool, ...]:
        return self.kernel.work.sums or (False,)

    @cached_property
    def _kept(self) -> list[int]:
        """The other loops that each make results of their own."""
        return [loop for loop, is_sum in enumerate(self._sums) if loop not in self.loops and not is_sum]

    @cached_property
    def _summed(self) -> list[int]:
        return [loop for loop, is_sum in enumerate(self._sums) if loop not in self.loops and is_sum]

    @cached_property
    def _inputs(self) -> _VectorMoves:
        return self._moved(self.kernel.work.inputs)

    @cached_property
    def _outputs(self) -> _VectorMoves:
        return self._moved(self.kernel.work.outputs)

    def _moved(self, operands: Iterable[VectorOperand]) -> _VectorMoves:
        width, vector_bytes = self.kernel.width, self.kernel.engine.vector_bytes
        fixed, operations, rows = 0, 0, list[_Row]()
        for operand in operands:
            own = operand.within(self.loops)
            if own is None:
                loads, more = operand.taken_out(self.loops, width, vector_bytes)
                fixed, operations = fixed + loads, operations + more
            elif not own:
                fixed += 1
            elif len(own) == len(self.loops):
                fixed += ceil(width * operand.element_bytes / vector_bytes)
            else:
                rows.append((own, operand.element_bytes))
        return _VectorMoves(fixed, operations, tuple(rows))

    def _moves(self, moved: _VectorMoves, extents: Sequence[int]) -> int:
        """Loads or stores for one vector."""
        count, width, vector_bytes = moved.count, self.kernel.width, self.kernel.engine.vector_bytes
        for loops, element_bytes in moved.rows:
            row = min(width, prod([extents[loop] for loop in loops]))
            count += ceil(width / row) * ceil(row * element_bytes / vector_bytes)
        return count

    @cached_property
    def _has_rows(self) -> bool:
        return bool(self._inputs.rows or self._outputs.rows)

    @cached_property
    def _fixed_steps(self) -> _StepCycles:
        """Where nothing lies in rows: of tiles of all sizes."""
        return self._steps_of(())

    def _steps_of(self, extents: Sequence[int]) -> _StepCycles:
        """Steps that each store what they compute, or add to a sum in registers, which is stored in the end."""
        code, body = self.kernel.code, self.kernel.body
        stores = self._moves(self._outputs, extents)
        issue = self._issue(extents, 0 if self._has_sums else stores)
        stored = ceil(stores * code.vectors_per_step / self.kernel.unit.stores_per_cycle)
        if not self._has_sums:
            alone = not self._overlaps and bool(self.kernel.work.inputs)
            each = self._alone(issue) if alone else issue
        else:
            alone = code.overlap is Overlap.NONE
            lost = 0 if self._overlaps else code.step_cycles
            each = self._alone(issue) if alone else max(issue, body.carried) + lost
        return _StepCycles(each, 0 if alone else body.chain, issue, stored)

    def _issue(self, extents: Sequence[int], stored: int) -> int:
        """Cycles that the busiest of a step's slots takes."""
        unit = self.kernel.unit
        loaded = self._moves(self._inputs, extents)
        operations = self.kernel.body.issue + self._inputs.operations
        busiest = max(loaded / unit.loads_per_cycle, stored / unit.stores_per_cycle, operations)
        return max(1, ceil(busiest * self.kernel.code.vectors_per_step))

    def _alone(self, issue: int) -> float:
        """A step that nothing overlaps with: its vectors start one after the other."""
        code = self.kernel.code
        return max(issue, self.kernel.body.chain + issue - issue // code.vectors_per_step) + code.step_cycles

    @cached_property
    def _across(self) -> float:
        """Adding up a vector of sums, by halves."""
        type_ = next((node.type for node in reversed(self.kernel.work.nodes)), "")
        return ceil(log2(self.kernel.width)) * self.kernel.unit.operation("add", type_).latency_cycles
