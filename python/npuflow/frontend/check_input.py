"""npuflow-check-input: refuses what cannot be compiled, all of it at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.check_tail import tail_problem
from npuflow.frontend.nothing import is_nothing
from npuflow.ops.allowed_ops import ELEMENT_TYPES, problems_in, type_problem
from npuflow.ops.bundle_ops import op_problem, pad_problem, scalar_problem
from npuflow.ops.contraction import Contraction, is_matmul, match_contraction, producer, tail_of
from npuflow.ops.insertions import is_written_in_place
from npuflow.ops.reshapes import unreshaped

_CONTAINERS = ("builtin.module", "func.func")
# Ops that surround a matmul and are folded, fused or kept as they are.
_AROUND = (
    *_CONTAINERS,
    "func.return",
    "arith.constant",
    "tensor.empty",
    "tensor.expand_shape",
    "tensor.extract_slice",
    "tensor.collapse_shape",
    "linalg.fill",
    "transform.named_sequence",
)
_SUPPORTED = (
    "supported are linalg ops on tensors (matmuls, convolutions, pooling, reductions, elementwise ops, softmax), "
    "linalg.fill, tensor.pad with constants, reshapes and slices of static shape, tensor.concat and tensor.insert_slice"
)
_HINTS = {
    "func.call": "functions are inlined that have a body, don't call themselves and make no 10000 calls in all",
    "linalg.softmax": "npuflow-generalize-operators makes it generic",
}


@register_pass
@dataclass(frozen=True)
class CheckInput(Pass):
    """Refuses dynamic shapes, unsupported ops and elementwise ops that belong to no matmul; changes nothing.

    Runs on normalised input (npuflow-normalize-linalg), so that an op's spelling doesn't matter.

        %r = linalg.matmul ins(%a, %b : tensor<?x64xf32>, ...)

    is refused by

        error: linalg.matmul has a dynamic shape (tensor<?x64xf32>); hint: make every size static, ...
    """

    name = "npuflow-check-input"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for function in ops_of(op, "func.func"):
            _check_signature(function, context)
        checks = (_check_types, _check_body, _check_written)
        candidates = [o for o in _program_ops(op) if all(is_fine(o, context) for is_fine in checks)]
        found = {o: c for o in candidates if (c := match_contraction(o)) is not None}
        groups = {o: c for o, c in found.items() if is_matmul(c) or o.name != "linalg.generic"}
        tails = {tail: c for c in groups.values() if (tail := tail_of(c)) is not None}
        for candidate in candidates:
            if candidate in groups:
                _check_contraction(groups[candidate], context)
            elif candidate in tails:
                _report(candidate, tail_problem(candidate), context)
            elif candidate.name == "linalg.generic":
                _report(candidate, op_problem(candidate), context)
            elif candidate.name == "tensor.pad":
                _report(candidate, pad_problem(candidate), context)
            elif candidate.name == "linalg.fill":
                _report(candidate, scalar_problem(candidate, ops_of(candidate)), context)
            elif candidate.name not in _AROUND and not is_written_in_place(candidate):
                hint = _HINTS.get(candidate.name, _SUPPORTED)
                context.error(candidate, f"unsupported op {candidate.name}", hint)


def _program_ops(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops of modules and functions; what lies inside of other ops is theirs."""
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                yield child.operation
                if child.operation.name in _CONTAINERS:
                    yield from _program_ops(child.operation)


def _report(op: ir.Operation, problem: tuple[str, str] | None, context: PassContext) -> None:
    if problem is not None:
        context.error(op, *problem)


def _check_types(op: ir.Operation, context: PassContext) -> bool:
    """Reports the first type of an op that cannot be compiled; what surrounds it would only say the same again."""
    if op.name in _AROUND:
        return True
    problems = (_type_problem(value.type) for value in (*op.operands, *op.results))
    found = next((problem for problem in problems if problem is not None), None)
    if found is not None:
        context.error(op, f"{op.name} {found[0]}", found[1])
    return found is None


def _check_signature(function: ir.Operation, context: PassContext) -> None:
    """Reports what a function takes and no op of it works on, which would say so, and results that are no tensors."""
    name = function.opview.name.value
    blocks = function.regions[0].blocks
    for index, argument in enumerate(blocks[0].arguments if blocks else ()):
        is_used = any(use.owner.operation.name != "func.return" for use in argument.uses)
        is_fine = is_used or is_nothing(argument)
        problem = None if is_fine else _scalar_problem(argument.type) or _type_problem(argument.type)
        if problem is not None:
            context.error(function, f"argument {index} of @{name} {problem[0]}", problem[1])
    for index, kind in enumerate(ir.FunctionType(function.opview.type).results if blocks else ()):
        problem = _scalar_problem(kind)
        if problem is not None:
            context.error(function, f"result {index} of @{name} {problem[0]}", problem[1])


def _scalar_problem(kind: ir.Type) -> tuple[str, str] | None:
    if isinstance(kind, ir.ShapedType):
        return None
    return f"is no tensor ({kind})", f"make it a tensor of one element, as tensor<1x{kind}>, if it is a number"


def _check_body(op: ir.Operation, context: PassContext) -> bool:
    """Reports all that is not allowed in an op's body; what is wrong with it beside that can wait."""
    if not op.name.startswith("linalg.") and op.name != "tensor.pad":
        return True  # it is unsupported itself, or has no body
    found = list(problems_in(op))
    for problem in found:
        context.report(problem.error())
    return not found


def _check_written(op: ir.Operation, context: PassContext) -> bool:
    """Reports elements that are read though nothing has made them."""
    for index, value in enumerate(op.operands):
        if producer(_uncut(value), "tensor.empty") is not None and _reads(op, index):
            hint = "give it a value first, as linalg.fill does"
            context.error(op, f"{op.name} reads a tensor.empty, whose elements nothing has made", hint)
            return False
    return True


def _uncut(value: ir.Value) -> ir.Value:
    """What a value holds elements of, before all reshapes and slices."""
    while (cut := producer(unreshaped(value), "tensor.extract_slice")) is not None:
        value = cut.operands[0]
    return unreshaped(value)


def _reads(op: ir.Operation, index: int) -> bool:
    """Whether an op reads the elements of an operand; reshapes leave that to who reads what they give.

    Of an op without a body, as a softmax that nobody has made generic, it isn't known; it is reported by its name.
    """
    if op.name.startswith("linalg."):
        blocks = op.regions[0].blocks if len(op.regions) else ()
        return any(True for block in blocks for _ in block.arguments[index].uses)
    return op.name in ("func.return", "tensor.pad")


def _type_problem(kind: ir.Type) -> tuple[str, str] | None:
    if isinstance(kind, (ir.MemRefType, ir.UnrankedMemRefType)):
        return f"works on memrefs ({kind})", "give the program on tensors"
    if isinstance(kind, ir.UnrankedTensorType) or (_is_tensor(kind) and not kind.has_static_shape):
        return f"has a dynamic shape ({kind})", "make every size static, as --specialize=%arg0=128x256 does"
    return _tensor_problem(kind) if _is_tensor(kind) else None


def _is_tensor(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType)


def _tensor_problem(kind: ir.RankedTensorType) -> tuple[str, str] | None:
    if 0 in kind.shape:
        return f"has a size of 0 ({kind})", "leave it out: there is nothing to compute"
    if kind.encoding is not None:
        return f"works on tensors with an encoding ({kind})", "give dense tensors without one"
    if str(kind.element_type) not in ELEMENT_TYPES:
        return f"works on elements of type {kind.element_type}", f"use {', '.join(ELEMENT_TYPES)}"
    return type_problem(kind)


def _check_contraction(contraction: Contraction, context: PassContext) -> None:
    op = contraction.op
    counts = {"m": len(contraction.m), "n": len(contraction.n), "k": len(contraction.k)}
    wrong = [f"{count} {role} loops" for role, count in counts.items() if count != 1]
    if wrong:
        hint = "reshape it to a matmul with one m, n and k loop, and batch loops"
        context.error(op, f"{op.name} has {' and '.join(wrong)}", hint)
    body = {inner.operation.name for inner in op.regions[0].blocks[0].operations}
    if not body & {"arith.muli", "arith.mulf"}:
        context.error(op, f"{op.name} does not multiply and add", "use arith.muli and arith.addi, or mulf and addf")
