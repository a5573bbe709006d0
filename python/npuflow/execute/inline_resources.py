"""Constants that stand behind a module become part of it."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.constants.resources import resource_name, resources_of
from npuflow.core.passes import ops_of

_BITS = "i1"  # a byte each in a resource, a bit each in an attribute


def inline_resources(module: ir.Module) -> None:
    """Replaces `dense_resource<w>` by `dense<"0x...">`, whatever op holds it."""
    held = [(op, name, found) for op in ops_of(module.operation) for name, found in _resources_of(op)]
    if not held:
        return
    blobs = resources_of(module.operation)
    for op, name, resource in held:
        values = blobs.get(resource, "")
        kind = op.attributes[name].type
        if values and str(kind.element_type) != _BITS:
            op.attributes[name] = ir.Attribute.parse(f'dense<"0x{values}"> : {kind}', module.context)


def _resources_of(op: ir.Operation) -> list[tuple[str, str]]:
    """An op's attributes that are resources, each with the resource's name."""
    found = ((name, resource_name(op.attributes[name])) for name in op.attributes)
    return [(name, resource) for name, resource in found if resource is not None]
