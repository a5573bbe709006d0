"""Layers' ends that are added to another layer's and go to memory for that. Reads IR."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from npuflow.bindings import ir
from npuflow.frontend.collapse_contractions import is_collapsible
from npuflow.frontend.product_layers import ProductLayer, end_of, goes_on
from npuflow.ops.contraction import only_user, users
from npuflow.ops.reshapes import RESHAPES

_ADDITIONS = ("arith.addf", "arith.subf")


def added_ends(layers: Iterable[ProductLayer], rounded: Collection[ir.Value]) -> list[ir.Value]:
    """Of layers' ends that are added up to what is `rounded` itself, all but one of each sum.

    The addition is that one's tail, the last matmul's, else the last layer's, and reads the others from memory.
    """
    meeting: dict[ir.Operation, list[ir.Value]] = defaultdict(list)
    for layer in sorted(layers, key=lambda layer: is_collapsible(layer.op)):
        end = end_of(layer.op.results[0])
        adder = _adder_of(end)
        if adder is not None and end not in [*rounded, *meeting[adder]]:
            meeting[adder].append(end)
    return [end for adder, ends in meeting.items() if _becomes(adder.results[0], rounded) for end in ends[:-1]]


def _adder_of(end: ir.Value) -> ir.Operation | None:
    """The op that alone reads an end, and adds it to something else, element by element."""
    value, user = end, only_user(end)
    while user is not None and user.name in RESHAPES:
        value = user.results[0]
        user = only_user(value)
    if user is None or not goes_on(user, value):
        return None
    body = user.regions[0].blocks[0]
    waiting = [body.arguments[place] for place, operand in enumerate(user.operands) if operand == value]
    is_added = False
    while waiting:
        for reader in users(waiting.pop()):
            if reader.name in _ADDITIONS:
                is_added = True
                waiting.append(reader.results[0])
            elif reader.name != "linalg.yield":
                return None
    return user if is_added else None


def _becomes(value: ir.Value, rounded: Collection[ir.Value]) -> bool:
    """Whether what is computed of each of a tensor's elements alone is rounded."""
    while value not in rounded:
        user = only_user(value)
        if user is None or not (user.name in RESHAPES or goes_on(user, value)):
            return False
        value = user.results[0]
    return True
