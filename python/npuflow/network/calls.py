"""A function that does nothing but call others, on its arguments and on tables, as data."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.network.parts import body_of, is_table


@dataclass(frozen=True)
class Call:
    """A call; `inputs` and `outputs` are numbers of values."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class CallList:
    """Calls in order. Values are numbered: first the function's arguments, then tables, then what calls return."""

    name: str
    arguments: int
    calls: tuple[Call, ...]
    returned: tuple[int, ...]


def tables_of(function: ir.Operation) -> list[ir.Operation]:
    """The constants that a function hands to what it calls, in order."""
    return [op for op in body_of(function) if is_table(op)]


def read_calls(function: ir.Operation) -> CallList | None:
    """What a function calls, if calls and tables are all there is to it."""
    *body, returned = body_of(function)
    tables = tables_of(function)
    called = [op for op in body if not is_table(op)]
    if not called or any(op.name != "func.call" for op in called):
        return None
    arguments = list(function.regions[0].blocks[0].arguments)
    given = [*arguments, *(table.results[0] for table in tables)]
    numbers: dict[ir.Value, int] = {value: number for number, value in enumerate(given)}
    calls = []
    for op in called:
        inputs = tuple(numbers[value] for value in op.operands)
        for value in op.results:
            numbers[value] = len(numbers)
        name = str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        calls.append(Call(name, inputs, tuple(numbers[value] for value in op.results)))
    results = tuple(numbers[value] for value in returned.operands)
    return CallList(str(function.opview.name.value), len(arguments), tuple(calls), results)
