"""npuflow-specialize-shapes: dynamic shapes of arguments become static."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir, tensor
from npuflow.core.build import dynamic_marker
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.errors import unknown_name
from npuflow.frontend.shape_text import GivenShape, read_shape
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.contraction import producer

_TYPE = "function_type"


@register_pass
@dataclass(frozen=True)
class SpecializeShapes(Pass):
    """Gives arguments of dynamic shape the shapes that are asked for, and all that follows from them its own.

        func.func @f(%arg0: tensor<?x64xf32>, ...) -> tensor<?x16xf32>    with shapes=%arg0=128x64

    becomes

        func.func @f(%arg0: tensor<128x64xf32>, ...) -> tensor<128x16xf32>

    `%arg0` is the first argument, whatever the input calls it; `@f:%arg0` is that of one function of several; `?`
    leaves a size as it is. What is dynamic all the same is named in a remark.
    """

    name = "npuflow-specialize-shapes"
    group = "frontend"

    shapes: tuple[str, ...] = option((), "shapes of arguments, such as %arg0=128x256,@f:%arg1=?x64")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        if not self.shapes:
            return
        functions = {f.opview.name.value: f for f in ops_of(op, "func.func") if f.regions[0].blocks}
        changed: list[ir.Operation] = []
        for shape in map(read_shape, self.shapes):
            function = _function(shape, functions, op, context)
            if function is not None and _check(function, shape, context):
                _set_argument(function, shape)
                changed.append(function)
        if context.failed:
            return
        # Elementwise ops on tensors keep their types where a linalg.generic takes its operands'.
        run_upstream(op, "convert-elementwise-to-linalg,canonicalize,cse")
        for function in dict.fromkeys(changed):
            _refine_results(function)
        run_upstream(op, "canonicalize")
        for function in dict.fromkeys(changed):
            _remark_dynamic(function, context)


def _function(
    shape: GivenShape, functions: dict[str, ir.Operation], op: ir.Operation, context: PassContext
) -> ir.Operation | None:
    """The function that a shape is for."""
    if shape.function and shape.function not in functions:
        context.error(op, unknown_name("function", f"@{shape.function}", [f"@{name}" for name in functions]))
        return None
    if not shape.function and len(functions) != 1:
        what = f"{shape} doesn't say which of {len(functions)} functions it is for"
        context.error(op, what, f"name it, as @{next(iter(functions), 'f')}:{shape}")
        return None
    return functions[shape.function or next(iter(functions))]


def _check(function: ir.Operation, shape: GivenShape, context: PassContext) -> bool:
    """Reports what keeps an argument from having a shape."""
    name = f"@{function.opview.name.value}"
    arguments = list(function.regions[0].blocks[0].arguments)
    if _callers(function):
        context.error(function, f"{name} is called, so that its arguments have to stay", "inline it first (--inline)")
        return False
    if shape.argument >= len(arguments):
        hint = "arguments are called %arg0, %arg1 and so on, in order, whatever the input calls them"
        context.error(
            function, f"{name} has {len(arguments)} arguments, so that there is no %arg{shape.argument}", hint
        )
        return False
    argument = arguments[shape.argument]
    problem = _problem(argument.type, shape)
    if problem is not None:
        context.error(argument, f"{shape}: {problem[0]}", problem[1])
    return problem is None


def _problem(kind: ir.Type, shape: GivenShape) -> tuple[str, str] | None:
    """What is wrong with a shape for an argument of a type, as (what, hint)."""
    if not isinstance(kind, ir.RankedTensorType):
        return f"the argument is no tensor with dimensions ({kind})", "leave it out"
    if len(shape.sizes) != kind.rank:
        return f"{len(shape.sizes)} sizes for {kind.rank} dimensions ({kind})", "give one size or ? per dimension"
    small = [size for size in shape.sizes if size is not None and size <= 0]
    if small:
        return f"size {small[0]} is not positive", "give sizes from 1 on"
    wrong = [
        f"size {given} of dimension {d} is {own}"
        for d, (own, given) in enumerate(zip(kind.shape, shape.sizes))
        if given is not None and own not in (dynamic_marker(), given)
    ]
    return (
        (f"{', '.join(wrong)} in the argument's type ({kind})", "only dynamic sizes can be chosen") if wrong else None
    )


def _callers(function: ir.Operation) -> list[ir.Operation]:
    root = function
    while root.parent is not None:
        root = root.parent.operation
    symbol = function.opview.name.value
    return [call for call in ops_of(root, "func.call") if call.attributes["callee"].value == symbol]


def _set_argument(function: ir.Operation, shape: GivenShape) -> None:
    """Changes an argument's type; a cast gives its users the type that they had."""
    block = function.regions[0].blocks[0]
    argument = block.arguments[shape.argument]
    old = argument.type
    sizes = [own if given is None else given for own, given in zip(old.shape, shape.sizes)]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        argument.set_type(ir.RankedTensorType.get(sizes, old.element_type, old.encoding))
        cast = tensor.CastOp(old, argument)
    argument.replace_all_uses_except(cast.result, [cast.operation])
    _set_type(function, [a.type for a in block.arguments], list(_type_of(function).results))


def _type_of(function: ir.Operation) -> ir.FunctionType:
    return ir.FunctionType(ir.TypeAttr(function.attributes[_TYPE]).value)


def _set_type(function: ir.Operation, inputs: Sequence[ir.Type], results: Sequence[ir.Type]) -> None:
    kind = ir.FunctionType.get(inputs, results, context=function.context)
    function.attributes[_TYPE] = ir.TypeAttr.get(kind, context=function.context)


def _refine_results(function: ir.Operation) -> None:
    """Returns what is known instead of what it was cast to."""
    returns = ops_of(function, "func.return")
    if len(returns) != 1:
        return
    for index, value in enumerate(returns[0].operands):
        cast = producer(value, "tensor.cast")
        if cast is not None and isinstance(cast.operands[0].type, ir.RankedTensorType):
            returns[0].operands[index] = cast.operands[0]
    _set_type(function, list(_type_of(function).inputs), [value.type for value in returns[0].operands])


def _remark_dynamic(function: ir.Operation, context: PassContext) -> None:
    for number, argument in enumerate(function.regions[0].blocks[0].arguments):
        for kind in _dynamic([argument]):
            context.remark(argument, f"%arg{number} is still dynamic ({kind})")
    for op in ops_of(function):
        for kind in _dynamic(op.results):
            context.remark(op, f"the result of {op.name} is still dynamic ({kind})")


def _dynamic(values: Sequence[ir.Value]) -> Iterator[ir.Type]:
    """The types among those of values that are not static."""
    for value in values:
        if isinstance(value.type, ir.ShapedType) and not (value.type.has_rank and value.type.has_static_shape):
            yield value.type
