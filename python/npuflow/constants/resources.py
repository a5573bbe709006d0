"""Constants that stand behind a module: made of arrays, and read as text, since the bindings have no other way."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from npuflow.bindings import ir

# Smaller constants stay attributes, which folding looks into.
LEAST_RESOURCE_BYTES = 1024

_NAME = re.compile(r"dense_resource<(.*?)> : ")
_BLOB = re.compile(r'^\s*(\S.*?): "0x([0-9A-Fa-f]*)",?$', re.MULTILINE)
_ALIGNMENT_DIGITS = 8  # in front of the values, how they are to be aligned


def resource_name(attribute: ir.Attribute) -> str | None:
    """What a `dense_resource<w>` is called; None for other attributes."""
    # The bindings have no class of their own for them.
    match = _NAME.match(str(attribute)) if type(attribute) is ir.Attribute else None
    return None if match is None else match[1]


def resources_of(module: ir.Operation) -> dict[str, str]:
    """The bytes of all resources that a module's ops name, in hexadecimal digits, by their names."""
    blobs = dict(_BLOB.findall(module.get_asm().rpartition("{-#")[2]))
    return {name: digits[_ALIGNMENT_DIGITS:] for name, digits in blobs.items()}


def resource_of(data: np.ndarray[Any, Any], name: str, typed: ir.Type, alignment: int) -> ir.Attribute:
    """An attribute that shares the memory of an array, and keeps it alive."""
    return ir.DenseResourceElementsAttr.get_from_buffer(data, name, typed, alignment=alignment)
