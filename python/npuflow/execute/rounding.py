"""How many roundings lie between a function's inputs and its results, as a relative error.

`1 + d` with |d| <= u multiplies a value once per rounding on its way. A result's *accumulated roundoff* is the largest
sum of those u over all ways from an input to it; a sum over a reduction of R steps passes R of them, in whatever order
it is added up. A conversion at the end is kept apart, because its error is relative to the result alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from npuflow.bindings import ir
from npuflow.core.build import dynamic_marker, element_type_of
from npuflow.execute.arrays import FLOAT_FORMATS
from npuflow.frontend.contraction import loop_sizes

# The length of reductions that cannot be read off the IR.
ASSUMED_STEPS = 1024

CONVERSION = "arith.truncf"
ROUNDING = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.sitofp", "arith.uitofp", CONVERSION)


@dataclass(frozen=True)
class Roundoff:
    """Accumulated roundoff from inputs, and along the accumulator of the reduction at hand (None: not part of it).

    `last` is that of a conversion with nothing but exact operations behind it, and not part of the other two.
    """

    from_inputs: float = 0.0
    from_accumulator: float | None = None
    last: float = 0.0

    @property
    def total(self) -> float:
        return self.from_inputs + self.last

    def plus(self, cost: float) -> Roundoff:
        """Behind an operation that rounds."""
        along = None if self.from_accumulator is None else self.from_accumulator + self.last + cost
        return Roundoff(self.total + cost, along)

    def converted(self, cost: float) -> Roundoff:
        """Behind a conversion."""
        return replace(self.plus(0.0), last=cost)


def unit_roundoff(kind: ir.Type) -> float:
    """The u of one rounding to a type; 0 for types that don't round."""
    known = FLOAT_FORMATS.get(str(kind))
    return known.unit_roundoff if known else 0.0


def result_roundoffs(function: ir.Operation) -> list[Roundoff]:
    """The accumulated roundoff of each result of a function that holds only linalg.generic and plain ops."""
    counter = _Counter()
    counter.block(function.regions[0].blocks[0])
    returned = function.regions[0].blocks[0].operations[-1].operation
    return [counter.of(value) for value in returned.operands]


@dataclass
class _Counter:
    known: dict[ir.Value, Roundoff] = field(default_factory=dict)

    def of(self, value: ir.Value) -> Roundoff:
        return self.known.get(value, Roundoff())

    def block(self, block: ir.Block) -> None:
        for child in block.operations:
            op = child.operation
            outcome = self.generic(op) if op.name == "linalg.generic" else self.plain(op)
            for result in op.results:
                self.known[result] = outcome

    def plain(self, op: ir.Operation) -> Roundoff:
        given = _largest([self.of(value) for value in op.operands])
        if not op.results or op.name not in ROUNDING:
            return given
        cost = unit_roundoff(element_type_of(op.results[0]))
        return given.converted(cost) if op.name == CONVERSION else given.plus(cost)

    def generic(self, op: ir.Operation) -> Roundoff:
        body = op.regions[0].blocks[0]
        outs = len(op.results) or 1
        first_out = len(op.operands) - outs
        for position, (argument, operand) in enumerate(zip(body.arguments, op.operands, strict=True)):
            self.known[argument] = replace(self.of(operand), from_accumulator=0.0 if position >= first_out else None)
        self.block(body)
        yielded = _largest([self.of(value) for value in body.operations[-1].operation.operands])
        steps = reduction_steps(op)
        if steps == 1:
            return replace(yielded, from_accumulator=None)
        along = 0.0 if yielded.from_accumulator is None else yielded.from_accumulator + yielded.last
        return Roundoff(yielded.total + steps * along)


def reduction_steps(op: ir.Operation) -> int:
    """How many elements one result of a linalg.generic sums up."""
    steps = 1
    kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
    for kind, size in zip(kinds, loop_sizes(op), strict=True):
        if "reduction" in kind:
            steps *= ASSUMED_STEPS if size == dynamic_marker() else int(size)
    return steps


def _largest(roundoffs: Sequence[Roundoff]) -> Roundoff:
    along = [r.from_accumulator for r in roundoffs if r.from_accumulator is not None]
    return Roundoff(
        max((r.from_inputs for r in roundoffs), default=0.0),
        max(along) if along else None,
        max((r.last for r in roundoffs), default=0.0),
    )
