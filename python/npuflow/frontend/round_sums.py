"""npuflow-round-sums: what is read of a sum as rounded alone is rounded where it is summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from npuflow.bindings import ir
from npuflow.core.build import at, element_bytes, element_type_of, empty, generic_op, reassociation_of, shape_of
from npuflow.core.copies import erase_unused
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.meeting_sums import sum_of_products
from npuflow.frontend.reshape import collapsed, expanded
from npuflow.frontend.split_body import Part, needed_for, rest_of, split_body
from npuflow.ops.contraction import BUNDLE, is_elementwise, only_user, producer, users
from npuflow.ops.linear import input_count, maps_of


@register_pass
@dataclass(frozen=True)
class RoundSums(Pass):
    """Rounds a sum of products by an op of its own if who reads it can be the tail of another one.

    An elementwise op behind two sums of products is the tail of one of them. It reads the other from memory, which is
    narrower if what is computed of it alone, up to where that is rounded, goes there. Where all are rounded, the op
    stays behind the last one that has its shape.

        %t = linalg.generic ... ins(%g, %u : tensor<8x32xf32>, tensor<8x32xf32>) { arith.truncf %in ... arith.mulf }

    becomes

        %n = linalg.generic ... ins(%g : tensor<8x32xf32>) outs(... : tensor<8x32xbf16>) { arith.truncf }
        %t = linalg.generic ... ins(%n, %u : tensor<8x32xbf16>, tensor<8x32xf32>) { ... arith.mulf }
    """

    name = "npuflow-round-sums"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for reader in ops_of(op, "linalg.generic"):
            sums = _sums_of(reader) if BUNDLE not in reader.attributes and is_elementwise(reader) else []
            parts = {number: part for number in sums if (part := _rounded_part(reader, number, sums))}
            chosen = dict(list(parts.items())[: max(0, len(sums) - 1)])
            values = [reader.operands[number] for number in chosen]
            if chosen:
                split_body(reader, [*chosen.values(), rest_of(reader, list(chosen.values()))])
            for value in values:
                _move_before_reshape(value)
                context.count("sums rounded where they are made")


def _sums_of(reader: ir.Operation) -> list[int]:
    """The operands that are sums of products which an op alone reads, element by element.

    Those come last behind which the op can stay: which have its shape, and of these the one that is made last.
    """
    written, found = maps_of(reader)[-1], []
    for number, read in enumerate(maps_of(reader)[: input_count(reader)]):
        value, made = reader.operands[number], _sum_behind(reader.operands[number])
        if made is not None and read == written and only_user(value) is not None:
            found.append((value.owner.operation == made, _place(made), number))
    return [number for *_, number in sorted(found)]


def _sum_behind(value: ir.Value) -> ir.Operation | None:
    """The sum of products that a value is, or is alone in a shape with more dimensions."""
    reshape = producer(value, "tensor.collapse_shape")
    is_alone = reshape is not None and only_user(reshape.operands[0]) is not None
    return sum_of_products(reshape.operands[0] if reshape is not None and is_alone else value)


def _place(op: ir.Operation) -> int:
    return next(place for place, child in enumerate(op.block.operations) if child.operation == op)


def _rounded_part(reader: ir.Operation, number: int, sums: Sequence[int]) -> Part:
    """The ops of a body up to the last one that makes an operand narrowest, if nothing else needs what they make."""
    arguments = reader.regions[0].blocks[0].arguments
    others = {arguments[other] for other in sums if other != number}
    most = element_bytes(element_type_of(reader.operands[number])) - 1
    found: Part = ()
    for end in ops_of(reader):
        part = needed_for(end.results[0]) if end.results else ()
        if arguments[number] in {value for each in part for value in each.operands}:
            made = [arguments[number], *(each.results[0] for each in part if each != end)]
            is_apart = all(user in part for value in made for user in users(value))
            reads_others = not others.isdisjoint(value for each in part for value in each.operands)
            is_plain = not any(each.regions or not each.operands for each in part)
            if is_apart and is_plain and not reads_others and element_bytes(end.results[0].type) <= most:
                found, most = part, element_bytes(end.results[0].type)
    return found


def _move_before_reshape(value: ir.Value) -> None:
    """Lets the op that alone reads a reshaped value read it as it was, and reshapes what that makes."""
    reshape, op = producer(value, "tensor.collapse_shape"), only_user(value)
    if reshape is None or op is None or not all(map_.is_projected_permutation for map_ in maps_of(op)):
        return
    source, groups = reshape.operands[0], reassociation_of(reshape)
    shape = shape_of(source)
    along = [[groups[ir.AffineDimExpr(dim).position] for dim in read.results] for read in maps_of(op)]
    loops = [[ir.AffineExpr.get_dim(loop) for group in own for loop in group] for own in along]
    with at(op):
        inputs = [
            source if operand == value else _expanded_along(operand, own, shape, op)
            for operand, own in zip(list(op.operands)[:-1], along)
        ]
        out = empty(shape, element_type_of(op.results[0]))
        maps = [ir.AffineMap.get(len(shape), 0, own) for own in loops]
        made = generic_op(inputs, [out], maps, ["parallel"] * len(shape))
        op.regions[0].blocks[0].append_to(made.regions[0])
        result = collapsed(made.results[0], groups)
    op.results[0].replace_all_uses_with(result)
    erase_unused([op, reshape])


def _expanded_along(
    value: ir.Value, groups: Sequence[Sequence[int]], shape: Sequence[int], reader: ir.Operation
) -> ir.Value:
    """A tensor with a dimension for each loop of these groups, of which each of its own becomes one."""
    ends = list(accumulate(map(len, groups), initial=0))
    dims = [list(range(begin, end)) for begin, end in pairwise(ends)]
    return expanded(value, [shape[loop] for group in groups for loop in group], dims, at_op=reader)
