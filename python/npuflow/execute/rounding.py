"""How many roundings lie between a function's inputs and its results, as a relative error.

`1 + d` with |d| <= u multiplies a value once per rounding on its way. A result's *accumulated roundoff* is the largest sum
of those u over all ways from an input to it; a sum over a reduction of R steps passes R of them, in whatever order it is
added up. Values whose error this cannot bound make it `None`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir, linalg
from npuflow.core.build import dynamic_marker, element_type_of
from npuflow.execute.arrays import FLOAT_FORMATS
from npuflow.frontend.contraction import loop_sizes

ROUNDING = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.truncf", "arith.sitofp", "arith.uitofp")


@dataclass(frozen=True)
class Roundoff:
    """Accumulated roundoff from inputs, and along the accumulator of the reduction at hand (None: not part of it)."""

    from_inputs: float = 0.0
    from_accumulator: float | None = None

    def plus(self, cost: float) -> Roundoff:
        along = None if self.from_accumulator is None else self.from_accumulator + cost
        return Roundoff(self.from_inputs + cost, along)


def unit_roundoff(kind: ir.Type) -> float:
    """The u of one rounding to a type; 0 for types that don't round."""
    known = FLOAT_FORMATS.get(str(kind))
    return known.unit_roundoff if known else 0.0


def result_roundoffs(function: ir.Operation) -> list[float]:
    """The accumulated roundoff of each result of a function that holds only linalg.generic and plain ops."""
    counter = _Counter()
    counter.block(function.regions[0].blocks[0])
    returned = function.regions[0].blocks[0].operations[-1].operation
    return [counter.of(value).from_inputs for value in returned.operands]


@dataclass
class _Counter:
    known: dict[ir.Value, Roundoff] = field(default_factory=dict)

    def of(self, value: ir.Value) -> Roundoff:
        return self.known.get(value, Roundoff())

    def block(self, block: ir.Block) -> None:
        for child in block.operations:
            op = child.operation
            outcome = [self.generic(op)] if op.name == "linalg.generic" else [self.plain(op)] * len(op.results)
            for result, roundoff in zip(op.results, outcome * len(op.results)):
                self.known[result] = roundoff

    def plain(self, op: ir.Operation) -> Roundoff:
        cost = unit_roundoff(element_type_of(op.results[0])) if op.results and op.name in ROUNDING else 0.0
        return _largest([self.of(value) for value in op.operands]).plus(cost)

    def generic(self, op: ir.Operation) -> Roundoff:
        body = op.regions[0].blocks[0]
        outs = len(op.results) or 1
        first_out = len(op.operands) - outs
        for position, (argument, operand) in enumerate(zip(body.arguments, op.operands)):
            given = self.of(operand).from_inputs
            self.known[argument] = Roundoff(given, 0.0 if position >= first_out else None)
        self.block(body)
        yielded = _largest([self.of(value) for value in body.operations[-1].operation.operands])
        along = yielded.from_accumulator or 0.0
        return Roundoff(yielded.from_inputs + reduction_steps(op) * along)


def reduction_steps(op: ir.Operation) -> int:
    """How many elements one result of a linalg.generic sums up."""
    steps = 1
    kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
    for kind, size in zip(kinds, loop_sizes(op)):
        if "reduction" in kind:
            assert size != dynamic_marker()
            steps *= int(size)
    return steps


def _largest(roundoffs: Sequence[Roundoff]) -> Roundoff:
    along = [r.from_accumulator for r in roundoffs if r.from_accumulator is not None]
    return Roundoff(max((r.from_inputs for r in roundoffs), default=0.0), max(along) if along else None)
