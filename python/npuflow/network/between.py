"""`npu.between` on a function: which of its arguments and results are handed over between the parts of another one.

    func.func @f(...) attributes {npu.between = {arguments = array<i64: 1, 4>, results = array<i64: 0>}}

They may stay on the chip. Whether they do is decided once all parts have schedules; until then, what is chosen for a
part can't know it, but may be as good with them there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.network.calls import CallList, callee
from npuflow.network.parts import body_of
from npuflow.network.plan import FunctionPlan
from npuflow.ops.reshapes import unreshaped

BETWEEN = "npu.between"
_ARGUMENTS, _RESULTS = "arguments", "results"
_EXAMPLE = f"for example {BETWEEN} = {{arguments = array<i64: 1, 4>, results = array<i64: 0>}}"


class HandedOver:
    """What calls hand over of the arguments and results of functions, by these functions' names: what all calls do."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[set[int], set[int]]] = {}

    def add(self, called: Sequence[ir.Operation], calls: CallList, plan: FunctionPlan) -> None:
        """What a function's calls hand over; what several of them write a part of each is one tensor."""
        whole = {value.number for value in plan.between}
        handed = whole | {number for number, first in calls.first_versions.items() if first in whole}
        for op, call in zip(called, calls.calls, strict=True):
            arguments, results = ({n for n, v in enumerate(s) if v in handed} for s in (call.inputs, call.outputs))
            before = self._found.setdefault(callee(op), (arguments, results))
            self._found[callee(op)] = (before[0] & arguments, before[1] & results)

    def note(self, function: ir.Operation) -> None:
        """Has a function say so of itself."""
        arguments, results = self._found.get(str(function.opview.name.value), (set(), set()))
        if arguments or results:
            function.attributes[BETWEEN] = _attribute(arguments, results, function.context)


def forget_handed_over(function: ir.Operation, arguments: Collection[int], results: Collection[int]) -> None:
    """Has a function no longer say so of these."""
    said = {one.name: {*one.attr} for one in function.attributes[BETWEEN]} if BETWEEN in function.attributes else {}
    if not said:
        return
    left = said[_ARGUMENTS].difference(arguments), said[_RESULTS].difference(results)
    if any(left):
        function.attributes[BETWEEN] = _attribute(*left, function.context)
    else:
        del function.attributes[BETWEEN]


def _attribute(arguments: Collection[int], results: Collection[int], context: ir.Context) -> ir.Attribute:
    sides = {_ARGUMENTS: arguments, _RESULTS: results}
    said = {name: ir.DenseI64ArrayAttr.get(sorted(side), context) for name, side in sides.items()}
    return ir.DictAttr.get(said, context)


def between(function: ir.Operation) -> dict[ir.Value, int]:
    """The values of a function's body that are handed over, numbered; raises InputError where that isn't said."""
    if BETWEEN not in function.attributes:
        return {}
    said = function.attributes[BETWEEN]
    sides = {one.name: one.attr for one in said} if isinstance(said, ir.DictAttr) else {}
    values = {
        _ARGUMENTS: list(function.regions[0].blocks[0].arguments),
        _RESULTS: [unreshaped(value) for value in body_of(function)[-1].operands],
    }
    found: dict[ir.Value, int] = {}
    for name, own in values.items():
        numbers = sides.get(name)
        if sides.keys() != values.keys() or not isinstance(numbers, ir.DenseI64ArrayAttr):
            raise fail(function, f"{BETWEEN} says {said}", _EXAMPLE)
        for number in numbers:
            if not 0 <= number < len(own):
                raise fail(function, f"{BETWEEN} has number {number} of {len(own)} {name}", _EXAMPLE)
            found.setdefault(own[number], len(found))
    return found
