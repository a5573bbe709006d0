"""How a kernel's operands lie along its loops, as the model of the vector unit sees it. Reads IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of
from npuflow.kernels.vector_cycles import VectorOperand
from npuflow.ops.linear import Linear


def vector_operand(value: ir.Value, dims: tuple[Linear, ...], number: Mapping[int, int]) -> VectorOperand:
    follows = frozenset(number[loop] for dim in dims for loop, _ in dim.terms)
    return VectorOperand(element_bytes(element_type_of(value)), follows, along(dims, number), _apart(dims, number))


def _apart(dims: Sequence[Linear], number: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """The loops of a last dimension that isn't just one, and how many elements each goes on by."""
    if not dims or dims[-1].loop is not None:
        return ()
    others = {loop for dim in dims[:-1] for loop, _ in dim.terms}
    return tuple((number[loop], step) for loop, step in dims[-1].terms if step > 0 and loop not in others)


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
