"""A function that returns one of its results alone, and computes no more than that takes."""

from __future__ import annotations

from npuflow.bindings import func, ir
from npuflow.core.build import at
from npuflow.core.copies import erase_unused
from npuflow.core.passes import ops_of
from npuflow.execute.clone import clone_function, function_of


def with_one_result(module: ir.Operation, name: str, number: int) -> ir.Module:
    """A copy of a function of one block, which takes what it took."""
    copy = clone_function(module, name)
    function = function_of(copy, name)
    (block,) = function.regions[0].blocks
    with copy.context:
        (old,) = ops_of(function, "func.return")
        values = list(old.operands)
        with at(old):
            func.ReturnOp([values[number]])
        old.erase()
        erase_unused(value.owner.operation for value in values if not isinstance(value.owner, ir.Block))
        kind = ir.FunctionType.get([argument.type for argument in block.arguments], [values[number].type])
        function.attributes["function_type"] = ir.TypeAttr.get(kind)
    return copy
