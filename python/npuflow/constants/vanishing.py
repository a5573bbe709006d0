"""Where elements are -inf or 0 whatever the data is, as a mask makes them: maxima and sums don't need these.

A score that a mask makes -inf is 0 behind the exponential, and what 0 multiplies adds nothing. Data are taken to be
numbers: an -inf that is added masks no score of +inf, nor one that is NaN. The lowest number, as many masks have, does
the same beside a score that isn't masked; where all of a row are, it doesn't. Scores are taken to be of less than half
of its size. Reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from npuflow.bindings import ir
from npuflow.constants.known_tensors import KnownBody, KnownTensors
from npuflow.constants.scalar_values import Numbers
from npuflow.ops.bundle import Bundle
from npuflow.ops.linear import input_count, is_reduction, iterators, linear_dims, maps_of

Truths = npt.NDArray[Any]

_MAXIMA = ("arith.maximumf", "arith.maxnumf")
# The lowest numbers of f32 and bf16 are below that. Scores have to be half as large to change what they mask.
_LOW = -3.3e38


@dataclass(frozen=True)
class Fact:
    """Where a value is the least that there is, and where it is 0.

    Arrays have a dimension for each loop, or for each of a tensor's, of size 1 where it makes no difference.
    """

    is_least: Truths
    is_zero: Truths


@dataclass(frozen=True)
class Needed:
    """Of each step of a loop, the first step of another one that counts and the one behind the last; or None.

    Of `all_steps` of both loops, `vanishing` don't count.
    """

    spans: tuple[tuple[int, int] | None, ...]
    vanishing: int
    all_steps: int


def needed_columns(bundle: Bundle, row: int, column: int, known: KnownTensors) -> Needed | None:
    """What of a loop that is reduced counts for each step of another one; None where all of it may for all steps."""
    vanishes = _vanishing(bundle, row, column, known)
    if vanishes is None:
        return None
    counts = [np.flatnonzero(~each) for each in vanishes]
    spans = tuple((int(each[0]), int(each[-1]) + 1) if each.size else None for each in counts)
    return Needed(spans, int(vanishes.sum()), vanishes.size)


def _vanishing(bundle: Bundle, row: int, column: int, known: KnownTensors) -> Truths | None:
    """For each step of two loops, whether nothing that is reduced along the second one counts; None if all may."""
    exact, low = (_vanishing_below(most, bundle, row, column, known) for most in (-inf, _LOW))
    if exact is None or low is None:
        return None
    found = exact | (low & ~low.all(axis=1, keepdims=True))
    return found if found.any() else None


def _vanishing_below(most: float, bundle: Bundle, row: int, column: int, known: KnownTensors) -> Truths | None:
    """The same where numbers up to one are the least that there is."""
    facts: dict[ir.Value, Fact] = {}
    found: Truths = np.ones((1, 1), bool)
    for index, op in enumerate(bundle.ops):
        own = bundle.loops[index]
        both = frozenset(map(own.index, (row, column))) if {row, column} <= set(own) else frozenset()
        body = _Facts(op, KnownBody(known, op), facts, both, most)
        if column in own and is_reduction(op, own.index(column)):
            if row not in own:
                return None
            for number in range(len(op.results)):
                neutral = body.neutral(number)
                found = found & _by(neutral, (own.index(row), own.index(column)))
        else:
            facts |= {result: body.made(number) for number, result in enumerate(op.results)}
    return np.broadcast_to(found, (bundle.sizes[row], bundle.sizes[column]))


def _by(truths: Truths, kept: Sequence[int]) -> Truths:
    """What holds for all steps of the dimensions that aren't kept, by those that are."""
    others = [dim for dim in range(truths.ndim) if dim not in kept]
    return np.asarray(truths.transpose([*kept, *others]).all(axis=tuple(range(len(kept), truths.ndim))))


class _Facts:
    """What is known of the values in an op's body; `facts` has what is known of the tensors that it reads.

    Of constants that it reads only those are looked at that may be masks, or what masks are made of: tensors along
    `both` loops, and others too, or along nothing else. Weights are large. Numbers of at `most` so much are the least.
    """

    def __init__(
        self, op: ir.Operation, known: KnownBody, facts: Mapping[ir.Value, Fact], both: frozenset[int], most: float
    ) -> None:
        self._op, self._known, self._facts, self._both, self._most = op, known, facts, both, most
        self._rank = len(iterators(op))
        self._no: Truths = np.zeros((1,) * self._rank, bool)
        self._found: dict[ir.Value, Fact] = {}

    def made(self, number: int) -> Fact:
        """What is known of a result."""
        written = self._loops(input_count(self._op) + number)
        fact = self._fact(self._yielded(number)) if written is not None else self._nothing
        kept = written or []
        return Fact(_by(fact.is_least, kept), _by(fact.is_zero, kept))

    def neutral(self, number: int) -> Truths:
        """Where what an op makes of a result's element is that element."""
        made = self._yielded(number)
        so_far = self._op.regions[0].blocks[0].arguments[input_count(self._op) + number]
        inner = None if isinstance(made.owner, ir.Block) else made.owner.operation
        if inner is None or inner.name not in ("arith.addf", *_MAXIMA) or so_far not in list(inner.operands):
            return self._no
        (term,) = [value for value in inner.operands if value != so_far] or [so_far]
        fact = self._fact(term)
        return fact.is_zero if inner.name == "arith.addf" else fact.is_least

    @property
    def _nothing(self) -> Fact:
        return Fact(self._no, self._no)

    def _yielded(self, number: int) -> ir.Value:
        block = self._op.regions[0].blocks[0]
        return block.operations[len(block.operations) - 1].operands[number]

    def _loops(self, number: int) -> list[int] | None:
        """The loop that each dimension of an operand follows."""
        dims = linear_dims(maps_of(self._op)[number])
        loops = [dim.loop for dim in dims or ()]
        is_plain = dims is not None and None not in loops and len(set(loops)) == len(loops)
        return [loop for loop in loops if loop is not None] if is_plain else None

    def _fact(self, value: ir.Value) -> Fact:
        if value not in self._found:
            self._found[value] = self._fact_of(value)
        return self._found[value]

    def _fact_of(self, value: ir.Value) -> Fact:
        numbers = self._numbers(value)
        if numbers is not None:
            return Fact(np.asarray(numbers <= self._most), np.asarray(numbers == 0))
        if isinstance(value.owner, ir.Block):
            return self._read(value)
        op = value.owner.operation
        if op.name == "arith.select":
            return self._chosen(op)
        rule = _RULES.get(op.name)
        return self._nothing if rule is None else rule(*map(self._fact, op.operands))

    def _numbers(self, value: ir.Value) -> Numbers | None:
        """What a value is, where it is made of nothing but numbers and masks."""
        left, read = [value], []
        while left:
            each = left.pop()
            if isinstance(each.owner, ir.Block):
                read.append(each.arg_number)
            else:
                left += list(each.owner.operation.operands)
        return self._known.value(value) if all(map(self._may_mask, read)) else None

    def _may_mask(self, number: int) -> bool:
        loops = self._loops(number)
        if loops is None or not self._both or number >= input_count(self._op):
            return False
        return self._both.issuperset(loops) or self._both.issubset(loops)

    def _read(self, argument: ir.Value) -> Fact:
        """What is known of an operand's elements, by the loops that it follows."""
        number = argument.arg_number
        loops, fact = self._loops(number), self._facts.get(self._op.operands[number])
        if loops is None or fact is None or number >= input_count(self._op):
            return self._nothing
        return Fact(*(self._along(each, loops) for each in (fact.is_least, fact.is_zero)))

    def _along(self, truths: Truths, loops: list[int]) -> Truths:
        ordered = truths.transpose(np.argsort(loops))
        sizes = dict(zip(sorted(loops), ordered.shape))
        return np.asarray(ordered.reshape([sizes.get(loop, 1) for loop in range(self._rank)]))

    def _chosen(self, select: ir.Operation) -> Fact:
        condition, *ways = select.operands
        chosen, (first, second) = self._numbers(condition), map(self._fact, ways)
        if chosen is None:
            return _both(first, second)
        is_first = np.asarray(chosen != 0)
        least, zero = ((first.is_least, second.is_least), (first.is_zero, second.is_zero))
        return Fact(np.where(is_first, *least), np.where(is_first, *zero))


def _both(left: Fact, right: Fact) -> Fact:
    return Fact(left.is_least & right.is_least, left.is_zero & right.is_zero)


def _sum(left: Fact, right: Fact) -> Fact:
    return Fact(left.is_least | right.is_least, left.is_zero & right.is_zero)


def _difference(left: Fact, right: Fact) -> Fact:
    return Fact(left.is_least & ~right.is_least, left.is_zero & right.is_zero)


def _product(left: Fact, right: Fact) -> Fact:
    """0 times a number; what -inf times one is depends on its sign."""
    return Fact(np.zeros_like(left.is_least & right.is_least), left.is_zero | right.is_zero)


def _quotient(left: Fact, right: Fact) -> Fact:
    return Fact(np.zeros_like(left.is_least & right.is_least), left.is_zero & ~right.is_zero)


def _smaller(left: Fact, right: Fact) -> Fact:
    return Fact(left.is_least | right.is_least, left.is_zero & right.is_zero)


def _exponential(exponent: Fact) -> Fact:
    return Fact(np.zeros_like(exponent.is_least), exponent.is_least)


_RULES: dict[str, Callable[..., Fact]] = {
    "arith.addf": _sum,
    "arith.subf": _difference,
    "arith.mulf": _product,
    "arith.divf": _quotient,
    **dict.fromkeys(_MAXIMA, _both),
    **dict.fromkeys(("arith.minimumf", "arith.minnumf"), _smaller),
    **dict.fromkeys(("arith.extf", "arith.truncf"), lambda fact: fact),
    **dict.fromkeys(("math.exp", "math.exp2"), _exponential),
}
