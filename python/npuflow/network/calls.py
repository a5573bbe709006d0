"""A function that does nothing but call others, on its arguments and on tables, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from npuflow.bindings import ir
from npuflow.core.passes import ops_of, parents_of
from npuflow.network.parts import body_of, is_table
from npuflow.network.residency import Home
from npuflow.ops.insertions import Update, update_of
from npuflow.ops.refused import made_of

# On a call: a dictionary for each of its results. On its function: the bytes of all results that lie in one place.
PLAN, WORKSPACE = "npu.plan", "npu.workspace_bytes"
_ADDRESS = "address"


@dataclass(frozen=True)
class Call:
    """A call; `inputs` and `outputs` are numbers of values.

    `addresses` has where each output lies in the workspace; None has a place of its own, as what is returned does.
    `homes` has where each stays on the chip; without any, none does. `updates` says which input an output is,
    with something written into it, `written_bytes` of it; it lies where that one does. `made_of` names the groups that
    estimates made one, or left alone. Of inputs that are in DRAM, `brought` says to which home it brings them, for
    later calls, and `near` which ones it reads there.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    addresses: tuple[int | None, ...] = ()
    homes: tuple[Home | None, ...] = ()
    updates: Mapping[int, int] = field(default_factory=dict)
    written_bytes: Mapping[int, int] = field(default_factory=dict)
    made_of: tuple[str, ...] = ()
    brought: Mapping[int, Home] = field(default_factory=dict)
    near: frozenset[int] = frozenset()

    def home(self, value: int) -> Home | None:
        """Where an output stays."""
        return dict(zip(self.outputs, self.homes)).get(value)

    def away(self) -> Call:
        """The call with nothing that stays on the chip."""
        return replace(self, homes=(), brought={}, near=frozenset())


@dataclass(frozen=True)
class CallList:
    """Calls in order. Values are numbered: first the function's arguments, then tables, then what calls return.

    `sizes` are their bytes; the workspace is the memory in DRAM where values lie that one call hands to others.
    """

    name: str
    arguments: int
    calls: tuple[Call, ...]
    returned: tuple[int, ...]
    sizes: tuple[int, ...] = ()
    workspace_bytes: int = 0

    @property
    def first_versions(self) -> Mapping[int, int]:
        """Of each value that calls write into what another one is, the first: they lie in one place."""
        found: dict[int, int] = {}
        for call in self.calls:
            for after, before in call.updates.items():
                found[after] = found.setdefault(before, before)
        return found


def tables_of(function: ir.Operation) -> list[ir.Operation]:
    """The constants that a function hands to what it calls, in order."""
    return [op for op in body_of(function) if is_table(op)]


def calls_of(function: ir.Operation) -> list[ir.Operation]:
    """What a function calls, in order; nothing if it does anything else."""
    called = [op for op in body_of(function)[:-1] if not is_table(op)]
    return [] if any(op.name != "func.call" for op in called) else called


def read_calls(function: ir.Operation) -> CallList | None:
    """What a function calls, if calls and tables are all there is to it."""
    called, returned = calls_of(function), body_of(function)[-1]
    if not called:
        return None
    arguments = list(function.regions[0].blocks[0].arguments)
    values = [*arguments, *(table.results[0] for table in tables_of(function))]
    numbers: dict[ir.Value, int] = {value: number for number, value in enumerate(values)}
    calls, functions = [], _functions_beside(function)
    for op in called:
        inputs = tuple(numbers[value] for value in op.operands)
        for value in op.results:
            numbers[value] = len(numbers)
        outputs = tuple(numbers[value] for value in op.results)
        found = {outputs[result]: update for result, update in _updates(op, functions).items()}
        updates = {output: inputs[update.argument] for output, update in found.items()}
        written = {output: update.written_bytes for output, update in found.items()}
        calls.append(Call(callee(op), inputs, outputs, _addresses(op), (), updates, written, made_of(op)))
    results = tuple(numbers[value] for value in returned.operands)
    sizes = tuple(_bytes_of(value.type) for value in numbers)
    attributes = function.attributes
    workspace = ir.IntegerAttr(attributes[WORKSPACE]).value if WORKSPACE in attributes else 0
    return CallList(str(function.opview.name.value), len(arguments), tuple(calls), results, sizes, workspace)


def callee(call: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def _functions_beside(function: ir.Operation) -> dict[str, ir.Operation]:
    """The functions of a function's module, by name."""
    module = next(parent for parent in parents_of(function) if parent.name == "builtin.module")
    return {str(f.opview.name.value): f for f in ops_of(module, "func.func")}


def _updates(call: ir.Operation, functions: Mapping[str, ir.Operation]) -> dict[int, Update]:
    """Which of the callee's arguments its results are, with something written into them."""
    function = functions.get(callee(call))
    if function is None or function.opview.is_external:
        return {}
    found = {number: update_of(value) for number, value in enumerate(body_of(function)[-1].operands)}
    return {number: update for number, update in found.items() if update is not None}


def _addresses(call: ir.Operation) -> tuple[int | None, ...]:
    if PLAN not in call.attributes:
        return (None,) * len(call.results)
    planned = [ir.DictAttr(one) for one in ir.ArrayAttr(call.attributes[PLAN])]
    return tuple(ir.IntegerAttr(one[_ADDRESS]).value if _ADDRESS in one else None for one in planned)


def write_plan(function: ir.Operation, order: Sequence[ir.Operation], calls: CallList) -> None:
    """Puts a function's calls in an order, and says of each value where it lies and until which phase it lives."""
    returned = body_of(function)[-1]
    last = last_phases(calls)
    integer = ir.IntegerType.get_signless(64)
    for op, call in zip(order, calls.calls, strict=True):
        op.move_before(returned)
        planned = []
        for value, address in zip(call.outputs, call.addresses, strict=True):
            said = {"bytes": calls.sizes[value], "until": last[value]}
            said |= {} if address is None else {_ADDRESS: address}
            planned.append(ir.DictAttr.get({name: ir.IntegerAttr.get(integer, one) for name, one in said.items()}))
        op.attributes[PLAN] = ir.ArrayAttr.get(planned)
    function.attributes[WORKSPACE] = ir.IntegerAttr.get(integer, calls.workspace_bytes)


def last_phases(calls: CallList) -> list[int]:
    """The last phase in which each value is needed; of what is returned, the last of all."""
    last = [0] * len(calls.sizes)
    for phase, call in enumerate(calls.calls):
        for value in (*call.inputs, *call.outputs):
            last[value] = phase
    for value in calls.returned:
        last[value] = len(calls.calls) - 1
    return last


def _bytes_of(type_: ir.Type) -> int:
    shape, element = ((), type_) if not isinstance(type_, ir.ShapedType) else (type_.shape, type_.element_type)
    return prod(shape) * (8 if isinstance(element, ir.IndexType) else -(-int(element.width) // 8))
