"""Copies of ops that read other values."""

from __future__ import annotations

from collections.abc import Mapping

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
