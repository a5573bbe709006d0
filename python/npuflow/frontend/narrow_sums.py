"""npuflow-narrow-sums: what is summed up wide and then cut off is summed up in the result's type."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, shape_of, zero
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.contraction import Contraction, contractions, fill_of, is_matmul, tail_of

_UNSIGNED = ("arith.extui", "arith.uitofp")


@register_pass
@dataclass(frozen=True)
class NarrowSums(Pass):
    """Accumulates in the result's type where a matmul's sum is cut off to it at once.

        %r = linalg.matmul ins(%a, %b : tensor<..xbf16>, ...) outs(%zeros : tensor<..xf32>)
        %t = linalg.generic ... ins(%r : ...) { arith.truncf }

    becomes

        %t = linalg.generic ... ins(%a, %b : ...) outs(%zeros : tensor<..xbf16>) { arith.mulf, arith.addf }

    For sums that begin at 0, of factors no wider than the result, behind which there is nothing but the cast.
    Accumulators take less of L1, so that blocks can be larger: many published designs do so.

    Truncated integers are the same, modulo 2^n. Floats are rounded at every step, which changes results. So pipelines
    have this pass with `bits` alone: PyTorch's products of integers come summed up in i64, which no array does, and cut
    off. Whoever wants more runs npuflow-opt with it first, and what that writes is the program then.
    """

    name = "npuflow-narrow-sums"
    group = "frontend"
    counts_changes = True
    bits: int | None = option(None, "make only sums of integers of more bits narrower, of so many bits")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        narrowed = 0
        for contraction in contractions(op):
            tail = tail_of(contraction) if is_matmul(contraction) else None
            kind = self._kind_of(contraction, tail) if tail is not None and _is_cast(tail) else None
            if kind is not None and _can_narrow(contraction, kind):
                _narrow(contraction, tail, kind)
                narrowed += 1
        context.count("sums narrowed", narrowed)
        if narrowed:
            run_upstream(op, "canonicalize,cse")

    def _kind_of(self, contraction: Contraction, tail: ir.Operation) -> ir.Type | None:
        """What is summed up in; None where this leaves the sum as it is."""
        wide, cut_off = element_type_of(contraction.op.results[0]), element_type_of(tail.results[0])
        if self.bits is None:
            return cut_off
        is_wider = isinstance(wide, ir.IntegerType) and wide.width > self.bits >= cut_off.width
        return ir.IntegerType.get_signless(self.bits, wide.context) if is_wider else None


def _is_cast(tail: ir.Operation) -> bool:
    """Whether an op does nothing but cut its one input off."""
    body = list(tail.regions[0].blocks[0].operations)
    if len(tail.operands) != 2 or len(body) != 2:
        return False
    cast, arguments = body[0].operation, tail.regions[0].blocks[0].arguments
    return cast.name in ("arith.truncf", "arith.trunci") and cast.operands[0] == arguments[0]


def _can_narrow(contraction: Contraction, kind: ir.Type) -> bool:
    op, start = contraction.op, fill_of(contraction)
    if start is None or "cast" in op.attributes or any(inner.name in _UNSIGNED for inner in ops_of(op)):
        return False
    factors = [element_type_of(value) for value in (contraction.lhs, contraction.rhs)]
    if not all(one == kind or (type(one) is type(kind) and one.width < kind.width) for one in factors):
        return False
    owner = start.operands[0].owner
    number = owner.operation if not isinstance(owner, ir.Block) else None
    return (
        number is not None and number.name == "arith.constant" and str(number.attributes["value"])[:2] in ("0 ", "0.")
    )


def _narrow(contraction: Contraction, tail: ir.Operation, kind: ir.Type) -> None:
    op = contraction.op
    with at(tail):
        zeros = fill(zero(kind), empty(shape_of(tail.results[0]), kind))
        maps = [ir.AffineMapAttr(map_).value for map_ in linalg.get_indexing_maps(op)]
        kinds = ["reduction" if loop in contraction.k else "parallel" for loop in range(contraction.rank)]
        made = generic_op([contraction.lhs, contraction.rhs], [zeros], maps, kinds)
        block = made.regions[0].blocks.append(*(element_type_of(v) for v in (contraction.lhs, contraction.rhs, zeros)))
        with ir.InsertionPoint(block):
            left, right = (_widened(value, kind) for value in block.arguments[:2])
            linalg.YieldOp([_sum(block.arguments[2], left, right, kind)])
        result = _cut_off(made.results[0], element_type_of(tail.results[0]))
    tail.results[0].replace_all_uses_with(result)
    tail.erase()
    op.erase()


def _cut_off(value: ir.Value, kind: ir.Type) -> ir.Value:
    """The same in a narrower type of integers."""
    if element_type_of(value) == kind:
        return value
    rank = len(shape_of(value))
    each = ir.AffineMap.get_identity(rank)
    made = generic_op([value], [empty(shape_of(value), kind)], [each, each], ["parallel"] * rank)
    with ir.InsertionPoint(made.regions[0].blocks.append(element_type_of(value), kind)) as point:
        linalg.YieldOp([arith.TruncIOp(kind, point.block.arguments[0]).result])
    return made.results[0]


def _widened(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    return arith.ExtFOp(kind, value).result if isinstance(kind, ir.FloatType) else arith.ExtSIOp(kind, value).result


def _sum(so_far: ir.Value, left: ir.Value, right: ir.Value, kind: ir.Type) -> ir.Value:
    if isinstance(kind, ir.FloatType):
        return arith.AddFOp(so_far, arith.MulFOp(left, right).result).result
    return arith.AddIOp(so_far, arith.MulIOp(left, right).result).result
