"""Whether what a function picks elements by lies inside of what it picks them from, on given arrays.

    %r = linalg.generic ins(%i, ...) { %p = index_cast %in, %v = tensor.extract %x[%p] : tensor<7xf32>, yield %v }

is looked at as

    %outside = linalg.generic ins(%i, ...) { %p = index_cast %in, yield %out or %p >= 7 unsigned } -> tensor<i1>
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, empty, fill, generic_op, shape_of, zero
from npuflow.core.copies import cloned
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import Array
from npuflow.execute.clone import function_of
from npuflow.execute.jit import Executable, compile_function
from npuflow.execute.lowering import NotExecutableError, isolated
from npuflow.execute.one_result import return_instead
from npuflow.ops.linear import iterators, maps_of

_EXTRACT = "tensor.extract"


def outside_of(module: ir.Operation, name: str) -> Executable | None:
    """What says of each op of a function whether it picks anything from outside.

    None where no op picks elements, or where that can't be executed: whoever executes the function will say so.
    """
    with suppress(NotExecutableError):
        return _outside_of(isolated(module, name), name)
    return None


def _outside_of(copy: ir.Module, name: str) -> Executable | None:
    function = function_of(copy, name)
    picking = [op for op in ops_of(function, "linalg.generic") if ops_of(op, _EXTRACT)]
    if not picking or len(function.regions[0].blocks) > 1:
        return None
    with copy.context:
        found = [_outside(op) for op in picking]
        return_instead(function, found)
    return compile_function(copy.operation, name)


def picks_inside(outside: Executable, inputs: Sequence[Array]) -> bool:
    return not any(bool(each) for each in outside.run(inputs).results)


def _outside(op: ir.Operation) -> ir.Value:
    """Whether an op picks anything from outside, in any step of its loops."""
    bit = ir.IntegerType.get_signless(1)
    with at(op):
        begun = fill(zero(bit), empty([], bit))
        maps = [*maps_of(op), ir.AffineMap.get(len(iterators(op)), 0, [])]
        made = generic_op(list(op.operands), [begun], maps, ["reduction"] * len(iterators(op)))
        body = op.regions[0].blocks[0]
        block = made.regions[0].blocks.append(*(argument.type for argument in body.arguments), bit)
        with ir.InsertionPoint(block):
            values = dict(zip(body.arguments, list(block.arguments)))
            found = block.arguments[len(body.arguments)]
            *steps, _ = (step.operation for step in body.operations)
            for step in steps:
                if step.name == _EXTRACT:
                    found = _guarded(step, values, found)
                else:
                    values.update(zip(step.results, cloned(step, values)))
            linalg.YieldOp([found])
    return made.results[0]


def _guarded(step: ir.Operation, values: dict[ir.Value, ir.Value], found: ir.Value) -> ir.Value:
    """Picks the first element in place of what is outside, and says so beside what was found before."""
    picked, *places = step.operands
    for place, size in zip(places, shape_of(picked)):
        index = values.get(place, place)
        first, end = (arith.ConstantOp(ir.IndexType.get(), number).result for number in (0, size))
        is_outside = arith.CmpIOp(arith.CmpIPredicate.uge, index, end).result
        found = arith.OrIOp(found, is_outside).result
        values[place] = arith.SelectOp(is_outside, first, index).result
    values.update(zip(step.results, cloned(step, values)))
    return found
