"""What a schedule's constant buffers hold."""

from __future__ import annotations

from collections.abc import Mapping

from npuflow.bindings import func, ir, memref
from npuflow.execute.arrays import Array
from npuflow.execute.jit import compile_function
from npuflow.schedule.ir.read_schedule import constant_values_of

_ENTRY = "constants"


def constant_contents(schedule: ir.Operation) -> Mapping[str, Array]:
    """The constants' values as arrays, by the names of their buffers: what a function returns that reads them."""
    values = constant_values_of(schedule)
    if not values:
        return {}
    with schedule.context, schedule.location:
        module = ir.Module.create()
        for value in dict.fromkeys(values.values()):
            value.clone(ir.InsertionPoint(module.body))
        kinds = [ir.TypeAttr(value.attributes["type"]).value for value in values.values()]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(_ENTRY, ([], kinds))
        with ir.InsertionPoint(function.add_entry_block()):
            names = [ir.StringAttr(value.attributes["sym_name"]).value for value in values.values()]
            func.ReturnOp([memref.GetGlobalOp(kind, name).result for kind, name in zip(kinds, names)])
        results = compile_function(module.operation, _ENTRY, poison=False).run([]).results
    return dict(zip(values, results))
