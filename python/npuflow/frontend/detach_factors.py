"""npuflow-detach-factors: what a sum of products computes of a factor, again for each product, is an op in front."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import at, element_bytes, element_type_of
from npuflow.core.copies import cloned
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.split_body import Part, needed_for, rest_of, split_body
from npuflow.ops.contraction import BUNDLE, producer
from npuflow.ops.factors import EXTENSIONS, factor_of, product_of
from npuflow.ops.linear import linear_maps


@register_pass
@dataclass(frozen=True)
class DetachFactors(Pass):
    """Lets sums of products read factors that an elementwise op has made, where they compute them by themselves.

    An element of a factor is multiplied again and again, and made once then. Windows stay as they are, as do squares,
    whose factors are multiplied once, and factors that would take more memory than what they are made of.

        %r = linalg.generic ... ins(%x, %w : tensor<64x32xf32>, ...) { arith.mulf ... arith.addf }

    becomes

        %t = linalg.generic ... ins(%x : tensor<64x32xf32>) outs(... : tensor<64x32xbf16>) { arith.mulf arith.truncf }
        %r = linalg.generic ... ins(%t, %w : tensor<64x32xbf16>, ...) { arith.extf ... arith.addf }
    """

    name = "npuflow-detach-factors"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            if BUNDLE in generic.attributes or not _reads_plainly(generic):
                continue
            parts = _computed_factors(generic)
            if parts:
                split_body(generic, [*parts, rest_of(generic, parts)])
                context.count("factors detached", len(parts))


def _reads_plainly(op: ir.Operation) -> bool:
    """Whether an op's operands follow a loop in each dimension: its factors are tensors, and no windows of some."""
    maps = linear_maps(op)
    return maps is not None and all(dim.loop is not None for dims in maps for dim in dims)


def _computed_factors(op: ir.Operation) -> list[Part]:
    """The ops that make a factor, for each that is not read as it is, nor larger than what it is made of.

    Where the other factor is of the type that both are multiplied in, one that is extended is made in that type too:
    nobody multiplies two types.
    """
    product = product_of(op)
    values = list(product.operands) if product is not None else []
    if len(set(values)) < len(values):
        return []
    kept = [_kept_type(op, value) for value in values]
    found: list[Part] = []
    for place, value in enumerate(values):
        factor = factor_of(op, value)
        if factor is None:
            return []
        is_mixed = kept[place] not in (None, value.type) and kept[1 - place] == value.type
        if kept[place] is None or (factor.is_bare and not is_mixed):
            continue
        part = needed_for(value if is_mixed else _unextended(value))
        found.append(part if not found or set(part).isdisjoint(found[0]) else _copied(product, place, part))
    return [part for part in found if part]


def _kept_type(op: ir.Operation, value: ir.Value) -> ir.Type | None:
    """The type that a factor is read in, from memory; None where it is rather computed each time."""
    factor, made = factor_of(op, value), _unextended(value)
    if factor is None or factor.is_bare:
        return made.type
    read = sum(element_bytes(element_type_of(op.operands[number])) for number in factor.inputs)
    return made.type if element_bytes(made.type) <= read else None


def _copied(product: ir.Operation, number: int, part: Part) -> Part:
    """The ops that make a factor once more, where it has some in common with the other one."""
    values: dict[ir.Value, ir.Value] = {}
    extension = producer(product.operands[number], *EXTENSIONS)
    reader, place = (product, number) if extension is None else (extension, 0)
    with at(reader):
        for each in part:
            values.update(zip(each.results, cloned(each, values)))
    reader.operands[place] = values[reader.operands[place]]
    copies = tuple(values[each.results[0]].owner.operation for each in part)
    for each in reversed(part):
        if not any(True for _ in each.results[0].uses):
            each.erase()
    return copies


def _unextended(value: ir.Value) -> ir.Value:
    """A factor in the type that it is computed in."""
    made = producer(value, *EXTENSIONS) if not isinstance(value.owner, ir.Block) else None
    return value if made is None else made.operands[0]
