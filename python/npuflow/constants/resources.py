"""Constants that stand behind a module: made of arrays, and read from these, or else from bytecode.

The bindings have no other way to read them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from npuflow.bindings import ir
from npuflow.constants.bytecode import the_only_resource

# Smaller constants stay attributes, which folding looks into.
LEAST_RESOURCE_BYTES = 1024

_NAME = re.compile(r"dense_resource<(.*?)> : ")
_HELD = "npu.held"


@dataclass(frozen=True, eq=False)
class HeldArray:
    """An array that is a resource, as long as a context has it."""

    data: np.ndarray[Any, Any]
    name: str
    alignment: int


# What resources are that were made of arrays, by what each context calls them.
_held: WeakKeyDictionary[ir.Context, dict[str, HeldArray]] = WeakKeyDictionary()


def resource_name(attribute: ir.Attribute) -> str | None:
    """What a `dense_resource<w>` is called; None for other attributes."""
    # The bindings have no class of their own for them.
    match = _NAME.match(str(attribute)) if type(attribute) is ir.Attribute else None
    return None if match is None else match[1]


def held_array(attribute: ir.Attribute) -> HeldArray | None:
    """The array that a resource was made of, if it was."""
    name = resource_name(attribute)
    return None if name is None else _held.get(attribute.context, {}).get(name)


def resource_bytes(attribute: ir.Attribute, where: ir.Location) -> memoryview:
    """The bytes of a constant that is a resource: all that stands behind a module which has nothing else."""
    held = held_array(attribute)
    if held is not None:
        return held.data.reshape(-1).view(np.uint8).data.toreadonly()
    module = ir.Module.create(where)
    module.operation.attributes[_HELD] = attribute
    written = BytesIO()
    module.operation.write_bytecode(written)
    return the_only_resource(written.getbuffer().toreadonly()) or memoryview(b"")


def resource_of(data: np.ndarray[Any, Any], name: str, typed: ir.Type, alignment: int) -> ir.Attribute:
    """An attribute that shares the memory of an array, and keeps it alive."""
    kind = ir.DenseResourceElementsAttr
    made = kind.get_from_buffer(data, name, typed, alignment=alignment, context=typed.context)
    attribute = ir.Attribute(made)
    own = resource_name(attribute)
    assert own is not None, f"{attribute} is no resource"
    _held.setdefault(typed.context, {})[own] = HeldArray(data, name, alignment)
    return attribute
