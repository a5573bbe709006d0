"""A function that returns something else, as one of its results alone, and computes no more than that takes."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import func, ir
from npuflow.core.build import at
from npuflow.core.copies import erase_unused
from npuflow.execute.clone import clone_function, function_of


def with_one_result(module: ir.Operation, name: str, number: int) -> ir.Module:
    """A copy of a function of one block, which takes what it took."""
    copy = clone_function(module, name)
    function = function_of(copy, name)
    (block,) = function.regions[0].blocks
    with copy.context:
        return_instead(function, [list(block.operations)[-1].operands[number]])
    return copy


def return_instead(function: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Has a function of one block return these in place of its results; what nobody reads then goes."""
    (block,) = function.regions[0].blocks
    *others, old = (op.operation for op in block.operations)
    with at(old):
        func.ReturnOp(list(values))
    old.erase()
    kind = ir.FunctionType.get([each.type for each in block.arguments], [each.type for each in values])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    erase_unused(op for op in others if op.results)
