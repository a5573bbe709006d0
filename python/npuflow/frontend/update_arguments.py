"""npuflow-update-arguments: an argument that becomes a result by slices written into it is updated where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import at, element_bytes, element_type_of, empty, moved, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.reshape import expanded
from npuflow.ops.bundle import free_numbers, mark_bundle
from npuflow.ops.bundle_ops import op_problem
from npuflow.ops.contraction import BUNDLE, is_elementwise, only_user, producer
from npuflow.ops.insertions import BECOMES, insertions_into, let_write, result_said, said_updates


@register_pass
@dataclass(frozen=True)
class UpdateArguments(Pass):
    """Lets arguments be written to that say which result takes their place, where that writes some slices of them.

    What a slice holds is a bundle then, whose result goes where it belongs at once; the rest of the argument stays as
    it is, and nothing is copied. Where something else reads the argument as it was, or all of the result is made anew,
    the result is a tensor of its own, which a remark says.

        func.func @append(%cache: tensor<64x32xf32> {npu.becomes = 0 : i64}, %x: ...) -> tensor<64x32xf32> {
          %row = linalg.generic ... ins(%x : ...) outs(... : tensor<1x32xf32>)
          %r = tensor.insert_slice %row into %cache[9, 0] [1, 32] [1, 1]
          return %r

    becomes

        func.func @append(%cache: tensor<64x32xf32> {bufferization.writable = true, npu.becomes = 0 : i64}, %x: ...) ...
          %row = linalg.generic ... ins(%x : ...) outs(... : tensor<1x32xf32>) attrs = {npu.bundle = 0}
          %r = tensor.insert_slice %row into %cache[9, 0] [1, 32] [1, 1]
          return %r
    """

    name = "npuflow-update-arguments"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for function in ops_of(op, "func.func"):
            said = {} if function.opview.is_external else said_updates(function)
            for problem in _problems(function, said):
                context.error(function, *problem)
            if context.failed:
                return
            updated = {number: inserts for number in said if (inserts := insertions_into(function, number))}
            for number in said:
                _tell(function, number, updated.get(number, []), context)
            for insert in (insert for inserts in updated.values() for insert in inserts):
                mark_bundle([_maker(insert)], next(free_numbers(function)))
            let_write(function, set(updated))
            context.count("arguments updated", len(updated))


def _problems(function: ir.Operation, said: Mapping[int, ir.Attribute]) -> Iterator[tuple[str, str]]:
    """What is wrong with what arguments say, as (what, hint)."""
    kinds, taken = function.opview.type, dict[int, int]()
    for number, attribute in said.items():
        result = result_said(attribute)
        what = f"argument {number} of @{function.opview.name.value} becomes "
        if result is None or not 0 <= result < len(kinds.results):
            has = f"0 to {len(kinds.results) - 1}" if kinds.results else "none"
            yield f"{what}{attribute}, which is no result of it", f"give {BECOMES} the number of a result: {has}"
        elif kinds.results[result] != kinds.inputs[number]:
            types = f"which is {kinds.results[result]} and not {kinds.inputs[number]}"
            yield f"{what}result {result}, {types}", "only a tensor of the same type takes an argument's place"
        elif taken.setdefault(result, number) != number:
            yield f"{what}result {result}, as argument {taken[result]} does", "let a result take one argument's place"


def _tell(function: ir.Operation, number: int, inserts: list[ir.Operation], context: PassContext) -> None:
    if not inserts:
        what = f"argument {number} stays as it is, and the result that it becomes is a tensor of its own"
        context.remark(function, f"{what}: more is made of it, or read, than slices that are written into it")
        return
    argument = function.regions[0].blocks[0].arguments[number]
    written = sum(prod(shape_of(insert.operands[0])) for insert in inserts)
    size, what = element_bytes(element_type_of(argument)), f"argument {number} is updated where it lies"
    context.remark(function, f"{what}: {written * size} of its {prod(shape_of(argument)) * size} bytes are written")


def _maker(insert: ir.Operation) -> ir.Operation:
    """The op that makes what is inserted, for nobody else and in the shape that it has there, or one that moves it."""
    found = producer(insert.operands[0], "linalg.generic")
    shape = [int(size) for size in ir.DenseI64ArrayAttr(insert.opview.static_sizes)]
    if found is not None and _is_own(found, insert) and shape_of(found.results[0]) == shape:
        return found
    with at(insert):
        made = _moved(insert.operands[0], shape, insert)
    insert.operands[0] = made
    return made.owner.operation


def _is_own(op: ir.Operation, insert: ir.Operation) -> bool:
    is_free = BUNDLE not in op.attributes and len(op.results) == 1 and only_user(op.results[0]) == insert
    return is_free and is_elementwise(op) and op_problem(op) is None


def _moved(value: ir.Value, shape: list[int], at_op: ir.Operation) -> ir.Value:
    """A value moved by an op, with dimensions of one where its own shape lacks them.

    What is read has a dimension of one in front, which keeps MLIR from taking it for a copy that nobody needs.
    """
    own = shape_of(value)
    wide = expanded(value, [1, *own], [[0, 1], *([d] for d in range(2, len(own) + 1))] if own else [], at_op=at_op)
    loops, place = [], 0
    for d, size in enumerate(shape):
        if place < len(own) and size == own[place] and len(shape) - d >= len(own) - place:
            loops.append(d)
            place += 1
    read = [ir.AffineExpr.get_constant(0), *(ir.AffineExpr.get_dim(d) for d in loops)]
    written = [ir.AffineExpr.get_dim(d) for d in range(len(shape))]
    maps = (ir.AffineMap.get(len(shape), 0, dims) for dims in (read, written))
    return moved(wide, empty(shape, element_type_of(value)), *maps)
