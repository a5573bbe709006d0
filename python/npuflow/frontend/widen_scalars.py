"""npuflow-widen-scalars: every op has a parallel loop."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, linalg, tensor
from npuflow.core.build import at, element_type_of, empty, fill
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.contraction import producer, users
from npuflow.frontend.linear import input_count, is_reduction, iterators


@register_pass
@dataclass(frozen=True)
class WidenScalars(Pass):
    """Gives ops whose results are tensors without dimensions a parallel loop of one, and results of one element.

    Cores are given work by splitting parallel loops; such an op has none. Who reads the result reads the one element.

        %r = linalg.generic ... iterator_types = ["reduction"] ins(%x : tensor<64xf32>) outs(%f : tensor<f32>)

    becomes

        %s = linalg.generic ... iterator_types = ["reduction", "parallel"] ins(%x) outs(%g : tensor<1xf32>)
        %r = tensor.collapse_shape %s [] : tensor<1xf32> into tensor<f32>
    """

    name = "npuflow-widen-scalars"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            if generic.results and all(is_reduction(generic, loop) for loop in range(len(iterators(generic)))):
                _widen(generic)
                context.count("scalars widened")
        for collapse in ops_of(op, "tensor.collapse_shape"):
            if ir.RankedTensorType(collapse.results[0].type).rank == 0:
                _read_through(collapse)


def _widen(op: ir.Operation) -> None:
    """The op with one more loop, along which its results and nothing else go."""
    loops, inputs = len(iterators(op)), input_count(op)
    maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(op)]
    new = ir.AffineExpr.get_dim(loops)
    with at(op):
        wide = [ir.AffineMap.get(loops + 1, 0, [new] if i >= inputs else list(m.results)) for i, m in enumerate(maps)]
        outputs = [_wide_start(value) for value in list(op.operands)[inputs:]]
        attributes = dict(op.attributes.items())
        attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in wide])
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        attributes["iterator_types"] = ir.ArrayAttr.get([*ir.ArrayAttr(op.attributes["iterator_types"]), parallel])
        operands = [*list(op.operands)[:inputs], *outputs]
        replacement = ir.Operation.create(op.name, [v.type for v in outputs], operands, attributes, regions=1)
        op.regions[0].blocks[0].append_to(replacement.regions[0])
        for old, result in zip(op.results, replacement.results):
            old.replace_all_uses_with(tensor.CollapseShapeOp(old.type, result, []).result)
    op.erase()


def _wide_start(value: ir.Value) -> ir.Value:
    """What a result starts from, as a tensor of one element."""
    element = element_type_of(value)
    filled = producer(value, "linalg.fill")
    if filled is not None:
        return fill(filled.operands[0], empty([1], element))
    if producer(value, "tensor.empty") is not None:
        return empty([1], element)
    return tensor.ExpandShapeOp(ir.RankedTensorType.get([1], element), value, [], [], [1]).result


def _read_through(collapse: ir.Operation) -> None:
    """Lets linalg.generics read the one element instead of the tensor without dimensions."""
    result, source = collapse.results[0], collapse.operands[0]
    for reader in users(result):
        if reader.name != "linalg.generic":
            continue
        loops = iterators(reader)
        own = loops.index("#linalg.iterator_type<parallel>") if _is_scalar(reader) else None
        index = ir.AffineExpr.get_constant(0) if own is None else ir.AffineExpr.get_dim(own)
        maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(reader)]
        for number in range(input_count(reader)):
            if reader.operands[number] == result:
                reader.operands[number] = source
                maps[number] = ir.AffineMap.get(len(loops), 0, [index])
        reader.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
    if not any(True for _ in result.uses):
        collapse.erase()


def _is_scalar(op: ir.Operation) -> bool:
    """Whether an op's results are of one element, along its only parallel loop."""
    parallel = [kind for kind in iterators(op) if "parallel" in kind]
    return len(parallel) == 1 and all(ir.RankedTensorType(result.type).shape == [1] for result in op.results)
