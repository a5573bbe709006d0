"""Sums of products without windows: products of vectors, matrices and batches of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import ClassVar

from npuflow.execute.arrays import is_float
from npuflow.testing.operator_steps import widened
from npuflow.testing.operator_text import Indexed, Loops, Value, Writer
from npuflow.testing.operators import Tailed
from npuflow.testing.programs import Types


class Kind(Enum):
    """The named op, if there is one, and the letters of both operands and the result."""

    MATVEC = "matvec mk k m"
    VECMAT = "vecmat k kn n"
    BATCH_MATVEC = "batch_matvec bmk bk bm"
    BATCH_VECMAT = "batch_vecmat bk bkn bn"
    DOT = "dot k k -"
    BATCH_MATMUL = "batch_matmul bmk bkn bmn"
    MATMUL = "matmul mk kn mn"
    TURNED_MATVEC = "- km k m"
    TURNED_VECMAT = "- k nk n"
    OUTER = "- m n mn"
    TWO_BATCHES = "- abmk abkn abmn"
    TWO_SUMS = "- mjk jkn mn"

    @property
    def op(self) -> str | None:
        name = self.value.split()[0]
        return None if name == "-" else f"linalg.{name}"

    @property
    def letters(self) -> tuple[str, str, str]:
        lhs, rhs, result = self.value.split()[1:]
        return lhs, rhs, result.strip("-")

    @property
    def loops(self) -> tuple[str, ...]:
        """Every letter once, those of the left operand first."""
        return tuple(dict.fromkeys("".join(self.letters)))

    def sizes_of(self, *numbers: int) -> tuple[tuple[str, int], ...]:
        """A size for each loop."""
        return tuple(zip(self.loops, numbers, strict=True))


@dataclass(frozen=True)
class Product(Tailed):
    """`shape` gives the size of every letter; `head` scales the right operand on its way in, as dequantising does."""

    family: ClassVar[str] = "product"
    in_label: ClassVar[tuple[str, ...]] = ("kind",)

    kind: Kind
    shape: tuple[tuple[str, int], ...]
    types: Types
    by_name: bool = True
    head: bool = False

    @property
    def label(self) -> str:
        return self.kind.name.lower()

    @property
    def macs(self) -> int:
        return prod(dict(self.shape).values())

    def build(self, writer: Writer) -> Value:
        sizes, accumulator = dict(self.shape), self.types.accumulator
        lhs, rhs, result = self.kind.letters
        left = writer.argument(self.types.operand, [sizes[d] for d in lhs])
        right = writer.argument(self.types.operand, [sizes[d] for d in rhs])
        if self.head:
            left, right = widened(writer, left, accumulator, head=False), widened(writer, right, accumulator, head=True)
        target = writer.filled(0, accumulator, [sizes[d] for d in result])
        if self.by_name and self.kind.op is not None:
            value = writer.named(self.kind.op, [left, right], target)
        else:
            value = sum_of_products(
                writer, Indexed(left, tuple(lhs)), Indexed(right, tuple(rhs)), target, tuple(result)
            )
        return self.behind(writer, value)


def sum_of_products(writer: Writer, left: Indexed, right: Indexed, target: Value, result: tuple[str, ...]) -> Value:
    """A linalg.generic that adds products to `target`; loops that the result lacks are summed over."""
    element = target.element
    summed = tuple(d for d in dict.fromkeys((*left.indices, *right.indices)) if d not in result)
    suffix = "f" if is_float(element) else "i"

    def body(a: str, b: str, total: str) -> str:
        factors = [writer.convert(a, left.value.element, element), writer.convert(b, right.value.element, element)]
        product = writer.scalar(f"arith.mul{suffix} : {element}", *factors)
        return writer.scalar(f"arith.add{suffix} : {element}", total, product)

    return writer.generic(Loops(result, summed), [left, right], Indexed(target, result), body)
