"""What rows that are kept add to a bundle's group: lines, first rows, and the moves from step to step. Reads IR.

Each is work or room along a loop of its own that is whole in a tile: the first rows of an op, those that a line keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from npuflow.core.build import element_bytes, element_type_of
from npuflow.kernels.vector_cycles import VectorOperand, VectorWork
from npuflow.ops.bundle import Bundle
from npuflow.ops.kept_lines import lines_of
from npuflow.ops.linear import Linear, input_count
from npuflow.strategy.group import OpWork


@dataclass
class KeptWork:
    """Describes them for one bundle; `sizes` are those of the loops that come behind the bundle's."""

    bundle: Bundle
    sizes: list[int] = field(default_factory=list)

    def line(self, index: int, dims: tuple[Linear, ...]) -> tuple[Linear, ...]:
        """How an op's result is indexed in L1, what is kept of it included."""
        line = lines_of(self.bundle).get(index)
        if line is None:
            return dims
        reach = Linear((*dims[line.dimension].terms, (self._loop(line.kept + 1), 1)))
        return (*dims[: line.dimension], reach, *dims[line.dimension + 1 :])

    def read(self, index: int, dims: tuple[Linear, ...]) -> tuple[Linear, ...]:
        """How an op reads what comes from outside, with what its first rows need: L2 has that as well.

        In L1 it stands for the buffer of its own that those are read from.
        """
        kept = self.bundle.kept
        if kept is None or not self._has_first(index):
            return dims
        return tuple(
            Linear((*dim.terms, (self._loop(kept.first[index] + 1), 1)))
            if any(loop == kept.loop for loop, _ in dim.terms)
            else dim
            for dim in dims
        )

    def first_work(self, owned: Sequence[tuple[int, OpWork]]) -> list[OpWork]:
        """The work on first rows, once for a tile."""
        return [
            replace(work, loops=tuple(self._renamed(index, loop) for loop in work.loops), pieced=False, starting=False)
            for index, work in owned
            if self._has_first(index)
        ]

    def moves(self) -> list[OpWork]:
        """The moves of kept rows to the front of their lines, in each step."""
        found = []
        for index, line in lines_of(self.bundle).items():
            value = self.bundle.ops[index].results[0]
            dims = self.bundle.maps(index)[input_count(self.bundle.ops[index])]
            loops = [dim.terms[0][0] for dim in dims]
            loops[line.dimension] = self._loop(line.kept)
            width = element_bytes(element_type_of(value))
            operand = VectorOperand(width, frozenset([0]), (0,))
            run = tuple(range(len(loops)))
            found.append(
                OpWork(tuple(loops), VectorWork((run,), (False,), (operand,), (operand,), (), width), pieced=True)
            )
        return found

    def _has_first(self, index: int) -> bool:
        return self.bundle.kept is not None and self.bundle.kept.first[index] > 0

    def _renamed(self, index: int, loop: int) -> int:
        assert self.bundle.kept is not None
        return self._loop(self.bundle.kept.first[index]) if loop == self.bundle.kept.loop else loop

    def _loop(self, size: int) -> int:
        """The number of a loop of that size."""
        if size not in self.sizes:
            self.sizes.append(size)
        return len(self.bundle.sizes) + self.sizes.index(size)
