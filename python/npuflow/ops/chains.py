"""Two matmuls in a row, with what is between them: E = f(A B) D. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.ops.bundle_ops import is_bundle_op
from npuflow.ops.contraction import Contraction, contractions, is_head, is_matmul, producer, root_of, users


@dataclass(frozen=True)
class Chain:
    """The ops from one matmul to the next, or to its tail, and heads of both, in program order."""

    first: Contraction
    second: Contraction
    ops: tuple[ir.Operation, ...]

    @property
    def root(self) -> ir.Operation:
        """The op whose results leave the chain."""
        return self.ops[-1]

    @property
    def between(self) -> tuple[ir.Value, ...]:
        """What the ops hand to each other."""
        return tuple(result for op in self.ops[:-1] for result in op.results)


def chains_of(function: ir.Operation) -> list[Chain]:
    """The chains of a function, the last first; no op is in two of them."""
    matmuls = [c for c in contractions(function) if not c.is_packed and is_matmul(c)]
    by_op = {matmul.op: matmul for matmul in matmuls}
    taken: set[ir.Operation] = set()
    found: list[Chain] = []
    for second in reversed(matmuls):
        chain = _ending_in(second, by_op)
        if chain is not None and taken.isdisjoint(chain.ops):
            taken.update(chain.ops)
            found.append(chain)
    return found


def _ending_in(second: Contraction, matmuls: dict[ir.Operation, Contraction]) -> Chain | None:
    """The chain that a matmul ends; None where no other one, or more than one, is in front of it."""
    before, firsts = _before(second.op, matmuls)
    if len(firsts) != 1:
        return None
    (first,) = firsts
    own = _behind(first, before)
    if any(user not in own and user != second.op for op in own for result in op.results for user in users(result)):
        return None
    heads = {source for op in (first, second.op) for v in op.operands if (source := _head(v, matmuls)) is not None}
    tail = root_of(second)
    place = {child.operation: number for number, child in enumerate(second.op.block.operations)}
    ops = sorted({*own, *heads, second.op, tail}, key=lambda op: place[op])
    return Chain(matmuls[first], second, tuple(ops))


def _head(value: ir.Value, matmuls: dict[ir.Operation, Contraction]) -> ir.Operation | None:
    """The head that makes a value; one that reads a matmul's sum belongs to that one."""
    source = producer(value)
    if source is None or not is_head(source) or any(producer(each) in matmuls for each in source.operands):
        return None
    return source


def _before(op: ir.Operation, matmuls: dict[ir.Operation, Contraction]) -> tuple[set[ir.Operation], set[ir.Operation]]:
    """The ops whose results reach an op, up to matmuls; and these."""
    found: set[ir.Operation] = set()
    firsts: set[ir.Operation] = set()
    left: list[ir.Operation] = [op]
    while left:
        for value in left.pop().operands:
            source = producer(value)
            if source is None or source in found or source.block != op.block:
                continue
            if source in matmuls:
                firsts.add(source)
            elif is_bundle_op(source):
                found.add(source)
                left.append(source)
    return found, firsts


def _behind(first: ir.Operation, among: set[ir.Operation]) -> set[ir.Operation]:
    """Of some ops, those that an op's results reach; and the op."""
    found: set[ir.Operation] = {first}
    left: Sequence[ir.Operation] = [first]
    while left:
        left = [user for op in left for result in op.results for user in users(result) if user in among - found]
        found.update(left)
    return found
