"""A matmul with its tail as the strategy sees it: sizes, types, what the tail reads. Reads IR and changes nothing."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of
from npuflow.ops.contraction import INIT, RHS, Contraction, fill_of, operand_loops, root_of, tail_of
from npuflow.strategy.describe_vector import describe_vector_work
from npuflow.strategy.footprint import Problem, TailOperand


def types_of(contraction: Contraction) -> tuple[str, str, str]:
    """The element types of operands and sum."""
    lhs, rhs, acc = (str(element_type_of(v)) for v in (contraction.lhs, contraction.rhs, contraction.init))
    return lhs, rhs, acc


def problem_of(contraction: Contraction) -> Problem:
    """The group's sizes and types, as the strategy sees them."""
    sizes = contraction.loop_sizes()
    batch = 1
    for loop in contraction.batch:
        batch *= sizes[loop]
    lhs, rhs, acc = (element_type_of(v) for v in (contraction.lhs, contraction.rhs, contraction.init))
    tail = tail_of(contraction)
    return Problem(
        m=sizes[contraction.m[0]],
        n=sizes[contraction.n[0]],
        k=sizes[contraction.k[0]],
        batch=batch,
        types=types_of(contraction),
        lhs_bytes=element_bytes(lhs),
        rhs_bytes=element_bytes(rhs),
        acc_bytes=element_bytes(acc),
        result_bytes=element_bytes(element_type_of(root_of(contraction).results[0])),
        has_tail=tail is not None,
        is_filled=fill_of(contraction) is not None,
        tail_operands=_tail_operands(contraction, tail),
        rhs_along_k=operand_loops(contraction.op)[RHS][-1] == contraction.k[0],
        tail=None if tail is None else describe_vector_work(tail),
    )


def _tail_operands(contraction: Contraction, tail: ir.Operation | None) -> tuple[TailOperand, ...]:
    if tail is None:
        return ()
    tensors = (i for i, value in enumerate(list(tail.operands)[:-1]) if isinstance(value.type, ir.ShapedType))
    return tuple(tail_operand(contraction, tail, i) for i in tensors if tail.operands[i] != contraction.result)


def tail_operand(contraction: Contraction, tail: ir.Operation, index: int) -> TailOperand:
    """What a tail reads as one of its operands, and how that varies along the matmul's m and n."""
    result_loops = operand_loops(contraction.op)[INIT]
    along = {result_loops[loop] for loop in operand_loops(tail)[index] if loop >= 0}
    element = element_bytes(element_type_of(tail.operands[index]))
    return TailOperand(contraction.m[0] in along, contraction.n[0] in along, element)
