"""What keeps an elementwise op from being compiled, as `(what, hint)`. Reads IR and changes nothing."""

from __future__ import annotations

from npuflow.bindings import ir, linalg
from npuflow.ops.bundle_ops import Problem, body_problem


def tail_problem(op: ir.Operation) -> Problem | None:
    """What stands against an elementwise op that consumes a matmul's result."""
    if (problem := body_problem(op)) is not None:
        return problem
    for index, attribute in enumerate(linalg.get_indexing_maps(op)):
        map_ = ir.AffineMapAttr(attribute).value
        if not _is_plain(map_):
            what = f"operand {index} of {op.name} is indexed by {map_}"
            return what, "index it by loops, each at most once, and 0"
    return None


def _is_plain(map_: ir.AffineMap) -> bool:
    loops = [r.position for r in map_.results if isinstance(r, ir.AffineDimExpr)]
    zeros = [r for r in map_.results if isinstance(r, ir.AffineConstantExpr) and r.value == 0]
    return len(loops) + len(zeros) == len(map_.results) and len(set(loops)) == len(loops)
