"""npuflow-compute-parts: what is computed of a tensor that is put together is computed of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir, tensor
from npuflow.core.build import at, element_bytes, element_type_of, empty, is_static, shape_of, slice_along
from npuflow.core.copies import erase_unused, remade
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import is_elementwise, only_user, operand_loops, producer, users
from npuflow.ops.linear import input_count
from npuflow.ops.reshapes import unreshaped

_CONCAT = "tensor.concat"
# Parts that nothing is computed for, or others read as well: each takes an op of its own then.
_MOST_OTHERS = 1


@register_pass
@dataclass(frozen=True)
class ComputeParts(Pass):
    """Does what an elementwise op does with a concatenation that nobody else reads with each of its parts.

    So it is done by who makes the parts, who can write them where they belong (`npuflow-join-in-place`), and what is
    rounded is rounded before it is put together. Numbers don't get wider so.

        %r = tensor.concat dim(0) %a, %b : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>
        %s = linalg.generic ... ins(%r : tensor<8xf32>) outs(%e : tensor<8xbf16>) { arith.truncf }

    becomes

        %c = linalg.generic ... ins(%a : tensor<3xf32>) outs(%f : tensor<3xbf16>) { arith.truncf }
        %d = linalg.generic ... ins(%b : tensor<5xf32>) outs(%g : tensor<5xbf16>) { arith.truncf }
        %s = tensor.concat dim(0) %c, %d : (tensor<3xbf16>, tensor<5xbf16>) -> tensor<8xbf16>
    """

    name = "npuflow-compute-parts"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        waiting = ops_of(op, _CONCAT)
        while waiting:
            concat = waiting.pop()
            loop = _joined_loop(concat)
            if loop is not None:
                waiting.append(_computed(concat, loop))
                context.count("ops on concatenations")


def _joined_loop(concat: ir.Operation) -> int | None:
    """The loop along which its only reader goes through a concatenation, if that can be computed of the parts."""
    reader = only_user(concat.results[0])
    if reader is None or not is_static(concat) or not is_elementwise(reader) or ops_of(reader, "linalg.index"):
        return None
    made, read = reader.results[0], concat.results[0]
    loops, number = operand_loops(reader), list(reader.operands).index(read)
    block, own = reader.regions[0].blocks[0], loops[number]
    if number >= input_count(reader) or any(True for _ in block.arguments[len(loops) - 1].uses):
        return None
    if sorted(own) != loops[-1] or element_bytes(element_type_of(made)) > element_bytes(element_type_of(read)):
        return None
    loop = own[_dimension(concat)]
    beside = ((value, each) for value, each in zip(reader.operands, loops[:-1]) if loop in each and value != read)
    if not all(_has_parts(value, each.index(loop), concat) for value, each in beside):
        return None
    return loop if sum(not _is_made_for(part, concat) for part in concat.operands) <= _MOST_OTHERS else None


def _dimension(concat: ir.Operation) -> int:
    return int(ir.IntegerAttr(concat.attributes["dim"]).value)


def _has_parts(value: ir.Value, dimension: int, concat: ir.Operation) -> bool:
    """Whether a value has the parts of a concatenation: constants have any, and so does what is put together alike."""
    if producer(value, "arith.constant") is not None:
        return True
    other = producer(value, _CONCAT)
    return other is not None and _dimension(other) == dimension and _sizes(other) == _sizes(concat)


def _sizes(concat: ir.Operation) -> list[int]:
    return [shape_of(part)[_dimension(concat)] for part in concat.operands]


def _is_made_for(part: ir.Value, concat: ir.Operation) -> bool:
    """Whether an op makes a part for a concatenation alone."""
    maker = producer(unreshaped(part))
    return maker is not None and maker.name.startswith("linalg.") and users(part) == [concat]


def _computed(concat: ir.Operation, loop: int) -> ir.Operation:
    """Computes of the parts what the only reader does; the concatenation of that."""
    (reader,) = users(concat.results[0])
    sizes, loops, shape = _sizes(concat), operand_loops(reader), shape_of(reader.results[0])
    element, made, begin = element_type_of(reader.results[0]), list[ir.Value](), 0
    with at(reader):
        for part, size in zip(concat.operands, sizes, strict=True):
            operands = [
                part if value == concat.results[0] else _part(value, own, loop, begin, size)
                for value, own in zip(list(reader.operands)[:-1], loops)
            ]
            out = empty([size if d == loop else whole for d, whole in enumerate(shape)], element)
            made.append(remade(reader, [*operands, out]).results[0])
            begin += size
        joined = tensor.ConcatOp(reader.results[0].type, loop, made)
    reader.results[0].replace_all_uses_with(joined.result)
    erase_unused([reader])
    return joined.operation


def _part(value: ir.Value, loops: Sequence[int], loop: int, begin: int, size: int) -> ir.Value:
    """What an op on a part reads of an operand: of what follows a loop so many from `begin` on."""
    return slice_along(value, loops.index(loop), begin, size) if loop in loops else value
