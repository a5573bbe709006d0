"""What a function that is a part of another one has from that: `npu.between` and `npu.tables`.

    func.func @f(...) attributes {npu.between = {arguments = array<i64: 1, 4>, results = array<i64: 0>},
                                  npu.tables = array<i64: 0, 2>}

Arguments and results that are handed over between parts may stay on the chip. Whether they do is decided once all parts
have schedules; until then, what is chosen for a part can't know it, but may be as good with them there. Tables are
arguments that are constants of one call alone, whose bytes lie in DRAM as channels read them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.network.calls import CallList, callee
from npuflow.network.parts import body_of
from npuflow.network.plan import FunctionPlan, tables_of_one_call
from npuflow.ops.reshapes import unreshaped

BETWEEN = "npu.between"
TABLES = "npu.tables"
_ARGUMENTS, _RESULTS = "arguments", "results"
_EXAMPLE = f"for example {BETWEEN} = {{arguments = array<i64: 1, 4>, results = array<i64: 0>}}"


class HandedOver:
    """What calls hand over of the arguments and results of functions, by these functions' names: what all calls do.

    So it is with arguments that are tables.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[set[int], set[int]]] = {}
        self._tables: dict[str, set[int]] = {}

    def add(self, called: Sequence[ir.Operation], calls: CallList, plan: FunctionPlan) -> None:
        """What a function's calls hand over, but for tensors that several of them write a part of each."""
        versions = calls.first_versions
        handed = {value.number for value in plan.between} - versions.keys() - set(versions.values())
        tables = tables_of_one_call(calls)
        for op, call in zip(called, calls.calls, strict=True):
            arguments, results = ({n for n, v in enumerate(s) if v in handed} for s in (call.inputs, call.outputs))
            before = self._found.setdefault(callee(op), (arguments, results))
            self._found[callee(op)] = (before[0] & arguments, before[1] & results)
            own = {n for n, value in enumerate(call.inputs) if value in tables}
            self._tables[callee(op)] = self._tables.get(callee(op), own) & own

    def note(self, function: ir.Operation) -> None:
        """Has a function say so of itself."""
        name = str(function.opview.name.value)
        arguments, results = self._found.get(name, (set(), set()))
        if arguments or results:
            function.attributes[BETWEEN] = _attribute(arguments, results, function.context)
        if tables := self._tables.get(name):
            function.attributes[TABLES] = ir.DenseI64ArrayAttr.get(sorted(tables), function.context)


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


def is_table(value: ir.Value) -> bool:
    """Whether a value is an argument of which its function says that it is a table; raises InputError for nonsense."""
    if not isinstance(value.owner, ir.Block) or isinstance(value.owner.owner, ir.Module):
        return False
    function = value.owner.owner.operation
    if TABLES not in function.attributes:
        return False
    said = function.attributes[TABLES]
    if not isinstance(said, ir.DenseI64ArrayAttr):
        raise fail(function, f"{TABLES} says {said}", f"for example {TABLES} = array<i64: 0, 2>")
    return ir.BlockArgument(value).arg_number in list(said)
