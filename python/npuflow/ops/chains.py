"""Two sums of products in a row, with what is between them: E = f(A B) D. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.bundle_ops import is_bundle_op
from npuflow.ops.contraction import (
    BUNDLE,
    is_elementwise,
    is_head,
    is_matmul,
    is_parallel,
    match_contraction,
    only_user,
    operand_loops,
    producer,
    root_of,
    users,
)
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import input_count, linear_maps
from npuflow.ops.once import described_once
from npuflow.ops.products import match_products
from npuflow.ops.reshapes import readers, unreshaped


@dataclass(frozen=True)
class Chain:
    """The ops from one sum of products to the next, or to its tail, and heads of both, in program order."""

    first: ir.Operation
    second: ir.Operation
    ops: tuple[ir.Operation, ...]

    @property
    def root(self) -> ir.Operation:
        """The op whose results leave the chain."""
        return self.ops[-1]

    @property
    def between(self) -> tuple[ir.Value, ...]:
        """What the ops hand to each other."""
        return tuple(result for op in self.ops[:-1] for result in op.results)

    @property
    def reduces_between(self) -> bool:
        """Whether something else than the two sums up what is between them, as a softmax does."""
        return any(not is_parallel(op) for op in self.ops if op not in (self.first, self.second))


@described_once()
def chains_of(function: ir.Operation, *, through_reshapes: bool = False) -> list[Chain]:
    """The chains of a function, no op in two of them: those with a softmax first, and of these the last one.

    What they hand to each other may be reshaped on the way where that is said.
    """
    sums = [op for op in ops_of(function) if _is_sum_of_products(op)]
    search = _ChainSearch(frozenset(sums), through_reshapes)
    candidates = [chain for second in reversed(sums) for chain in search.ending_in(second)]
    taken: set[ir.Operation] = set()
    found: list[Chain] = []
    for chain in sorted(candidates, key=lambda chain: not chain.reduces_between):
        if taken.isdisjoint(chain.ops):
            taken.update(chain.ops)
            found.append(chain)
    return found


def _is_sum_of_products(op: ir.Operation) -> bool:
    """Whether an op is a matmul, or sums products of two tensors along any loops that matrix instructions can do."""
    if BUNDLE in op.attributes or not op.name.startswith("linalg."):
        return False
    contraction = match_contraction(op)
    if contraction is not None and is_matmul(contraction):
        return True
    maps = linear_maps(op) if op.name == "linalg.generic" and op.results else None
    if maps is None or any(dim.loop is None for dims in maps for dim in dims) or not is_bundle_op(op):
        return False
    return match_products(op) is not None and all(factor.is_bare for factor in factors_of(op) or ())


@dataclass(frozen=True)
class _ChainSearch:
    """Chains between some sums of products; reshapes count as nothing where that is said."""

    sums: frozenset[ir.Operation]
    through_reshapes: bool

    def ending_in(self, second: ir.Operation) -> Iterator[Chain]:
        """The chains that a sum of products ends: by each factor that no other sum, or just one, is in front of."""
        factors = list(second.operands)[:2]
        for value in factors:
            before, firsts = self._before(value, second)
            if len(firsts) != 1:
                continue
            (first,) = firsts
            own = self._behind(first, before)
            if any(self._maker(other) in own for other in factors if other != value):
                continue
            if all(user in own or user == second for op in own for user in self._readers(op)):
                yield self._with_ends(first, second, own)

    def _maker(self, value: ir.Value) -> ir.Operation | None:
        return producer(unreshaped(value) if self.through_reshapes else value)

    def _readers(self, op: ir.Operation) -> list[ir.Operation]:
        of = readers if self.through_reshapes else users
        return [reader for result in op.results for reader in of(result)]

    def _before(self, value: ir.Value, end: ir.Operation) -> tuple[set[ir.Operation], set[ir.Operation]]:
        """The ops whose results reach a value that `end` reads, up to sums of products; and these."""
        found: set[ir.Operation] = set()
        firsts: set[ir.Operation] = set()
        left: list[ir.Value] = [value]
        while left:
            source = self._maker(left.pop())
            if source is None or source in found or source.block != end.block:
                continue
            if source in self.sums:
                firsts.add(source)
            elif is_bundle_op(source):
                found.add(source)
                left += list(source.operands)
        return found, firsts

    def _behind(self, first: ir.Operation, among: set[ir.Operation]) -> set[ir.Operation]:
        """Of some ops, those that an op's results reach; and the op."""
        found: set[ir.Operation] = {first}
        left: Sequence[ir.Operation] = [first]
        while left:
            left = [user for op in left for user in self._readers(op) if user in among - found]
            found.update(left)
        return found

    def _with_ends(self, first: ir.Operation, second: ir.Operation, own: set[ir.Operation]) -> Chain:
        """A chain with the tail of its last op, and heads of both where nothing between them needs all of a row."""
        between = all(is_parallel(op) for op in own if op != first)
        values = [value for op in (first, second) for value in op.operands] if between else []
        heads = {source for value in values if (source := self._head(value)) is not None}
        place = {child.operation: number for number, child in enumerate(second.block.operations)}
        ops = sorted({*own, *heads, second, _tail(second)}, key=lambda op: place[op])
        return Chain(first, second, tuple(ops))

    def _head(self, value: ir.Value) -> ir.Operation | None:
        """The head that makes a value; one that reads a matmul's sum belongs to that one."""
        source = producer(value)
        if source is None or not is_head(source) or any(producer(each) in self.sums for each in source.operands):
            return None
        return source


def _tail(second: ir.Operation) -> ir.Operation:
    """The op whose result leaves: an elementwise one that alone reads the sums, perhaps turned, or the op itself."""
    contraction = match_contraction(second)
    if contraction is not None and is_matmul(contraction) and root_of(contraction) != second:
        return root_of(contraction)
    value = second.results[0]
    user = only_user(value)
    if user is None or BUNDLE in user.attributes or not is_elementwise(user):
        return second
    loops = operand_loops(user)
    read = loops[list(user.operands).index(value)]
    return user if value in list(user.operands)[: input_count(user)] and sorted(read) == sorted(loops[-1]) else second
