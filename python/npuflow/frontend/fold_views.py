"""npuflow-fold-views: transposes and broadcasts are read through instead of computed."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.slices_first import slices_first
from npuflow.ops.contraction import is_parallel, match_contraction
from npuflow.ops.linear import composed, maps_of

_MAPS = "indexing_maps"


@register_pass
@dataclass(frozen=True)
class FoldViews(Pass):
    """Lets ops read a transposed or broadcast tensor as it lies, by their indexing maps.

        %t = linalg.generic {indexing_maps = [(d0, d1) -> (d1, d0), (d0, d1) -> (d0, d1)]} ins(%b : ...) { yield %in }
        %r = linalg.matmul ins(%a, %t : ...) outs(%f : ...)

    becomes

        %r = linalg.matmul indexing_maps = [..., (d0, d1, d2) -> (d1, d2), ...] ins(%a, %b : ...) outs(%f : ...)

    That needs all users to be linalg ops that can read it so: named matmuls and contractions take transposes only,
    linalg.batch_matmul such that keep the batch loop in front, and an op whose loop would lose the operand that gives
    it its size keeps what it reads. Else the tensor is computed. A slice of a transposed tensor is one of what was
    transposed, and transposed itself.
    """

    name = "npuflow-fold-views"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for view in ops_of(op, "linalg.generic"):
            source = source_map(view) if _only_moves(view) else None
            parts = [] if source is None else slices_first(view, source)
            context.count("slices of views", len(parts))
            context.count("views folded", sum(map(_folded, parts or [view])))


def _folded(view: ir.Operation) -> bool:
    """Lets all users of a view read what it moves, where it lies, if they can."""
    source = source_map(view) if _only_moves(view) else None
    if source is None:
        return False
    uses = [(use.owner.operation, use.operand_number) for use in view.results[0].uses]
    if not uses or not all(can_read_through(user, index, source) for user, index in uses):
        return False
    for user, index in uses:
        user.attributes[_MAPS] = with_map(user, index, source)
        user.operands[index] = view.operands[0]
    view.erase()
    return True


def _only_moves(op: ir.Operation) -> bool:
    body = op.regions[0].blocks[0]
    return len(body.operations) == 1 and body.operations[0].operands[0] == body.arguments[0]


def source_map(op: ir.Operation) -> ir.AffineMap | None:
    """From an element's position in the result to its position in the one tensor that a parallel op reads, if any."""
    if not is_parallel(op) or len(op.operands) != 2 or len(op.results) != 1:
        return None
    if not isinstance(op.operands[0].type, ir.RankedTensorType):
        return None
    read, written = maps_of(op)
    if not written.is_permutation:
        return None
    place = {expression.position: d for d, expression in enumerate(written.results)}
    dims = [ir.AffineExpr.get_dim(place[loop]) for loop in range(written.n_dims)]
    return composed(read, ir.AffineMap.get(written.n_dims, 0, dims))


def can_read_through(op: ir.Operation, index: int, source: ir.AffineMap) -> bool:
    """Whether an op may read operand `index` through a view."""
    if not op.name.startswith("linalg.") or _MAPS not in op.attributes or not op.results:
        return False
    if index >= len(op.operands) - len(op.results):
        return False  # what an op writes to is its own
    is_transpose = source.is_permutation
    if op.name == "linalg.batch_matmul":
        return is_transpose and _is_loop(source.results[0], 0)
    if op.name != "linalg.generic" or match_contraction(op) is not None:
        return is_transpose
    return is_transpose or _gives_sizes(with_map(op, index, source))


def _is_loop(expression: ir.AffineExpr, loop: int) -> bool:
    return isinstance(expression, ir.AffineDimExpr) and expression.position == loop


def _gives_sizes(maps: ir.ArrayAttr) -> bool:
    """Whether every loop is some operand's dimension by itself."""
    all_maps = [ir.AffineMapAttr(m).value for m in maps]
    known = {r.position for map_ in all_maps for r in map_.results if isinstance(r, ir.AffineDimExpr)}
    return len(known) == all_maps[0].n_dims


def with_map(op: ir.Operation, index: int, source: ir.AffineMap) -> ir.ArrayAttr:
    """The op's maps where operand `index` is read through a view."""
    maps = maps_of(op)
    maps[index] = composed(source, maps[index])
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
