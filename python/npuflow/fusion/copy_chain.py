"""A chain of two matmuls once more, as ops that can be a bundle. Edits IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import at, generic_op, shape_of
from npuflow.core.copies import cloned, erase_unused
from npuflow.fusion.inline_producer import inline_producer
from npuflow.fusion.late_division import divide_behind, divide_behind_products
from npuflow.fusion.running_softmax import run_by_pieces
from npuflow.fusion.softmax_parts import in_parts, merged, with_weight
from npuflow.ops.chains import Chain
from npuflow.ops.contraction import match_contraction
from npuflow.ops.linear import iterators, loop_extents
from npuflow.ops.products import keep_reshaped, largest_divisor
from npuflow.ops.softmax import WeightedSum, match_weighted_sum


@dataclass(frozen=True)
class ChainCopy:
    """A chain once more: ops that can be a bundle, and those `behind` it that merge what it made in `parts` of rows."""

    ops: tuple[ir.Operation, ...]
    behind: tuple[ir.Operation, ...] = ()
    parts: int = 1

    @property
    def root(self) -> ir.Operation:
        return (*self.ops, *self.behind)[-1]

    def erase(self) -> None:
        """Takes it back, with what was made for it alone."""
        erase_unused([self.root])


def copies_of(chain: Chain, *, one_engine: bool, cores: int = 1) -> Iterator[ChainCopy]:
    """Copies in front of a chain's last op: as it is, and, if there is a softmax, with division behind the sum.

    Then it runs by pieces, where what adds up products and what scales sums is `one_engine`, or with all of a row at
    once; where it is two, the one may also sum up what the other makes. By pieces, there may be a part of its rows for
    each of the `cores`.
    """
    plain = _copied(chain)
    product = plain[chain.ops.index(chain.second)]
    softmax = match_weighted_sum(product)
    count = 1 if softmax is None else _most_parts(softmax, cores)
    yield ChainCopy(tuple(plain))
    if softmax is not None:
        yield ChainCopy(tuple(_rewritten(chain, _copied(chain), divide_behind)))
        yield ChainCopy(
            tuple(_rewritten(chain, _copied(chain), run_by_pieces if one_engine else divide_behind_products))
        )
        parted = _in_parts(chain, _copied(chain), count) if one_engine and count > 1 else None
        if parted is not None:
            yield parted


def _most_parts(softmax: WeightedSum, cores: int) -> int:
    """How many parts rows may come in: as many alike ones as there are cores for each of what products read; or one.

    There is one where there are rows for all cores.
    """
    rows, sizes = prod(shape_of(softmax.largest.results[0])), _summed(softmax.largest)
    if rows > cores or len(sizes) != 1:
        return 1
    (other,) = (value for value in list(softmax.product.operands)[:2] if value != softmax.quotient.results[0])
    shared = prod(shape_of(other)) // (sizes[0] * shape_of(softmax.product.results[0])[-1])
    return largest_divisor(sizes[0], max(1, cores // max(1, shared)))


def _summed(op: ir.Operation) -> list[int]:
    return [size for size, kind in zip(loop_extents(op), iterators(op)) if kind == "reduction"]


def _in_parts(chain: Chain, ops: list[ir.Operation], parts: int) -> ChainCopy | None:
    """The ops with a softmax that runs by pieces in each of some parts of its rows; None where they have no parts."""
    place = chain.ops.index(chain.second)
    product, behind = ops[place], ops[place + 1 :]
    made = in_parts(ops[: place + 1], product, parts)
    softmax = None if made is None else match_weighted_sum(made[place])
    if made is None or softmax is None:
        erase_unused([ops[-1], *(made or ())[-1:]])
        return None
    replaced = {*softmax.ops, *softmax.scaling}
    front = [op for op in made if op not in replaced]
    *running, divided = run_by_pieces(softmax)
    with at(product):
        weighted = inline_producer(divided, with_weight(divided, running[2].results[0], running[4].results[0]))
        divided.erase()
        merging = merged(*weighted.results)
    product.results[0].replace_all_uses_with(merging[-1].results[0])
    erase_unused([product])
    return ChainCopy((*front, *running, weighted), (*merging, *behind), parts)


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
