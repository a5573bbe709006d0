"""A module as another context has it."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.constants.resources import HeldArray, held_array, resource_name, resource_of
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse_again
from npuflow.core.passes import ops_of

# MLIR's own name for a resource whose data is left out.
_LEFT_OUT = "dense_resource<__elided__> : {}"
_LENT = "npu.lent"


def moved_to(context: ir.Context, module: ir.Module, sink: DiagnosticSink) -> ir.Module:
    """A module as another context has it; both share the memory of resources that were made of arrays.

    What is written for the other one to read has their names in their places.
    """
    root = module.operation.clone(ip=False)
    lent: dict[str, HeldArray] = {}
    for constant in ops_of(root, "arith.constant"):
        value = _value_of(constant)
        name = None if value is None else resource_name(value)
        held = None if value is None else held_array(value)
        if name is not None and held is not None:
            lent[name] = held
            constant.attributes["value"] = ir.Attribute.parse(_LEFT_OUT.format(constant.results[0].type), root.context)
            constant.attributes[_LENT] = ir.StringAttr.get(name, root.context)
    again = parse_again(root, context, sink)
    shared: dict[str, ir.Attribute] = {}
    for constant in ops_of(again.operation, "arith.constant"):
        if _LENT in constant.attributes:
            name = ir.StringAttr(constant.attributes[_LENT]).value
            if name not in shared:
                held = lent[name]
                shared[name] = resource_of(held.data, held.name, constant.results[0].type, held.alignment)
            constant.attributes["value"] = shared[name]
            del constant.attributes[_LENT]
    return again


def _value_of(constant: ir.Operation) -> ir.Attribute | None:
    """The bindings hand out no attributes of complex numbers."""
    kind = constant.results[0].type
    is_tensor = isinstance(kind, ir.RankedTensorType) and not isinstance(kind.element_type, ir.ComplexType)
    return constant.attributes["value"] if is_tensor else None
