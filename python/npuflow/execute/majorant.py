"""A function's majorant: the same sums of products with every term made positive.

    %p = arith.mulf %a, %b         %p = arith.mulf %a, %b
    %d = arith.subf %p, %bias      %d = arith.addf %p, %bias
    %r = arith.maximumf %d, %c0    %r = arith.maximumf %d, %c0

Run on the absolute values of the inputs it gives, for each element, the sum of the absolute values of all terms: what
relative errors of the terms must be multiplied with. Functions of other operations than sums, products, maxima and
minima have no majorant here.
"""

from __future__ import annotations

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, shape_of
from npuflow.core.passes import ops_of
from npuflow.execute.clone import clone_function, function_of, run_passes

_FLATTEN = (
    "inline,symbol-dce,func.func(convert-elementwise-to-linalg),func.func(linalg-generalize-named-ops),canonicalize"
)
_UNCHANGED = {"arith.addf", "arith.mulf", "arith.extf", "arith.truncf", "arith.maximumf"}
_TO_ADD = {"arith.subf"}
_TO_OPERAND = {"arith.negf", "math.absf"}
_TO_MAXIMUM = {"arith.maxnumf", "arith.minimumf", "arith.minnumf"}
_REPLACED = _TO_ADD | _TO_OPERAND | _TO_MAXIMUM
_FROM_INTEGER = {"arith.sitofp", "arith.uitofp"}
_MOVING = {"tensor", "func", "bufferization"}
_MOVING_LINALG = {f"linalg.{name}" for name in ("generic", "yield", "index", "fill", "copy", "pack", "unpack")}


def flatten(module: ir.Operation, function: str) -> tuple[ir.Module, ir.Operation]:
    """A copy whose `function` calls nothing and holds no linalg op but generics (and movements)."""
    copy = clone_function(module, function)
    run_passes(copy, _FLATTEN)
    return copy, function_of(copy, function)


def make_majorant(function: ir.Operation) -> str | None:
    """Rewrites a flat function in place; returns what has no majorant, None where all went well."""
    with function.context, function.location:
        _selects_to_maxima(function)
        for op in ops_of(function):
            problem = _rewrite(op)
            if problem is not None:
                return problem
    return None


def _rewrite(op: ir.Operation) -> str | None:
    """Makes one op's results positive; returns why that cannot be done."""
    if op.name == "arith.constant":
        _make_constant_positive(op)
    elif op.name in _FROM_INTEGER:
        _make_positive(op.results[0], op)
    elif op.name in _REPLACED:
        with at(op):
            op.results[0].replace_all_uses_with(_replacement(op))
        op.erase()
    elif op.name == "arith.divf":
        return None if _is_constant(op.operands[1]) else "a division by a value that is no constant"
    elif _is_about_floats(op) and not _keeps_signs(op):
        return op.name
    return None


def _keeps_signs(op: ir.Operation) -> bool:
    """Whether positive operands give positive results by themselves; a generic's body is judged op by op."""
    return op.name in _UNCHANGED or op.name in _MOVING_LINALG or op.name.partition(".")[0] in _MOVING


def _replacement(op: ir.Operation) -> ir.Value:
    if op.name in _TO_ADD:
        return arith.AddFOp(*op.operands).result
    if op.name in _TO_MAXIMUM:
        return arith.MaximumFOp(*op.operands).result
    return op.operands[0]


def _selects_to_maxima(function: ir.Operation) -> None:
    """`select(a > b, a, b)`, with any comparison and either order, is a maximum or minimum."""
    for select in ops_of(function, "arith.select"):
        condition, *chosen = select.operands
        compare = condition.owner
        if isinstance(compare, ir.Block) or compare.operation.name != "arith.cmpf":
            continue
        if set(compare.operation.operands) != set(chosen):
            continue
        with at(select):
            select.results[0].replace_all_uses_with(arith.MaximumFOp(*chosen).result)
        select.erase()
        if not list(condition.uses):
            compare.operation.erase()


def _is_about_floats(op: ir.Operation) -> bool:
    return any(isinstance(element_type_of(value), ir.FloatType) for value in (*op.results, *op.operands))


def _is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "arith.constant"


def _make_positive(value: ir.Value, op: ir.Operation) -> None:
    """Lets every user of a float scalar see its absolute value."""
    users = [use.owner.operation for use in value.uses]
    with at(op, after=True):
        zero = arith.ConstantOp(value.type, ir.FloatAttr.get(value.type, 0.0)).result
        positive = arith.MaximumFOp(value, arith.SubFOp(zero, value).result).result
    for user in users:
        for position, operand in enumerate(user.operands):
            if operand == value:
                user.operands[position] = positive


def _make_constant_positive(op: ir.Operation) -> None:
    result = op.results[0]
    element = element_type_of(result)
    if not isinstance(element, ir.FloatType):
        return
    if not isinstance(result.type, ir.RankedTensorType):
        value = ir.FloatAttr(op.attributes["value"]).value
        op.attributes["value"] = ir.FloatAttr.get(element, abs(value))
        return
    users = [use.owner.operation for use in result.uses]
    with at(op, after=True):
        positive = linalg.abs(result, outs=[empty(shape_of(result), element)])
    for user in users:
        for position, operand in enumerate(user.operands):
            if operand == result:
                user.operands[position] = positive
