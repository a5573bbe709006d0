"""npuflow-find-greatest: selections that take the greater of two numbers, or the smaller one, say so."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, isnan

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.copies import erase_unused
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.signs import never_negative, number_of
from npuflow.ops.contraction import producer


@register_pass
@dataclass(frozen=True)
class FindGreatest(Pass):
    """Makes `arith.maximumf` of selecting the greater of a number and a constant, `arith.minimumf` of the smaller one.

    PyTorch writes what is cut off at a constant, as ReLU is, as a comparison and a selection.

        %c = arith.cmpf ugt, %a, %zero : f32
        %r = arith.select %c, %a, %zero : f32
        %n = math.roundeven %r : f32
        %m = arith.maximumf %n, %lowest : f32

    becomes

        %r = arith.maximumf %a, %zero : f32
        %n = math.roundeven %r : f32

    where what is never negative isn't compared with what is. Results are the same bit by bit, with NaNs and zeros of
    either sign: selections that treat these otherwise stay as they are.
    """

    name = "npuflow-find-greatest"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for selection in ops_of(op, "arith.select"):
            if (found := _extreme(selection)) is not None:
                compared = selection.operands[0].owner.operation
                _replace(selection, found)
                erase_unused([compared])
                context.count("selections of the greater or smaller number")
        for greatest in ops_of(op, "arith.maximumf"):
            number = number_of(greatest.operands[1])
            if number is not None and number < 0 and never_negative(greatest.operands[0]):
                _replace(greatest, greatest.operands[0])
                context.count("comparisons with what is negative")


def _replace(op: ir.Operation, value: ir.Value) -> None:
    op.results[0].replace_all_uses_with(value)
    op.erase()


def _extreme(selection: ir.Operation) -> ir.Value | None:
    """The greater or smaller of a number and a constant, where a selection takes that."""
    compared = producer(selection.operands[0], "arith.cmpf")
    if compared is None or [*compared.operands] != [*selection.operands][1:]:
        return None
    number = number_of(compared.operands[1])
    if number is None or isnan(number):
        return None
    said = ir.IntegerAttr(compared.attributes["predicate"]).value
    name = _EXTREMES.get(said)
    if name is None or (number == 0 and name != _TAKES_ZERO[copysign(1, number) > 0]):
        return None
    with at(selection):
        return ir.Operation.create(name, [selection.results[0].type], list(compared.operands)).results[0]


# NaN is greater and smaller than anything by the first two, and so selected; by the others it isn't.
_EXTREMES = {
    int(arith.CmpFPredicate.UGT): "arith.maximumf",
    int(arith.CmpFPredicate.ULT): "arith.minimumf",
    int(arith.CmpFPredicate.OGT): "arith.maxnumf",
    int(arith.CmpFPredicate.OLT): "arith.minnumf",
}
# Of 0.0 and -0.0 selections take the constant, `maximumf` takes 0.0 and `minimumf` -0.0.
_TAKES_ZERO = {True: "arith.maximumf", False: "arith.minimumf"}
