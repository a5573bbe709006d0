"""Two sums of products that one op reads, as in E = f(A B, C D). Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import BUNDLE, is_elementwise, is_head, only_user, producer, reads_in_place
from npuflow.ops.linear import input_count, is_reduction, linear_maps, loop_extents
from npuflow.ops.products import match_products


@dataclass(frozen=True)
class Pair:
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
        return tuple(result for op in self.ops[:-1] for result in op.results if self.root in _users(result))


def pairs_of(function: ir.Operation) -> list[Pair]:
    """The pairs of a function, no op in two of them."""
    taken: set[ir.Operation] = set()
    found: list[Pair] = []
    for op in ops_of(function, "linalg.generic"):
        pair = _ending_in(op)
        if pair is not None and taken.isdisjoint(pair.ops):
            taken.update(pair.ops)
            found.append(pair)
    return found


def step_loops(pair: Pair) -> tuple[int, int] | None:
    """A reduction loop of each of the two sums, of the same size, to go along in step; None where there is none."""
    first, second = (_plain_reductions(op) for op in pair.sums)
    same = [(size, one, other) for one, size in first.items() for other, its in second.items() if size == its]
    return max(same)[1:] if same else None


def _plain_reductions(op: ir.Operation) -> dict[int, int]:
    """The sizes of the reduction loops that operands are indexed by alone."""
    maps, extents = linear_maps(op) or [], loop_extents(op)
    windowed = {loop for dims in maps for dim in dims if len(dim.terms) > 1 for loop, _ in dim.terms}
    return {loop: size for loop, size in enumerate(extents) if is_reduction(op, loop) and loop not in windowed}


def _ending_in(root: ir.Operation) -> Pair | None:
    if BUNDLE in root.attributes or not is_elementwise(root):
        return None
    branches = list(filter(None, (_branch(root, value) for value in list(root.operands)[: input_count(root)])))
    if len(branches) != 2 or branches[0][0] == branches[1][0]:
        return None
    first, second = sorted((branch[0] for branch in branches), key=lambda op: _place(op))
    heads = [head for op in (first, second) for head in _heads(op)]
    behind = [op for branch in branches for op in branch[1:]]
    return Pair((first, second), (*heads, first, second, *behind, root))


def _place(op: ir.Operation) -> int:
    return [child.operation for child in op.block.operations].index(op)


def _branch(reader: ir.Operation, value: ir.Value) -> list[ir.Operation] | None:
    """The sum of products that a value comes from, and what is computed of it alone, each element for itself."""
    made = producer(value)
    is_own = made is not None and made.block == reader.block and only_user(value) is not None
    if made is None or not is_own or BUNDLE in made.attributes or not reads_in_place(reader, value):
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


def _users(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]
