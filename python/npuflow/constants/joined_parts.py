"""Ops that put a tensor together from others: which part of it each one is, where constants say that. Reads IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from npuflow.bindings import ir
from npuflow.constants.known_tensors import KnownBody, KnownTensors
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import shape_of
from npuflow.ops.contraction import is_elementwise, operand_loops, producer, users
from npuflow.ops.linear import input_count, iterators

_CONVERSIONS = ("arith.extf", "arith.extsi", "arith.sitofp")


@dataclass(frozen=True)
class JoinedPart:
    """A tensor that is part of another one, from the place `begin` on."""

    value: ir.Value
    begin: int


@dataclass(frozen=True)
class Join:
    """A value in an op's body that is nothing but one of several tensors' elements: these lie one behind the other.

    `numbers` are those of the operands that it is taken from. What is taken may be converted before, of all in the same
    way: then the value is what `first` is of the first operand, and `first` is an element itself where it isn't.
    """

    op: ir.Operation
    value: ir.Value
    first: ir.Value
    numbers: tuple[int, ...]
    dimension: int
    parts: tuple[JoinedPart, ...]

    @property
    def whole(self) -> ir.RankedTensorType:
        """What the tensors are part of."""
        return ir.RankedTensorType(self.op.operands[self.numbers[0]].type)

    @property
    def is_all(self) -> bool:
        """Whether the op does nothing else."""
        block = self.op.regions[0].blocks[0]
        is_taken = isinstance(self.first.owner, ir.Block)
        made = block.operations[len(block.operations) - 1].operands[0]
        return is_taken and is_elementwise(self.op) and made == self.value


def join_of(op: ir.Operation, known: KnownTensors) -> Join | None:
    """A join in an op: it chooses between padded tensors, by constants, and reads none of the padding."""
    if op.name != "linalg.generic" or input_count(op) < 2:
        return None
    selects = [one.operation for one in op.regions[0].blocks[0].operations if one.operation.name == "arith.select"]
    found = (_join(op, select.results[0], known) for select in reversed(selects))
    return next((join for join in found if join is not None), None)


def _join(op: ir.Operation, value: ir.Value, known: KnownTensors) -> Join | None:
    arguments, loops = list(op.regions[0].blocks[0].arguments), operand_loops(op)
    taken, inner = _leaves(value)
    read = [_read(leaf) for leaf in taken]
    numbers = [arguments.index(leaf) if leaf in arguments[: input_count(op)] else -1 for leaf, _ in read]
    if len(numbers) < 2 or -1 in numbers or len({way for _, way in read}) > 1:
        return None
    is_read_more = any(len(users(argument)) > 1 for argument, way in read if way)
    if is_read_more or any(user not in inner for leaf in taken for user in users(leaf)):
        return None
    rank = len(loops[numbers[0]])
    if any(loops[number] != list(range(rank)) for number in numbers) or rank != len(iterators(op)):
        return None
    if any(producer(op.operands[number], "tensor.pad") is None for number in numbers):
        return None
    leaves = dict(zip(taken, numbers))
    chosen = _Choices(KnownBody(known, op), leaves).of(value, np.ones((1,) * rank, bool))
    turns = {} if chosen is None else {d: n for where in chosen.values() for d, n in enumerate(where.shape) if n > 1}
    if chosen is None or len(turns) != 1:
        return None
    (dimension,) = turns
    parts = [_part(op.operands[number], dimension, np.flatnonzero(where)) for number, where in chosen.items()]
    found = sorted((part for part in parts if part is not None), key=lambda part: part.begin)
    if len(found) < len(chosen):
        return None
    first = next(leaf for leaf, number in leaves.items() if number == next(iter(chosen)))
    return Join(op, value, first, tuple(chosen), dimension, tuple(found))


def _leaves(value: ir.Value) -> tuple[list[ir.Value], list[ir.Operation]]:
    """What selects in a row choose between, and these."""
    select = producer(value, "arith.select")
    if select is None:
        return [value], []
    below = [_leaves(operand) for operand in list(select.operands)[1:]]
    leaves = dict.fromkeys(leaf for own, _ in below for leaf in own)
    return [*leaves], [select, *(one for _, inner in below for one in inner)]


def _read(leaf: ir.Value) -> tuple[ir.Value, str]:
    """What a value is read from, and how it is converted, if at all."""
    op = producer(leaf, *_CONVERSIONS)
    return (leaf, "") if op is None else (op.operands[0], f"{op.name} to {leaf.type}")


@dataclass(frozen=True)
class _Choices:
    """Which of some values a body takes at which steps."""

    body: KnownBody
    leaves: Mapping[ir.Value, int]

    def of(self, value: ir.Value, where: Numbers) -> dict[int, Numbers] | None:
        """The steps at which one is taken, by its number; None where that isn't known."""
        if value in self.leaves:
            return {self.leaves[value]: where}
        select = producer(value, "arith.select")
        condition = None if select is None else self.body.value(select.operands[0])
        if select is None or condition is None:
            return None
        found: dict[int, Numbers] = {}
        for operand, taken in zip(list(select.operands)[1:], (condition.astype(bool), ~condition.astype(bool))):
            own = self.of(operand, where & taken)
            if own is None:
                return None
            for number, steps in own.items():
                found[number] = found[number] | steps if number in found else steps
        return found


def _part(value: ir.Value, dimension: int, steps: Numbers) -> JoinedPart | None:
    """What is taken of a value at some steps along a dimension: all of what is padded there, and nothing else."""
    pad = producer(value, "tensor.pad")
    if pad is None or not len(steps):
        return None
    source = pad.operands[0]
    low, sizes = list(ir.DenseI64ArrayAttr(pad.attributes["static_low"])), shape_of(source)
    around = [size for d, size in enumerate(shape_of(value)) if d != dimension]
    if len(pad.operands) > 1 or around != [size for d, size in enumerate(sizes) if d != dimension]:
        return None
    begin, size = int(low[dimension]), sizes[dimension]
    is_all = steps[0] == begin and steps[-1] == begin + size - 1 and len(steps) == size
    return JoinedPart(source, begin) if is_all else None
