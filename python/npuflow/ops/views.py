"""Buffers and what is seen of them: parts, and other types of the whole. Reads IR and changes nothing."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.ops.contraction import producer

# Ops that give a buffer, or the whole of one, another type.
_VIEWS = ("memref.subview", "memref.collapse_shape", "memref.expand_shape", "memref.cast")


def views_of(value: ir.Value) -> list[ir.Operation]:
    """The ops that make a view of its buffer, the last first."""
    found: list[ir.Operation] = []
    while (view := producer(value, *_VIEWS)) is not None:
        found.append(view)
        value = view.operands[0]
    return found


def base_of(value: ir.Value) -> ir.Value:
    """The buffer that a view is a view of."""
    views = views_of(value)
    return views[-1].operands[0] if views else value
