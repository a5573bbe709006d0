"""An op's attributes as Python values."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.passes import fail

MOST_NUMBER = 1 << 20


def string(op: ir.Operation, name: str) -> str:
    return str(ir.StringAttr(op.attributes[name]).value)


def symbol(op: ir.Operation, name: str) -> str:
    return str(ir.FlatSymbolRefAttr(op.attributes[name]).value)


def integer(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


def numbers(op: ir.Operation, name: str, attribute: ir.Attribute) -> tuple[int, ...]:
    """Assigned numbers: none means that they are to be assigned."""
    items = list(attribute) if isinstance(attribute, ir.ArrayAttr) else []
    numbers = [int(item.value) for item in items if isinstance(item, ir.IntegerAttr)]
    if not items or len(numbers) < len(items) or min(numbers) < 0 or max(numbers) > MOST_NUMBER:
        raise fail(op, f"{name} is {attribute}", f"list numbers from 0 to {MOST_NUMBER}, as [0, 1], or leave it out")
    return tuple(numbers)
