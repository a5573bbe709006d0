"""npuflow-join-scales: what both factors of a sum of products are scaled by, one of them is."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import after_value, element_type_of, empty, generic_op, shape_of
from npuflow.core.copies import cloned, erase_unused
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.product_layers import ProductLayer, moved_like, product_layers
from npuflow.ops.contraction import is_elementwise, producer
from npuflow.ops.linear import input_count, maps_of


@register_pass
@dataclass(frozen=True)
class JoinScales(Pass):
    """Scales the smaller factor of a sum of products of f32 by what the larger one is scaled by, too.

    PyTorch's attention scales queries and keys each by the root of what scores are scaled by: with a cache, all keys
    for each token.

        %a = linalg.generic ... ins(%q : tensor<4x64xf32>) { arith.mulf %in, %c }
        %b = linalg.generic ... ins(%k : tensor<64x2048xf32>) { arith.mulf %in, %d }
        %s = linalg.matmul ins(%a, %b : ...) outs(...)

    becomes

        %a = linalg.generic ... ins(%q : tensor<4x64xf32>) { arith.mulf %in, %c }
        %r = linalg.generic ... ins(%a : tensor<4x64xf32>) { arith.mulf %in, %d }
        %s = linalg.matmul ins(%r, %k : ...) outs(...)

    That changes roundings, so it is in no pipeline: `--compute-type` runs it, and what it makes is the program that
    others are compared with.
    """

    name = "npuflow-join-scales"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        unread: list[ir.Operation] = []
        for layer in product_layers(op):
            scales = [_scale_at(origin) for origin in layer.origins]
            if scales[0] is not None and scales[1] is not None:
                sizes = [prod(shape_of(layer.op.operands[factor])) for factor in layer.factors]
                larger = int(sizes[1] >= sizes[0])
                unread += [layer.op.operands[factor].owner.operation for factor in layer.factors]
                _join(layer, larger, scales[larger] or scales[0])
                context.count("scales joined")
        erase_unused(unread)


def _scale_at(value: ir.Value) -> ir.Operation | None:
    """The op that makes a tensor of another one of the same shape by multiplying each element by a constant."""
    op = producer(value, "linalg.generic")
    if op is None or not is_elementwise(op) or input_count(op) != 1 or len(op.results) != 1:
        return None
    if len(set(maps_of(op))) > 1 or element_type_of(op.operands[0]) != element_type_of(value):
        return None
    block = op.regions[0].blocks[0]
    inside = [inner.operation for inner in block.operations]
    read = [inner for inner in inside[:-1] if any(value in block.arguments for value in inner.operands)]
    yielded = inside[-1].operands[0]
    is_product = len(read) == 1 and read[0].name == "arith.mulf" and yielded == read[0].results[0]
    return op if is_product and [v for v in read[0].operands if v in block.arguments] == [block.arguments[0]] else None


def _join(layer: ProductLayer, larger: int, scale: ir.Operation) -> None:
    """Has the other factor be scaled as the larger one is, which is read as it was before."""
    smaller = 1 - larger
    before = layer.origins[smaller]
    with after_value(before):
        scaled = _scaled(before, scale)
    for factor, other in ((larger, scale.operands[0]), (smaller, scaled)):
        place = layer.factors[factor]
        layer.op.operands[place] = moved_like(layer.op.operands[place], layer.origins[factor], other)


def _scaled(value: ir.Value, scale: ir.Operation) -> ir.Value:
    """A tensor whose elements are multiplied as another op does it with its own."""
    shape, kind = shape_of(value), element_type_of(value)
    same = ir.AffineMap.get_identity(len(shape))
    made = generic_op([value], [empty(shape, kind)], [same, same], ["parallel"] * len(shape))
    source = scale.regions[0].blocks[0]
    with ir.InsertionPoint(made.regions[0].blocks.append(kind, kind)) as point:
        values = dict(zip(source.arguments, point.block.arguments))
        for inner in ops_of(scale)[:-1]:
            values.update(zip(inner.results, cloned(inner, values)))
        linalg.YieldOp([values[list(source.operations)[-1].operation.operands[0]]])
    return made.results[0]
