"""Copies of ops that read other values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from npuflow.bindings import ir
from npuflow.core.passes import ops_of


def cloned(op: ir.Operation, values: Mapping[ir.Value, ir.Value]) -> list[ir.Value]:
    """The results of a copy, where ops are inserted, that reads `values` in place of others, in its regions as well."""
    copy = op.clone().operation
    for one in (copy, *ops_of(copy)):
        for number, value in enumerate(one.operands):
            if value in values:
                one.operands[number] = values[value]
    return list(copy.results)


def remade(op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Operation:
    """The same `linalg.generic` on other operands, of other sizes."""
    kinds = [value.type for value in operands[len(operands) - len(op.results) :]]
    with op.location:
        made = ir.Operation.create(op.name, kinds, operands, dict(op.attributes), regions=1)
        copy = op.clone().operation
    copy.regions[0].blocks[0].append_to(made.regions[0])
    copy.erase()
    return made


def erase_unused(ops: Iterable[ir.Operation]) -> None:
    """Erases those of some ops whose results nobody reads, and what was made for them alone."""
    left = list(dict.fromkeys(ops))
    while left:
        op = left.pop()
        if any(True for result in op.results for _ in result.uses):
            continue
        sources = [value.owner.operation for value in op.operands if not isinstance(value.owner, ir.Block)]
        left = [other for other in left if other != op]
        op.erase()
        left += [source for source in dict.fromkeys(sources) if source not in left]
