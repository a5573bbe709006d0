"""Values and who reads them, whatever reshapes lie between. Reads IR and changes nothing."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.ops.contraction import producer, users

RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")


def reshapes_of(value: ir.Value) -> list[ir.Operation]:
    """The reshapes that a value comes through, the last one first."""
    found: list[ir.Operation] = []
    while (reshape := producer(value, *RESHAPES)) is not None:
        found.append(reshape)
        value = reshape.operands[0]
    return found


def unreshaped(value: ir.Value) -> ir.Value:
    """What a value holds the elements of, in the same order, before all reshapes."""
    reshapes = reshapes_of(value)
    return reshapes[-1].operands[0] if reshapes else value


def readers(value: ir.Value) -> list[ir.Operation]:
    """The ops that read a value in some shape."""
    found = users(value)
    return [reader for user in found for reader in (readers(user.results[0]) if user.name in RESHAPES else (user,))]
