"""A module as another context has it."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.constants.resources import HeldArray, held_array, resource_of
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse_again
from npuflow.core.passes import ops_of

# MLIR's own name for a resource whose data is left out.
_LEFT_OUT = "dense_resource<__elided__> : {}"


def moved_to(context: ir.Context, module: ir.Module, sink: DiagnosticSink) -> ir.Module:
    """A module as another context has it; both share the memory of resources that were made of arrays.

    They are left out of what is written for the other one to read, where constants stand in the same order.
    """
    root = module.operation.clone(ip=False)
    constants = ops_of(root, "arith.constant")
    held = [_held_by(constant) for constant in constants]
    for constant, array in zip(constants, held):
        if array is not None:
            constant.attributes["value"] = ir.Attribute.parse(_LEFT_OUT.format(constant.results[0].type), root.context)
    again = parse_again(root, context, sink)
    shared: dict[HeldArray, ir.Attribute] = {}
    for constant, array in zip(ops_of(again.operation, "arith.constant"), held, strict=True):
        if array is None:
            continue
        if array not in shared:
            shared[array] = resource_of(array.data, array.name, constant.results[0].type, array.alignment)
        constant.attributes["value"] = shared[array]
    return again


def _held_by(constant: ir.Operation) -> HeldArray | None:
    """The bindings hand out no attributes of complex numbers."""
    kind = constant.results[0].type
    is_tensor = isinstance(kind, ir.RankedTensorType) and not isinstance(kind.element_type, ir.ComplexType)
    return held_array(constant.attributes["value"]) if is_tensor else None
