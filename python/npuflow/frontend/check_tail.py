"""What keeps an elementwise op from being compiled, as `(what, hint)`. Reads IR and changes nothing."""

from __future__ import annotations

from npuflow.bindings import ir, linalg
from npuflow.core.passes import ops_of
from npuflow.frontend.contraction import is_elementwise, match_contraction, operand_loops, producer, users

Problem = tuple[str, str]


def tail_problem(op: ir.Operation) -> Problem | None:
    """What stands against an elementwise op that consumes a matmul's result."""
    if ops_of(op, "linalg.index"):
        hint = "give the positions as a tensor operand; packing changes what linalg.index counts"
        return f"{op.name} computes with the position of an element (linalg.index)", hint
    inside = [inner for inner in ops_of(op) if any(isinstance(v.type, ir.ShapedType) for v in inner.operands)]
    if inside:
        return f"{op.name} reads a tensor from inside of its body ({inside[0].name})", "make the tensor an operand"
    for index, attribute in enumerate(linalg.get_indexing_maps(op)):
        map_ = ir.AffineMapAttr(attribute).value
        if not _is_plain(map_):
            what = f"operand {index} of {op.name} is indexed by {map_}"
            return what, "index it by loops, each at most once, and constants"
    return None


def _is_plain(map_: ir.AffineMap) -> bool:
    loops = [r.position for r in map_.results if isinstance(r, ir.AffineDimExpr)]
    rest = [r for r in map_.results if not isinstance(r, (ir.AffineDimExpr, ir.AffineConstantExpr))]
    return not rest and len(set(loops)) == len(loops)


def alone_problem(op: ir.Operation) -> Problem:
    """Why an op with parallel loops only is no matmul's tail."""
    sums = [value for value in op.operands if _is_sum(value)]
    if not sums:
        return f"elementwise {op.name} reads no matmul's result", "put it behind a matmul, which it is fused with"
    uses = max(len(users(value)) for value in sums)
    if uses > 1:
        hint = "let only one elementwise op use it, or compute it twice"
        return f"elementwise {op.name} reads a matmul's result that is used {uses} times", hint
    if len(op.results) != 1:
        return f"elementwise {op.name} has {len(op.results)} results", "split it into one op for each"
    if sums[0] == op.operands[len(op.operands) - 1]:
        return f"elementwise {op.name} takes a matmul's result as its output", "make it an input, and the output empty"
    loops = operand_loops(op)
    if not is_elementwise(op):
        return (
            f"elementwise {op.name} writes along loops {loops[-1]}",
            f"write along {sorted(loops[-1])}, loops in order",
        )
    position = list(op.operands).index(sums[0])
    what = f"elementwise {op.name} reads a matmul's result along loops {loops[position]}, but writes along {loops[-1]}"
    return what, "let the matmul write in that order itself, by its indexing maps"


def _is_sum(value: ir.Value) -> bool:
    op = producer(value)
    return op is not None and match_contraction(op) is not None
