"""Constants that stand behind a module: made of arrays, and read from bytecode, as the bindings have no other way."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import numpy as np

from npuflow.bindings import ir
from npuflow.constants.bytecode import the_only_resource

# Smaller constants stay attributes, which folding looks into.
LEAST_RESOURCE_BYTES = 1024

_NAME = re.compile(r"dense_resource<(.*?)> : ")
_HELD = "npu.held"


def resource_name(attribute: ir.Attribute) -> str | None:
    """What a `dense_resource<w>` is called; None for other attributes."""
    # The bindings have no class of their own for them.
    match = _NAME.match(str(attribute)) if type(attribute) is ir.Attribute else None
    return None if match is None else match[1]


def resource_bytes(attribute: ir.Attribute, where: ir.Location) -> memoryview:
    """The bytes of a constant that is a resource: all that stands behind a module which has nothing else."""
    module = ir.Module.create(where)
    module.operation.attributes[_HELD] = attribute
    written = BytesIO()
    module.operation.write_bytecode(written)
    return the_only_resource(written.getbuffer().toreadonly()) or memoryview(b"")


def resource_of(data: np.ndarray[Any, Any], name: str, typed: ir.Type, alignment: int) -> ir.Attribute:
    """An attribute that shares the memory of an array, and keeps it alive."""
    return ir.DenseResourceElementsAttr.get_from_buffer(data, name, typed, alignment=alignment)
