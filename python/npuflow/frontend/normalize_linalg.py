"""npuflow-normalize-linalg: one spelling for every matmul group."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, linalg, passmanager
from npuflow.core.build import apply_steps, at, element_type_of, empty, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.contraction import (
    LHS,
    RHS,
    Contraction,
    contractions,
    is_elementwise,
    producer,
)


@register_pass
@dataclass(frozen=True)
class NormalizeLinalg(Pass):
    """Folds transposes into matmuls and makes everything elementwise behind a matmul one linalg.generic.

        %bt = linalg.transpose ins(%b : tensor<64x32xf32>) outs(...) permutation = [1, 0]
        %r = linalg.matmul ins(%a, %bt : ...) outs(%f : ...)
        %s = linalg.add ins(%r, %c : ...) outs(...)
        %t = linalg.max ins(%s, %zeros : ...) outs(...)

    becomes

        %r = linalg.matmul indexing_maps = [...] ins(%a, %b : ...) outs(%f : ...)
        %t = linalg.generic ... ins(%r, %c : ...) { arith.addf ... arith.maximumf ... }
    """

    name = "npuflow-normalize-linalg"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        _run_upstream(op, "convert-elementwise-to-linalg")
        for contraction in contractions(op):
            for index in (LHS, RHS):
                context.count("transposes folded", _fold_transposes(contraction, index))
        for named in ops_of(op):
            if _is_named_elementwise(named):
                apply_steps(
                    named, "%g = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op"
                )
        for generic in ops_of(op, "linalg.generic"):
            if _reads_output(generic):
                _make_output_input(generic)
                context.count("outputs made inputs")
        _run_upstream(op, "linalg-fuse-elementwise-ops,canonicalize,cse")


def _run_upstream(op: ir.Operation, passes: str) -> None:
    manager = passmanager.PassManager("any")
    manager.add(passes)
    manager.run(op)


def _is_named_elementwise(op: ir.Operation) -> bool:
    """A named linalg op on tensors with parallel loops only, fills and copies excepted."""
    return op.name in _ELEMENTWISE and bool(op.results)


_ELEMENTWISE = frozenset(
    f"linalg.{name}"
    for name in (
        "abs add broadcast ceil div div_unsigned elementwise elemwise_binary elemwise_unary erf exp floor log map max "
        "min mul negf powf reciprocal round rsqrt select sqrt square sub tanh transpose"
    ).split()
)


def _reads_output(op: ir.Operation) -> bool:
    """Whether an elementwise op uses what its output held before."""
    if not is_elementwise(op) or not isinstance(op.results[0].type, ir.RankedTensorType):
        return False
    before = op.regions[0].blocks[0].arguments[-1]
    return any(True for _ in before.uses)


def _make_output_input(op: ir.Operation) -> None:
    """Lets the op read its output as one more input and write an empty tensor: there is one way to read, then."""
    output = op.operands[len(op.operands) - 1]
    maps = list(ir.ArrayAttr(op.attributes["indexing_maps"]))
    block = op.regions[0].blocks[0]
    with at(op):
        target = empty(shape_of(output), element_type_of(output))
        attributes = dict(op.attributes.items())
        attributes["indexing_maps"] = ir.ArrayAttr.get([*maps, maps[-1]])
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(op.operands), 1])
        operands = [*op.operands, target]
        replacement = ir.Operation.create(op.name, [output.type], operands, attributes, regions=1)
        block.add_argument(element_type_of(output), op.location)
    block.append_to(replacement.regions[0])
    op.results[0].replace_all_uses_with(replacement.results[0])
    op.erase()


def _fold_transposes(contraction: Contraction, index: int) -> int:
    """Reads a transposed operand as it lies, by changing the operand's indexing map; returns how many were folded."""
    op = contraction.op
    count = 0
    while (transpose := producer(op.operands[index], "linalg.transpose")) is not None:
        permutation = list(ir.DenseI64ArrayAttr(transpose.attributes["permutation"]))
        if not _can_index(op, permutation):
            break
        op.attributes["indexing_maps"] = _composed_maps(op, index, permutation)
        op.operands[index] = transpose.operands[0]
        count += 1
    return count


def _can_index(op: ir.Operation, permutation: list[int]) -> bool:
    """Whether an op may read an operand that way: a named batch_matmul keeps its batch loop in front."""
    if "indexing_maps" not in op.attributes:
        return False
    return op.name != "linalg.batch_matmul" or permutation[0] == 0


def _composed_maps(op: ir.Operation, index: int, permutation: list[int]) -> ir.ArrayAttr:
    maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(op)]
    results = list(maps[index].results)
    source: list[ir.AffineExpr] = [results[0]] * len(results)
    for position, dimension in enumerate(permutation):
        source[dimension] = results[position]
    maps[index] = ir.AffineMap.get(maps[index].n_dims, 0, source)
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
