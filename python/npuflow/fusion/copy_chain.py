"""A chain of two matmuls once more, as ops that can be a bundle. Edits IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from npuflow.bindings import ir, linalg
from npuflow.core.build import at, generic_op
from npuflow.core.copies import cloned
from npuflow.fusion.inline_producer import inline_producer
from npuflow.fusion.late_division import divide_behind, divide_behind_products
from npuflow.fusion.running_softmax import run_by_pieces
from npuflow.ops.chains import Chain
from npuflow.ops.contraction import match_contraction, producer
from npuflow.ops.products import keep_reshaped
from npuflow.ops.softmax import WeightedSum, match_weighted_sum

# What sums begin with.
_STARTS = ("linalg.fill", "tensor.empty", "arith.constant")


def copies_of(chain: Chain, *, one_engine: bool) -> Iterator[list[ir.Operation]]:
    """Copies in front of a chain's last op: as it is, and, if there is a softmax, with division behind the sum.

    Then it runs by pieces, where what adds up products and what scales sums is `one_engine`, or with all of a row at
    once; where it is two, the one may also sum up what the other makes.
    """
    plain = _copied(chain)
    product = plain[chain.ops.index(chain.second)]
    has_softmax = match_weighted_sum(product) is not None
    yield plain
    if has_softmax:
        yield _rewritten(chain, _copied(chain), divide_behind)
        yield _rewritten(chain, _copied(chain), run_by_pieces if one_engine else divide_behind_products)


def _copied(chain: Chain) -> list[ir.Operation]:
    """All ops of a chain as linalg.generics."""
    values: dict[ir.Value, ir.Value] = {}
    made: list[ir.Operation] = []
    with at(chain.root):
        for op in chain.ops:
            results = cloned(op, values)
            values.update(zip(op.results, results))
            made.append(results[0].owner.operation)
        return [as_generic(op) for op in made]


def _rewritten(
    chain: Chain, ops: list[ir.Operation], rewrite: Callable[[WeightedSum], list[ir.Operation]]
) -> list[ir.Operation]:
    """The ops with another softmax; who reads its quotients divides by itself."""
    place = chain.ops.index(chain.second)
    softmax = match_weighted_sum(ops[place])
    assert softmax is not None
    replaced = {*softmax.ops, *softmax.scaling}
    front, behind = [op for op in ops[:place] if op not in replaced], ops[place + 1 :]
    made = rewrite(softmax)
    for tail in behind:
        divided = made.pop()
        made.append(inline_producer(divided, tail))
        divided.erase()
    return [*front, *made]


def as_generic(op: ir.Operation) -> ir.Operation:
    """A matmul as a linalg.generic, in its place; other ops are some already."""
    contraction = match_contraction(op) if op.name != "linalg.generic" else None
    if contraction is None:
        return op
    kinds = ["reduction" if loop in contraction.k else "parallel" for loop in range(contraction.rank)]
    maps = [ir.AffineMapAttr(map_).value for map_ in linalg.get_indexing_maps(op)]
    with at(op):
        new = generic_op(list(op.operands)[:2], list(op.operands)[2:], maps, kinds)
        op.regions[0].blocks[0].append_to(new.regions[0])
    keep_reshaped(op, new)
    for old, result in zip(op.results, new.results):
        old.replace_all_uses_with(result)
    op.erase()
    return new


def erase_ops(ops: Sequence[ir.Operation]) -> None:
    """Erases ops, and what was made for them alone."""
    for op in reversed(ops):
        values = list(dict.fromkeys(op.operands))
        op.erase()
        for value in values:
            source = producer(value, *_STARTS)
            if source is not None and not any(True for _ in value.uses):
                erase_ops([source])
