"""Large constants of a function as arguments of it: LLVM takes long for what it only has to put into memory."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.constants.known_tensors import KnownTensors
from npuflow.constants.resources import LEAST_RESOURCE_BYTES
from npuflow.core.build import element_bytes
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import Array

_BITS = "i1"  # of which several share a byte in an attribute, and none do in an array


def lift_tables(function: ir.Operation) -> tuple[Array, ...]:
    """Makes the large constants of a function of tensors arguments behind its own; returns what they are."""
    known, lifted = KnownTensors(most_elements=None), []
    block = function.regions[0].blocks[0]
    for op in ops_of(function, "arith.constant"):
        value = op.results[0]
        elements = known.of(value) if _is_large(op) else None
        if elements is None:
            continue
        lifted.append(elements)
        value.replace_all_uses_with(block.add_argument(value.type, op.location))
        op.erase()
    results = ir.FunctionType(function.opview.type).results
    kind = ir.FunctionType.get([argument.type for argument in block.arguments], results, function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(kind, function.context)
    if "arg_attrs" in function.attributes:
        nothing = [ir.DictAttr.get({}, function.context)] * len(lifted)
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([*function.attributes["arg_attrs"], *nothing])
    return tuple(lifted)


def _is_large(constant: ir.Operation) -> bool:
    kind, attribute = constant.results[0].type, constant.attributes["value"]
    if not isinstance(kind, ir.RankedTensorType) or str(kind.element_type) == _BITS:
        return False
    is_one_value = isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat
    return not is_one_value and prod(kind.shape) * element_bytes(kind.element_type) >= LEAST_RESOURCE_BYTES
