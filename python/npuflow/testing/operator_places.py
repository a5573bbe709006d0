"""Operators whose results depend on where an element is: padding that is needed as such, masks and ramps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from npuflow.execute.arrays import is_float
from npuflow.testing.operator_text import Indexed, Loops, Value, Writer, loop_names
from npuflow.testing.operators import Tailed


@dataclass(frozen=True)
class Padded(Tailed):
    """A tensor with a number around it, returned as it is where no steps follow."""

    family: ClassVar[str] = "padding"

    shape: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    number: int
    element: str

    @property
    def label(self) -> str:
        return "pad" if self.number else "pad with zeros"

    def build(self, writer: Writer) -> Value:
        source = writer.argument(self.element, self.shape)
        return self.behind(writer, writer.pad(source, self.low, self.high, self.number))


class PositionUse(Enum):
    """What is done with positions: the causal mask keeps elements up to the diagonal, a ramp grows along all loops."""

    MASK = "causal mask"
    RAMP = "ramp"


@dataclass(frozen=True)
class Placed(Tailed):
    """Each element and its position (`linalg.index`)."""

    family: ClassVar[str] = "position"
    in_label: ClassVar[tuple[str, ...]] = ("place",)

    shape: tuple[int, ...]
    place: PositionUse
    element: str

    @property
    def label(self) -> str:
        return self.place.value

    def build(self, writer: Writer) -> Value:
        loops = loop_names(len(self.shape))
        source, target = writer.argument(self.element, self.shape), writer.empty(self.element, self.shape)
        body = self._masked if self.place is PositionUse.MASK else self._on_a_ramp
        made = writer.generic(
            Loops(loops), [Indexed(source, loops)], Indexed(target, loops), lambda number, _: body(writer, number)
        )
        return self.behind(writer, made)

    def _masked(self, writer: Writer, number: str) -> str:
        row, column = (writer.position(dim) for dim in (max(len(self.shape) - 2, 0), len(self.shape) - 1))
        is_kept = writer.compare("sle", column, row, "index")
        return writer.choose(is_kept, number, writer.constant(0, self.element), self.element)

    def _on_a_ramp(self, writer: Writer, number: str) -> str:
        """The number plus the sum of its position's coordinates, each times one more than the one before."""
        total = writer.constant(0, "index")
        for dim in range(len(self.shape)):
            term = writer.scalar("arith.muli : index", writer.position(dim), writer.constant(dim + 1, "index"))
            total = writer.scalar("arith.addi : index", total, term)
        kind = "f" if is_float(self.element) else "i"
        step = writer.from_position(total, self.element)
        return writer.scalar(f"arith.add{kind} : {self.element}", number, step)
