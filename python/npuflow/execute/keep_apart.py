"""Keeps IREE from fusing what it then computes wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuflow.bindings import ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of
from npuflow.execute.clone import run_passes
from npuflow.ops.linear import maps_of
from npuflow.ops.reshapes import unreshaped

_BARRIER = "util.optimization_barrier"
_NOTHING_COMPUTED = ("arith.constant", "tensor.empty")


def keep_apart(module: ir.Module) -> None:
    """Puts IREE's barrier behind every op whose result one other op reads in two ways.

    Sums of rows `s`, of which `s[i] - s[j]` is made for all pairs, come out as one of the two only (IREE 3.13), since
    it computes the sum in the loops of who reads it.
    """
    run_passes(module, "cse")  # what is computed twice is one to IREE
    _put_barriers(module, list(dict.fromkeys(_read_in_two_ways(module))))


def keep_all_apart(module: ir.Module) -> None:
    """Puts IREE's barrier behind every op on tensors, slices included.

    It also computes wrongly (IREE 3.13) what reads a slice of the tensor that it writes to, and some of what is written
    to slices one after the other.
    """
    run_passes(module, "cse")
    ops = [op for op in ops_of(module.operation) if op.name not in _NOTHING_COMPUTED]
    _put_barriers(module, [value for op in ops for value in op.results if isinstance(value.type, ir.RankedTensorType)])


def _put_barriers(module: ir.Module, values: Sequence[ir.Value]) -> None:
    before = module.context.allow_unregistered_dialects
    module.context.allow_unregistered_dialects = True
    try:
        for value in values:
            uses = [(use.owner.operation, use.operand_number) for use in value.uses]
            with at(value.owner.operation, after=True):
                barrier = ir.Operation.create(_BARRIER, [value.type], [value]).results[0]
            for user, number in uses:
                user.operands[number] = barrier
    finally:
        module.context.allow_unregistered_dialects = before


def _read_in_two_ways(module: ir.Module) -> Iterator[ir.Value]:
    for op in ops_of(module.operation, "linalg.generic"):
        ways: dict[ir.Value, set[str]] = {}
        for value, map_ in zip(op.operands, maps_of(op)):
            source = unreshaped(value)
            if not isinstance(source.owner, ir.Block) and source.owner.operation.name != "arith.constant":
                ways.setdefault(source, set()).add(f"{map_} {value.type}")
        yield from (value for value, found in ways.items() if len(found) > 1)
