"""npuflow-drop-unit-dims: dimensions that were kept with one element where a tensor was reduced are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import is_static, reassociation_of, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.fewer_dims import rewrite_without
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.contraction import BUNDLE, is_elementwise, is_parallel, producer
from npuflow.ops.linear import (
    Linear,
    input_count,
    linear_maps,
    loop_extents,
    maps_of,
    set_maps,
)
from npuflow.ops.reshapes import unreshaped

_EXPAND = "tensor.expand_shape"
Dims = tuple[Linear, ...]


@register_pass
@dataclass(frozen=True)
class DropUnitDims(Pass):
    """Leaves out dimensions of one element that an op writes or reads at a constant, and ops' loops that go along them.

    Who reduces a tensor often keeps its number of dimensions. So that all ops of a norm share the loops that they have
    in common, and none but these, the dimension is left out until somebody needs it.

        %s = linalg.generic {indexing_maps = [..., (d0, d1) -> (d0, 0)]} ins(%x) outs(... : tensor<8x1xf32>)
        %r = linalg.generic {indexing_maps = [(d0, d1) -> (d0, d1), ...]} ins(%s) ... -> tensor<8x1xf32> { math.rsqrt }
        %y = linalg.generic {indexing_maps = [..., (d0, d1) -> (d0, 0), ...]} ins(%x, %r) ...

    becomes

        %s = linalg.generic {indexing_maps = [..., (d0, d1) -> (d0)]} ins(%x) outs(... : tensor<8xf32>)
        %r = linalg.generic {indexing_maps = [(d0) -> (d0), ...]} ins(%s) ... -> tensor<8xf32> { math.rsqrt }
        %y = linalg.generic {indexing_maps = [..., (d0, d1) -> (d0), ...]} ins(%x, %r) ...

    Dimensions of one element that tensor.expand_shape adds are left out in the same way, and those of arguments that
    are read at 0, as a mask of all heads: upstream's passes move reshapes through permutations only. Of others an
    elementwise op may read the one element at 0, or along its own loop of one step: it is made the latter, as in a
    matmul's tail. Bundles stay what they are.
    """

    name = "npuflow-drop-unit-dims"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        changed = 0
        for generic in ops_of(op, "linalg.generic"):
            is_plain = linear_maps(generic) is not None and not ops_of(generic, "linalg.index")
            if BUNDLE in generic.attributes or not is_plain or not generic.results or not is_static(generic):
                continue
            _read_along_loops(generic)
            maps = linear_maps(generic) or []
            loops = _loops_to_drop(generic, maps)
            dims = [_dims_to_drop(generic, number, own, loops) for number, own in enumerate(maps)]
            if any(dims):
                rewrite_without(generic, loops, dims)
                changed += 1
        if changed:
            context.count("ops with fewer dimensions", changed)
            run_upstream(op, "canonicalize,cse")


def _read_along_loops(op: ir.Operation) -> None:
    """Lets an elementwise op read a dimension's only element along the result's dimension in the same place."""
    dims, extents, maps = linear_maps(op) or [], loop_extents(op), maps_of(op)
    if not is_elementwise(op):
        return
    for number, value in enumerate(list(op.operands)[: input_count(op)]):
        own, added = dims[number], _added(value)
        if not own or len(own) != len(extents):
            continue
        at_zero = [d for d, size in enumerate(shape_of(value)) if size == extents[d] == 1 and own[d] == Linear()]
        along = {d: ir.AffineExpr.get_dim(d) for d in at_zero if d not in added}
        maps[number] = ir.AffineMap.get(len(extents), 0, [along.get(d, r) for d, r in enumerate(maps[number].results)])
    set_maps(op, maps)


def _loops_to_drop(op: ir.Operation, maps: Sequence[Dims]) -> list[int]:
    """An elementwise op's loops of one step, along what an expand_shape adds or nothing that is read."""
    extents = loop_extents(op)
    inputs = list(zip(op.operands, maps))[: input_count(op)]
    added = {dims[d].loop for value, dims in inputs for d in _added(value)}
    found = []
    for loop in range(len(extents)) if is_parallel(op) else ():
        along = [value for value, dims in inputs if any(loop == own for dim in dims for own, _ in dim.terms)]
        is_made = any(_is_computed(value) for value in along)
        is_plain = all(dim.loop == loop or loop not in dict(dim.terms) for dims in maps for dim in dims)
        if extents[loop] == 1 and (loop in added or not along) and is_plain and not is_made:
            found.append(loop)
    return found if len(found) < len(extents) else found[1:]


def _is_computed(value: ir.Value) -> bool:
    source = producer(value)
    return source is not None and source.name.startswith("linalg.") and source.name != "linalg.fill"


def _is_argument(value: ir.Value) -> bool:
    """Whether a function is given a tensor of several elements, perhaps in another shape."""
    return isinstance(unreshaped(value).owner, ir.Block) and prod(shape_of(value)) > 1


def _added(value: ir.Value) -> list[int]:
    """The dimensions of one element that an expand_shape adds to a tensor."""
    expand = producer(value, _EXPAND)
    if expand is None:
        return []
    shape, found = shape_of(value), []
    for dims in reassociation_of(expand):
        kept = next((d for d in dims if shape[d] != 1), dims[0])
        found += [d for d in dims if d != kept and shape[d] == 1]
    return found if shape_of(expand.operands[0]) else list(range(len(shape)))


def _dims_to_drop(op: ir.Operation, number: int, dims: Dims, loops: Sequence[int]) -> list[int]:
    """The dimensions of an operand along loops that are dropped, or of one element at a constant place."""
    value = op.operands[number]
    if not isinstance(value.type, ir.ShapedType):
        return []
    is_open = number >= input_count(op) or _is_argument(value)
    constant = range(len(dims)) if is_open else _added(value)
    at_zero = [d for d in constant if not dims[d].terms and dims[d].constant == 0 and shape_of(value)[d] == 1]
    return sorted({*at_zero, *(d for d, dim in enumerate(dims) if dim.loop in loops)})
