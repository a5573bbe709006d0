"""npuflow-widen-scalars: every op has a parallel loop, and ops around a scalar share it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import ir, tensor
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import is_parallel, producer, users
from npuflow.ops.linear import input_count, iterators, maps_of, set_maps


@register_pass
@dataclass(frozen=True)
class WidenScalars(Pass):
    """Gives ops whose results are tensors without dimensions a parallel loop of one, in front, and so their results.

    Cores are given work by splitting parallel loops; such an op has none. Elementwise ops that read such a result, and
    something that it was reduced from, get the loop as well, and those in front that only they read. It is what they
    have in common then: a softmax of a vector is one bundle.

        %s = linalg.generic ... iterator_types = ["reduction"] ins(%x : tensor<64xf32>) outs(%f : tensor<f32>)
        %r = linalg.generic ... iterator_types = ["parallel"] ins(%x, %s : ...) outs(%e : tensor<64xf32>)

    becomes

        %t = linalg.generic ... iterator_types = ["parallel", "reduction"] ins(%x) outs(%g : tensor<1xf32>)
        %u = linalg.generic ... iterator_types = ["parallel", "parallel"] ins(%x, %t) outs(%h : tensor<1x64xf32>)
        %r = tensor.collapse_shape %u [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    """

    name = "npuflow-widen-scalars"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        found = ops_of(op, "linalg.generic")
        scalars = [generic for generic in found if generic.results and _is_scalar(generic)]
        sharing = _sharing(found, scalars)
        wide: dict[ir.Value, ir.Value] = {}
        for generic, is_to_widen in [(generic, generic in scalars or generic in sharing) for generic in found]:
            if is_to_widen:
                _widen(generic, wide)
            else:
                _read_elements(generic, wide)
        context.count("scalars widened", len(scalars))
        context.count("ops around them widened", len(sharing))
        for narrow in reversed([value.owner.operation for value in wide]):
            if not users(narrow.results[0]):
                narrow.erase()


def _is_scalar(op: ir.Operation) -> bool:
    return "parallel" not in iterators(op)


def _sharing(found: list[ir.Operation], scalars: list[ir.Operation]) -> set[ir.Operation]:
    """The elementwise ops that go with scalars."""
    around: set[ir.Operation] = set()
    for op in found:
        if is_parallel(op) and op not in scalars and _reads_what_it_scales(op, scalars):
            around.add(op)
    for op in reversed(found):
        if is_parallel(op) and op not in scalars and _is_in_front(op, around, scalars):
            around.add(op)
    return around


def _reads_what_it_scales(op: ir.Operation, scalars: list[ir.Operation]) -> bool:
    """Whether an op reads a scalar, and a tensor that it was reduced from."""
    own = {value for value in _inputs(op) if shape_of(value)}
    return any(own & _reduced(s) for v in _inputs(op) if (s := producer(v)) is not None and s in scalars)


def _reduced(scalar: ir.Operation) -> set[ir.Value]:
    """The tensors that a scalar depends on."""
    found: set[ir.Value] = set()
    left = list(_inputs(scalar))
    while left:
        value = left.pop()
        source = producer(value, "linalg.generic")
        if value not in found and source is not None:
            left += _inputs(source)
        found.add(value)
    return {value for value in found if shape_of(value)}


def _is_in_front(op: ir.Operation, around: set[ir.Operation], scalars: list[ir.Operation]) -> bool:
    """Whether ops around scalars, and nobody else, read what an op makes of nothing that is summed or multiplied."""
    readers = [user for result in op.results for user in users(result)]
    sources = [source for value in _inputs(op) if (source := producer(value)) is not None]
    return (
        any(reader in around for reader in readers)
        and all(reader in around or reader in scalars for reader in readers)
        and all(is_parallel(s) or s in scalars or not s.name.startswith("linalg.") for s in sources)
    )


def _inputs(op: ir.Operation) -> Iterator[ir.Value]:
    return (value for value in list(op.operands)[: input_count(op)] if isinstance(value.type, ir.ShapedType))


def _widen(op: ir.Operation, wide: dict[ir.Value, ir.Value]) -> None:
    """The op with one more loop in front, which its results go along, and what it reads of others so `wide`."""
    loops, inputs = len(iterators(op)), input_count(op)
    first, *others = (ir.AffineExpr.get_dim(loop) for loop in range(loops + 1))
    shift = ir.AffineMap.get(loops + 1, 0, others)
    maps = []
    for number, (value, map_) in enumerate(zip(op.operands, maps_of(op))):
        results = [result.compose(shift) for result in map_.results]
        is_wide = number >= inputs or value in wide
        maps.append(ir.AffineMap.get(loops + 1, 0, [first, *results] if is_wide else results))
    with at(op):
        outputs = [wide.get(value) or _wide_start(value) for value in list(op.operands)[inputs:]]
        read = [wide.get(value, value) for value in list(op.operands)[:inputs]]
        made = generic_op(read, outputs, maps, ["parallel", *iterators(op)], dict(op.attributes))
        op.regions[0].blocks[0].append_to(made.regions[0])
        for old, new in zip(op.results, made.results):
            narrow = tensor.CollapseShapeOp(old.type, new, _with_first(old)).result
            old.replace_all_uses_with(narrow)
            wide[narrow] = new
    op.erase()


def _with_first(value: ir.Value) -> list[list[int]]:
    """Which dimensions make those of a tensor, one more in front: that one goes with the first, if there is any."""
    rank = len(shape_of(value))
    return [[0, 1], *([d + 1] for d in range(1, rank))] if rank else []


def _wide_start(value: ir.Value) -> ir.Value:
    """What a result starts from, as a tensor of one more dimension."""
    shape, element = [1, *shape_of(value)], element_type_of(value)
    filled = producer(value, "linalg.fill")
    if filled is not None:
        return fill(filled.operands[0], empty(shape, element))
    if producer(value, "tensor.empty") is not None:
        return empty(shape, element)
    kind = ir.RankedTensorType.get(shape, element)
    return tensor.ExpandShapeOp(kind, value, _with_first(value), [], shape).result


def _read_elements(op: ir.Operation, wide: dict[ir.Value, ir.Value]) -> None:
    """Lets an op that has no loop of one read the one element instead of the tensor without dimensions."""
    maps = maps_of(op)
    scalars = [i for i in range(input_count(op)) if op.operands[i] in wide and not shape_of(op.operands[i])]
    for number in scalars:
        maps[number] = ir.AffineMap.get(maps[number].n_dims, 0, [ir.AffineExpr.get_constant(0)])
        op.operands[number] = wide[op.operands[number]]
    if scalars:
        set_maps(op, maps)
