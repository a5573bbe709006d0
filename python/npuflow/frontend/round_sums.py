"""npuflow-round-sums: what is read of a sum as rounded alone is rounded where it is summed up."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, linalg
from npuflow.core.build import at, empty, generic_op, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import BUNDLE, is_elementwise, match_contraction, only_user, producer
from npuflow.ops.linear import input_count, maps_of

_ROUNDINGS = ("arith.truncf", "arith.trunci")


@register_pass
@dataclass(frozen=True)
class RoundSums(Pass):
    """Rounds a sum of products by an op of its own if who reads it can be the tail of another one.

    An elementwise op behind two sums of products is the tail of one of them. It reads the other from memory, which is
    narrower if it is rounded before it goes there; where both are rounded, the op stays behind the last one.

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
            rounded = [number for number in sums if _rounding_of(reader, number) is not None]
            for number in rounded[: len(sums) - 1]:
                _round_first(reader, number)
                context.count("sums rounded where they are made")


def _sums_of(reader: ir.Operation) -> list[int]:
    """The operands that are sums of products which an op alone reads, element by element, the one made last behind."""
    written = maps_of(reader)[-1]
    found = []
    for number, read in enumerate(maps_of(reader)[: input_count(reader)]):
        made = producer(reader.operands[number])
        if made is not None and match_contraction(made) is not None and read == written:
            found += [number] if only_user(made.results[0]) is not None else []
    place = {child.operation: i for i, child in enumerate(reader.block.operations)}
    return sorted(found, key=lambda number: place[reader.operands[number].owner.operation])


def _rounding_of(reader: ir.Operation, number: int) -> ir.Operation | None:
    """The op that alone uses an operand in a body, if that rounds it."""
    user = only_user(reader.regions[0].blocks[0].arguments[number])
    return user if user is not None and user.name in _ROUNDINGS else None


def _round_first(reader: ir.Operation, number: int) -> None:
    """Rounds an operand by an op right behind the one that makes it."""
    rounding, value = _rounding_of(reader, number), reader.operands[number]
    assert rounding is not None
    kind, shape = rounding.results[0].type, shape_of(value)
    same = ir.AffineMap.get_identity(len(shape))
    with at(value.owner.operation, after=True):
        made = generic_op([value], [empty(shape, kind)], [same, same], ["parallel"] * len(shape))
    block = made.regions[0].blocks.append(rounding.operands[0].type, kind, arg_locs=[rounding.location] * 2)
    with ir.InsertionPoint(block), rounding.location:
        attributes = dict(rounding.attributes)
        narrow = ir.Operation.create(rounding.name, [kind], [block.arguments[0]], attributes)
        linalg.YieldOp([narrow.results[0]])
    reader.operands[number] = made.results[0]
    argument = reader.regions[0].blocks[0].arguments[number]
    rounding.results[0].replace_all_uses_with(argument)
    rounding.erase()
    argument.set_type(kind)
