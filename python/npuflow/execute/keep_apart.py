"""Keeps IREE from fusing what it then computes wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from npuflow.bindings import ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of
from npuflow.execute.clone import run_passes
from npuflow.ops.linear import maps_of
from npuflow.ops.reshapes import unreshaped

_BARRIER = "util.optimization_barrier"


def keep_apart(module: ir.Module) -> None:
    """Puts IREE's barrier behind every op whose result one other op reads in two ways.

    Sums of rows `s`, of which `s[i] - s[j]` is made for all pairs, come out as one of the two only (IREE 3.13), since
    it computes the sum in the loops of who reads it.
    """
    run_passes(module, "cse")  # what is computed twice is one to IREE
    for value in list(dict.fromkeys(_read_in_two_ways(module))):
        uses = [(use.owner.operation, use.operand_number) for use in value.uses]
        before = module.context.allow_unregistered_dialects
        module.context.allow_unregistered_dialects = True
        try:
            with at(value.owner.operation, after=True):
                barrier = ir.Operation.create(_BARRIER, [value.type], [value]).results[0]
        finally:
            module.context.allow_unregistered_dialects = before
        for user, number in uses:
            user.operands[number] = barrier


def _read_in_two_ways(module: ir.Module) -> Iterator[ir.Value]:
    for op in ops_of(module.operation, "linalg.generic"):
        ways: dict[ir.Value, set[str]] = {}
        for value, map_ in zip(op.operands, maps_of(op)):
            source = unreshaped(value)
            if not isinstance(source.owner, ir.Block) and source.owner.operation.name != "arith.constant":
                ways.setdefault(source, set()).add(f"{map_} {value.type}")
        yield from (value for value, found in ways.items() if len(found) > 1)
