"""A function that does nothing but call others, as data."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.network.parts import body_of


@dataclass(frozen=True)
class Call:
    """A call; `inputs` and `outputs` are numbers of values."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class CallList:
    """Calls in order. Values are numbered: first the function's arguments, then what calls return."""

    name: str
    arguments: int
    calls: tuple[Call, ...]
    returned: tuple[int, ...]


def read_calls(function: ir.Operation) -> CallList | None:
    """What a function calls, if calls are all there is to it."""
    *body, returned = body_of(function)
    if not body or any(op.name != "func.call" for op in body):
        return None
    arguments = list(function.regions[0].blocks[0].arguments)
    numbers: dict[ir.Value, int] = {value: number for number, value in enumerate(arguments)}
    calls = []
    for op in body:
        inputs = tuple(numbers[value] for value in op.operands)
        for value in op.results:
            numbers[value] = len(numbers)
        name = str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        calls.append(Call(name, inputs, tuple(numbers[value] for value in op.results)))
    results = tuple(numbers[value] for value in returned.operands)
    return CallList(str(function.opview.name.value), len(arguments), tuple(calls), results)
