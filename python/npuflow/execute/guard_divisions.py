"""Integer divisions that cannot trap: a CPU stops a program for what an NPU's core just computes something for.

Blocks that overhang an edge are computed on the zeros there, and what comes of it is dropped. What is divided by zero,
or overflows, is undefined in MLIR, so any number will do.
"""

from __future__ import annotations

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of

_UNSIGNED = ("arith.divui", "arith.remui", "arith.ceildivui")
_SIGNED = ("arith.divsi", "arith.remsi", "arith.ceildivsi", "arith.floordivsi")
INTEGER_DIVISIONS = (*_UNSIGNED, *_SIGNED)


def divides_integers(root: ir.Operation) -> bool:
    """Whether anything below `root` divides integers."""
    return bool(ops_of(root, *INTEGER_DIVISIONS))


def guard_divisions(root: ir.Operation) -> None:
    """Lets every scalar integer division divide by one where it would divide by zero or overflow."""
    for op in ops_of(root, *INTEGER_DIVISIONS):
        kind = op.results[0].type
        if not isinstance(kind, ir.IntegerType):
            continue
        with at(op):
            one, zero = (arith.ConstantOp(kind, ir.IntegerAttr.get(kind, n)).result for n in (1, 0))
            bad = arith.CmpIOp(arith.CmpIPredicate.eq, op.operands[1], zero).result
            if op.name in _SIGNED and kind.width > 1:
                bad = arith.OrIOp(bad, _overflows(op, kind)).result
            op.operands[1] = arith.SelectOp(bad, one, op.operands[1]).result


def _overflows(op: ir.Operation, kind: ir.IntegerType) -> ir.Value:
    """Whether the smallest number is divided by minus one."""
    smallest = arith.ConstantOp(kind, ir.IntegerAttr.get(kind, -(2 ** (kind.width - 1)))).result
    minus_one = arith.ConstantOp(kind, ir.IntegerAttr.get(kind, -1)).result
    is_smallest = arith.CmpIOp(arith.CmpIPredicate.eq, op.operands[0], smallest).result
    is_minus_one = arith.CmpIOp(arith.CmpIPredicate.eq, op.operands[1], minus_one).result
    return arith.AndIOp(is_smallest, is_minus_one).result
