"""npuflow-collapse-contractions: contractions in more dimensions than they need become matmuls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import at, element_bytes, element_type_of, shape_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.join_sums import join_sums
from npuflow.frontend.kept_strategies import strategies_kept
from npuflow.frontend.loop_groups import Dims, collapsed_dims, loop_groups
from npuflow.frontend.reshape import Grouped, expanded, regroup
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.chains import chains_of
from npuflow.ops.contraction import BUNDLE, is_elementwise, is_head, is_parallel, match_contraction, only_user, producer
from npuflow.ops.linear import input_count, is_reduction, iterators, linear_maps, loop_extents
from npuflow.ops.products import keep_reshaped

_PRODUCT = frozenset({"arith.muli", "arith.mulf"})
_SUM = frozenset({"arith.addi", "arith.addf"})
_CASTS = frozenset({"arith.extsi", "arith.extui", "arith.extf", "arith.trunci", "arith.truncf", "linalg.yield"})


@register_pass
@dataclass(frozen=True)
class CollapseContractions(Pass):
    """Makes a linalg.generic that sums products a matmul: loops of size 1 go, loops side by side become one.

    A 1x1 convolution with stride 1 is one: its windows have size 1, its pixels lie side by side.

        %r = linalg.generic ... ins(%x, %w : tensor<1x14x14x64xi8>, tensor<1x1x64x32xi8>) outs(%f : ...)
        %t = linalg.generic ... ins(%r, %bias : tensor<1x14x14x32xi32>, tensor<32xi32>) ... { arith.addi }

    becomes

        %x2 = tensor.collapse_shape %x [[0, 1, 2], [3]] : tensor<1x14x14x64xi8> into tensor<196x64xi8>
        %w2 = tensor.collapse_shape %w [[0, 1, 2], [3]] : tensor<1x1x64x32xi8> into tensor<64x32xi8>
        %r2 = linalg.generic ... ins(%x2, %w2 : ...) outs(%f2 : tensor<196x32xi32>)
        %t2 = linalg.generic ... ins(%r2, %bias : tensor<196x32xi32>, tensor<32xi32>) ... { arith.addi }
        %t = tensor.expand_shape %t2 ... : tensor<196x32xi32> into tensor<1x14x14x32xi32>

    The fill in front of it and the elementwise op behind it go along, and so does an elementwise op in front that makes
    a factor of fewer bytes, as of bf16 an f32: it can be in the matmul's bundle then. Nothing moves: the elements keep
    their order. Sums of products with a softmax between them keep the loops that they have in common with it, unless
    `chains`. What remains of several dimensions that are summed along is one loop where both factors have them side by
    side.
    """

    name = "npuflow-collapse-contractions"
    group = "frontend"
    counts_changes = True
    chains: bool = option(False, "collapse those as well that a reduction, as of a softmax, leads to another one from")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        collapsed = 0
        kept = [] if self.chains else _in_chains(op)
        with strategies_kept(op):
            for generic in [each for each in ops_of(op, "linalg.generic") if _may_be_collapsed(each)]:
                groups = _matmul_groups(generic) if generic not in kept else None
                if groups is not None:
                    _collapse(generic, groups, context)
                collapsed += groups is not None or join_sums(generic)
        context.count("contractions collapsed", collapsed)
        if collapsed:
            run_upstream(op, "canonicalize,cse")


def _in_chains(root: ir.Operation) -> list[ir.Operation]:
    """Sums of products that reductions are between: what these go along would be in other loops than what is summed.

    They are listed, as an op's hash changes with what it reads.
    """
    chains = (chain for function in ops_of(root, "func.func") for chain in chains_of(function))
    return [op for chain in chains if chain.reduces_between for op in (chain.first, chain.second)]


def _matmul_groups(op: ir.Operation) -> list[tuple[int, ...]] | None:
    """The op's loops as batch loops, m, n and k; None where it is no matmul, or one already."""
    if BUNDLE in op.attributes or len(op.operands) != 3 or len(op.results) != 1 or not _sums_products(op):
        return None
    found = match_contraction(op)
    if found is not None and (len(found.m), len(found.n), len(found.k)) == (1, 1, 1):
        return None
    if any(producer(value, "tensor.pad") is not None for value in op.operands):
        return None  # a bundle pads on the way into L2, a matmul doesn't
    operands = _plain_dims(op)
    if operands is None:
        return None
    reductions = frozenset(loop for loop in range(len(iterators(op))) if is_reduction(op, loop))
    groups = loop_groups(operands, reductions)
    return _by_role(groups, operands) if all(collapsed_dims(dims, groups) for dims in operands) else None


def _may_be_collapsed(op: ir.Operation) -> bool:
    """Whether an op sums products; no tail does, which is erased with the sum in front of it."""
    return _sums_products(op) and not is_parallel(op)


def _sums_products(op: ir.Operation) -> bool:
    """Whether the body multiplies once and adds once, casts aside."""
    names = [inner.name for inner in ops_of(op)]
    return (
        sum(name in _PRODUCT for name in names) == 1
        and sum(name in _SUM for name in names) == 1
        and all(name in _PRODUCT | _SUM | _CASTS for name in names)
    )


def _plain_dims(op: ir.Operation) -> list[Dims] | None:
    """The loop that each operand's dimensions follow, loops of size 1 left out; None where one isn't that plain."""
    maps = linear_maps(op)
    if maps is None or not all(
        isinstance(v.type, ir.RankedTensorType) and v.type.has_static_shape for v in op.operands
    ):
        return None
    extents = loop_extents(op)
    operands: list[Dims] = []
    for value, dims in zip(op.operands, maps):
        loops: list[int | None] = []
        for size, dim in zip(shape_of(value), dims):
            terms = [(loop, factor) for loop, factor in dim.terms if extents[loop] != 1]
            is_loop = len(terms) == 1 and terms[0][1] == 1 and extents[terms[0][0]] == size
            if dim.constant or not (is_loop or (not terms and size == 1)):
                return None
            loops.append(terms[0][0] if terms else None)
        operands.append(loops)
    return operands


def _by_role(groups: list[tuple[int, ...]], operands: Sequence[Dims]) -> list[tuple[int, ...]] | None:
    """Batch groups, m, n, k in this order, m being in front in the output; None unless there is one each of m, n, k."""
    lhs, rhs, out = ({loop for loop in dims if loop is not None} for dims in operands)
    in_order = sorted(groups, key=lambda g: operands[2].index(g[0]) if g[0] in out else len(operands[2]))
    batch = [g for g in in_order if g[0] in lhs & rhs & out]
    rows_and_columns = [g for g in in_order if g[0] in (lhs ^ rhs) & out]
    k = [g for g in in_order if g[0] in (lhs & rhs) - out]
    sides = {g[0] in lhs for g in rows_and_columns}
    if len(rows_and_columns) != 2 or len(sides) != 2 or len(k) != 1:
        return None
    roles = [*batch, *rows_and_columns, *k]
    return roles if len(roles) == len(groups) else None


def is_collapsible(op: ir.Operation) -> bool:
    """Whether a sum of products can be a matmul."""
    return _may_be_collapsed(op) and (match_contraction(op) is not None or _matmul_groups(op) is not None)


def copy_as_matmul(op: ir.Operation) -> ir.Operation | None:
    """The matmul that a sum of products can be collapsed to, beside it, on its own operands; None where it is none."""
    groups = _matmul_groups(op) if op.name == "linalg.generic" and _may_be_collapsed(op) else None
    if groups is None:
        return None
    with at(op):
        copy = op.clone().operation
    matmul, _ = _as_matmul(copy, groups)
    copy.erase()
    return matmul


def _collapse(op: ir.Operation, groups: list[tuple[int, ...]], context: PassContext) -> None:
    matmul, result_dims = _as_matmul(op, groups)
    sizes = loop_extents(matmul)
    operands = _plain_dims(op)
    assert operands is not None
    tail = only_user(op.results[0])
    tail_operands = _tail_groups(tail, op, operands[2], groups[:-1]) if tail is not None else None
    if tail is None or tail_operands is None:
        result, shape = op.results[0], shape_of(op.results[0])
        result.replace_all_uses_with(expanded(matmul.results[0], shape, result_dims, at_op=op))
        if tail is not None and is_elementwise(tail):
            context.remark(tail, "stays apart from the matmul in front of it: it reads a part of its collapsed loops")
    else:
        _collapse_tail(tail, op, matmul, tail_operands, sizes[:-1])
    op.erase()


def _as_matmul(op: ir.Operation, groups: list[tuple[int, ...]]) -> tuple[ir.Operation, Sequence[Sequence[int]]]:
    """The matmul in place of an op that is to be erased, and which dimensions of the op's result each of its own is."""
    operands = _plain_dims(op)
    assert operands is not None
    extents = loop_extents(op)
    sizes = [math.prod(extents[loop] for loop in group) for group in groups]
    kinds = ["reduction" if is_reduction(op, group[0]) else "parallel" for group in groups]
    grouped = [_grouped(dims, groups) for dims in operands]
    first_is_lhs = groups[-3][0] in operands[0]
    heads = {i: head for i in (0, 1) if (head := _collapsed_head(op.operands[i], grouped[i].dims)) is not None}
    matmul = regroup(op, grouped, sizes, kinds, order=[0, 1] if first_is_lhs else [1, 0], known=heads)
    keep_reshaped(op, matmul)
    return matmul, grouped[2].dims


def _collapsed_head(value: ir.Value, dims: Sequence[Sequence[int]]) -> ir.Value | None:
    """What a head of the matmul makes, made in the collapsed shape: one that makes more bytes than it reads.

    Others are made once, in front. None where there is no such head, or where it can stay as it is.
    """
    head = producer(value, "linalg.generic")
    if head is None or len(dims) == len(shape_of(value)) or not is_head(head) or ops_of(head, "linalg.index"):
        return None
    read = sum(element_bytes(element_type_of(v)) for v in list(head.operands)[:-1])
    if element_bytes(element_type_of(value)) <= read:
        return None
    shape, own = shape_of(value), _plain_dims(head)
    groups = [tuple(dim for dim in group if shape[dim] > 1) for group in dims]
    if own is None or not all(groups) or own[-1] != [dim if size > 1 else None for dim, size in enumerate(shape)]:
        return None
    found = [collapsed_dims(each, groups) for each in own]
    if None in found or [list(taken) for _, taken in found[-1] or ()] != [list(group) for group in dims]:
        return None
    sizes = [math.prod(shape[dim] for dim in group) for group in groups]
    with at(head):
        copy = head.clone().operation
        made = regroup(copy, _all_grouped(found), sizes, ["parallel"] * len(sizes), order=range(input_count(copy)))
        copy.erase()
    return made.results[0]


def _grouped(dims: Dims, groups: Sequence[tuple[int, ...]]) -> Grouped:
    found = collapsed_dims(dims, groups)
    assert found is not None
    return Grouped(tuple(number for number, _ in found), tuple(tuple(taken) for _, taken in found))


def _tail_groups(
    tail: ir.Operation, op: ir.Operation, written: Dims, groups: Sequence[tuple[int, ...]]
) -> list[Grouped] | None:
    """How the operands of an elementwise op behind `op` collapse along; None where they don't."""
    if not is_elementwise(tail) or ops_of(tail, "linalg.index"):
        return None
    operands = _plain_dims(tail)
    if operands is None or loop_extents(tail) != shape_of(op.results[0]):
        return None  # one that repeats the sums, as a gate does for all pixels, has loops that the sum hasn't
    # The tail's loops are the output's dimensions, in order; here they are called by the loops of `op`.
    named = [[None if loop is None else written[loop] for loop in dims] for dims in operands]
    position = list(tail.operands).index(op.results[0])
    if position >= input_count(tail) or list(named[position]) != list(written):
        return None
    found = [collapsed_dims(dims, groups) if any(d is not None for d in dims) else [] for dims in named]
    if any(item is None for item in found):
        return None
    return _all_grouped(found)


def _all_grouped(found: Sequence[Sequence[tuple[int, Sequence[int]]] | None]) -> list[Grouped]:
    return [Grouped(tuple(n for n, _ in item or ()), tuple(tuple(t) for _, t in item or ())) for item in found]


def _collapse_tail(
    tail: ir.Operation, op: ir.Operation, matmul: ir.Operation, grouped: list[Grouped], sizes: list[int]
) -> None:
    position = list(tail.operands).index(op.results[0])
    known = {position: matmul.results[0]}
    order = list(range(input_count(tail)))
    replacement = regroup(tail, grouped, sizes, ["parallel"] * len(sizes), order=order, known=known)
    result, shape = tail.results[0], shape_of(tail.results[0])
    result.replace_all_uses_with(expanded(replacement.results[0], shape, grouped[-1].dims, at_op=tail))
    tail.erase()
