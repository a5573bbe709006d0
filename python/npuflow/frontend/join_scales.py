"""npuflow-join-scales: what both factors of a sum of products, or all of it, are scaled by, one of them is."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import after_value, element_type_of, empty, generic_op, shape_of
from npuflow.core.copies import cloned, erase_unused
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.product_layers import ProductLayer, moved_like, product_layers
from npuflow.ops.bundle_ops import is_filled_with_zeros
from npuflow.ops.contraction import is_elementwise, producer
from npuflow.ops.linear import input_count, maps_of
from npuflow.ops.reshapes import readers, unreshaped


@register_pass
@dataclass(frozen=True)
class JoinScales(Pass):
    """Scales the smaller factor of a sum of products of f32 by what the larger one is scaled by, too, or the sum.

    PyTorch's attention scales queries and keys each by the root of what scores are scaled by: with a cache, all keys
    for each token. Others scale the scores, of which there are more than of either. Weights aren't scaled for that.

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
        while scaled := [*filter(None, map(_scaled_before, reversed(product_layers(op))))]:
            unread += scaled  # the last layers first: their factors may be what others' scales make
            context.count("scales joined", len(scaled))
        erase_unused(unread)


def _scaled_before(layer: ProductLayer) -> ir.Operation | None:
    """Has a factor be scaled instead of the sum; returns the op that did that, if one does."""
    scale, smaller = _scale_behind(layer), _smaller(layer)
    if scale is None or smaller is None:
        return None
    _scale_factor(layer, smaller, scale)
    scale.results[0].replace_all_uses_with(scale.operands[0])
    return scale


def _scale_behind(layer: ProductLayer) -> ir.Operation | None:
    """The op that alone reads a sum, perhaps in another shape, and multiplies or divides each element by a constant."""
    found = readers(layer.op.results[0])
    scale = _scale_at(found[0].results[0]) if len(found) == 1 and len(found[0].results) == 1 else None
    if scale is None or unreshaped(scale.operands[0]) != layer.op.results[0] or not _reads_constants_alone(scale):
        return None
    return scale


def _smaller(layer: ProductLayer) -> int | None:
    """The factor of fewer elements, if both are data, there are no more of it than of sums, and these begin with 0.

    An op, or the caller, must make it: to scale what is joined of several takes an op more.
    """
    names = ["" if (made := producer(origin)) is None else str(made.name) for origin in layer.origins]
    if not is_filled_with_zeros(layer.op.operands[2]) or "arith.constant" in names:
        return None
    sizes = [prod(shape_of(origin)) for origin in layer.origins]
    smaller = sizes.index(min(sizes))
    is_made = names[smaller] == "" or names[smaller].startswith("linalg.")
    return smaller if is_made and sizes[smaller] <= prod(shape_of(layer.op.results[0])) else None


def _scale_at(value: ir.Value) -> ir.Operation | None:
    """The op that multiplies each element of another tensor of the same shape by a constant, or divides it by one."""
    op = producer(value, "linalg.generic")
    if op is None or not is_elementwise(op) or input_count(op) != 1 or len(op.results) != 1:
        return None
    if len(set(maps_of(op))) > 1 or element_type_of(op.operands[0]) != element_type_of(value):
        return None
    block = op.regions[0].blocks[0]
    inside = [inner.operation for inner in block.operations]
    read = [inner for inner in inside[:-1] if any(value in block.arguments for value in inner.operands)]
    if len(read) != 1 or inside[-1].operands[0] != read[0].results[0]:
        return None
    scaled = [place for place, value in enumerate(read[0].operands) if value in block.arguments]
    is_scale = scaled == [0] if read[0].name == "arith.divf" else read[0].name == "arith.mulf" and len(scaled) == 1
    return op if is_scale and read[0].operands[scaled[0]] == block.arguments[0] else None


def _join(layer: ProductLayer, larger: int, scale: ir.Operation) -> None:
    """Has the other factor be scaled as the larger one is, which is read as it was before."""
    _scale_factor(layer, 1 - larger, scale)
    place = layer.factors[larger]
    layer.op.operands[place] = moved_like(layer.op.operands[place], layer.origins[larger], scale.operands[0])


def _scale_factor(layer: ProductLayer, factor: int, scale: ir.Operation) -> None:
    place, before = layer.factors[factor], layer.origins[factor]
    with after_value(before):
        scaled = _scaled(before, scale)
    layer.op.operands[place] = moved_like(layer.op.operands[place], before, scaled)


def _scaled(value: ir.Value, scale: ir.Operation) -> ir.Value:
    """A tensor whose elements are multiplied as another op does it with its own."""
    shape, kind = shape_of(value), element_type_of(value)
    same = ir.AffineMap.get_identity(len(shape))
    made = generic_op([value], [empty(shape, kind)], [same, same], ["parallel"] * len(shape))
    source = scale.regions[0].blocks[0]
    with ir.InsertionPoint(made.regions[0].blocks.append(kind, kind)) as point:
        values = dict(zip(source.arguments, point.block.arguments))
        for inner in (*_constants_of(scale), *ops_of(scale)[:-1]):
            values.update(zip(inner.results, cloned(inner, values)))
        linalg.YieldOp([values[list(source.operations)[-1].operation.operands[0]]])
    return made.results[0]


def _constants_of(op: ir.Operation) -> list[ir.Operation]:
    """The constants around an op that its body reads."""
    read = dict.fromkeys(value for inner in ops_of(op) for value in inner.operands)
    found = [constant for value in read if (constant := producer(value, "arith.constant")) is not None]
    return [constant for constant in found if constant.block != op.regions[0].blocks[0]]


def _reads_constants_alone(scale: ir.Operation) -> bool:
    """Whether nothing but constants is needed to scale something elsewhere."""
    body = scale.regions[0].blocks[0]
    known = {*body.arguments, *(made for inner in (*ops_of(scale), *_constants_of(scale)) for made in inner.results)}
    return all(value in known for inner in ops_of(scale) for value in inner.operands)
