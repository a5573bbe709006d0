"""How a kernel's operands lie along its loops, as the model of the vector unit sees it. Reads IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of
from npuflow.kernels.vector_cycles import VectorOperand
from npuflow.ops.linear import Linear


def vector_operand(value: ir.Value, dims: tuple[Linear, ...], number: Mapping[int, int]) -> VectorOperand:
    follows = frozenset(number[loop] for dim in dims for loop, _ in dim.terms)
    return VectorOperand(element_bytes(element_type_of(value)), follows, along(dims, number))


def along(dims: Sequence[Linear], number: Mapping[int, int]) -> tuple[int, ...]:
    """The loops that go through neighbouring elements: of all dimensions from the last one on that are just a loop.

    A window's positions are neighbours as well, but its rows don't begin where the one before ends.
    """
    found: list[int] = []
    for dim in reversed(dims):
        if dim.loop is None:
            break
        found += [number[dim.loop]] if number[dim.loop] not in found else []
    windowed = dims[-1].terms if dims and not found else ()
    return tuple(found[::-1]) or tuple(number[loop] for loop, step in reversed(windowed) if step == 1)[:1]
