"""Constants that stand behind a module become part of it."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.constants.resources import resource_bytes, resource_name
from npuflow.core.passes import ops_of

_BITS = "i1"  # a byte each in a resource, a bit each in an attribute


def inline_resources(module: ir.Module) -> None:
    """Replaces `dense_resource<w>` by `dense<"0x...">`, whatever op holds it."""
    for op in ops_of(module.operation):
        for name in [name for name in op.attributes if resource_name(op.attributes[name]) is not None]:
            held = op.attributes[name]
            if str(held.type.element_type) != _BITS and (values := resource_bytes(held, op.location)):
                op.attributes[name] = ir.Attribute.parse(f'dense<"0x{values.hex()}"> : {held.type}', module.context)
