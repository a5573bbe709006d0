"""Constants that stand behind a module become part of it."""

from __future__ import annotations

import re

from npuflow.bindings import ir
from npuflow.core.passes import ops_of

_NAME = re.compile(r"dense_resource<(.*?)> : ")
_BLOB = re.compile(r'^\s*(\S.*?): "0x([0-9A-Fa-f]*)",?$', re.MULTILINE)
_ALIGNMENT_DIGITS = 8  # in front of the values, how they are to be aligned
_BITS = "i1"  # a byte each in a resource, a bit each in an attribute


def inline_resources(module: ir.Module) -> None:
    """Replaces `dense_resource<w>` by `dense<"0x...">`, whatever op holds it."""
    held = [(op, name, found) for op in ops_of(module.operation) for name, found in _resources_of(op)]
    if not held:
        return
    blobs = dict(_BLOB.findall(str(module.operation).rpartition("{-#")[2]))
    for op, name, resource in held:
        values = blobs.get(resource, "")[_ALIGNMENT_DIGITS:]
        kind = op.attributes[name].type
        if values and str(kind.element_type) != _BITS:
            op.attributes[name] = ir.Attribute.parse(f'dense<"0x{values}"> : {kind}', module.context)


def _resources_of(op: ir.Operation) -> list[tuple[str, str]]:
    """An op's attributes that are resources, each with the resource's name."""
    attributes = ((name, op.attributes[name]) for name in op.attributes)
    # The bindings have no class of their own for them.
    found = ((name, _NAME.match(str(attribute))) for name, attribute in attributes if type(attribute) is ir.Attribute)
    return [(name, match[1]) for name, match in found if match]
