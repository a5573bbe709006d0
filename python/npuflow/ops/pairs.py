"""Two sums of products that one op reads, as in E = f(A B, C D). Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import BUNDLE, is_elementwise, is_head, producer
from npuflow.ops.linear import input_count
from npuflow.ops.products import match_products
from npuflow.ops.reshapes import readers, unreshaped


@dataclass(frozen=True)
class SumPair:
    """Two sums, and all ops with what is made in front of them for them alone, and behind: both sums before that."""

    sums: tuple[ir.Operation, ir.Operation]
    ops: tuple[ir.Operation, ...]

    @property
    def root(self) -> ir.Operation:
        """The op whose result leaves the pair."""
        return self.ops[-1]

    @property
    def between(self) -> tuple[ir.Value, ...]:
        """What would be handed over: what is behind one of the sums, or the sum itself."""
        return tuple(result for op in self.ops[:-1] for result in op.results if self.root in readers(result))


def pairs_of(function: ir.Operation) -> list[SumPair]:
    """The pairs of a function, no op in two of them."""
    taken: set[ir.Operation] = set()
    found: list[SumPair] = []
    for op in ops_of(function, "linalg.generic"):
        pair = _ending_in(op)
        if pair is not None and taken.isdisjoint(pair.ops):
            taken.update(pair.ops)
            found.append(pair)
    return found


def _ending_in(root: ir.Operation) -> SumPair | None:
    if BUNDLE in root.attributes or not is_elementwise(root):
        return None
    branches = list(filter(None, (_branch(root, value) for value in list(root.operands)[: input_count(root)])))
    if len(branches) != 2 or branches[0][0] == branches[1][0]:
        return None
    first, second = sorted((branch[0] for branch in branches), key=_place)
    heads = [head for op in (first, second) for head in _heads(op)]
    behind = [op for branch in branches for op in branch[1:]]
    return SumPair((first, second), (*heads, first, second, *behind, root))


def _place(op: ir.Operation) -> int:
    return [child.operation for child in op.block.operations].index(op)


def _branch(reader: ir.Operation, value: ir.Value) -> list[ir.Operation] | None:
    """The sum of products that a value comes from, and what is computed of it alone, each element for itself."""
    made = producer(unreshaped(value))
    if made is None or BUNDLE in made.attributes or made.block != reader.block or readers(made.results[0]) != [reader]:
        return None
    if _is_sum(made):
        return [made]
    if not is_elementwise(made):
        return None
    inner = list(filter(None, (_branch(made, read) for read in list(made.operands)[: input_count(made)])))
    return [*inner[0], made] if len(inner) == 1 else None


def _is_sum(op: ir.Operation) -> bool:
    return op.name.startswith("linalg.") and len(op.results) == 1 and match_products(op) is not None


def _heads(op: ir.Operation) -> Iterator[ir.Operation]:
    for value in list(op.operands)[:2]:
        source = producer(value)
        if source is not None and is_head(source) and BUNDLE not in source.attributes:
            yield source
