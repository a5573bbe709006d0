"""The tables, weights as a rule, that a function hands to its parts: kept as IR until somebody wants them as arrays."""

from __future__ import annotations

from npuflow.bindings import func, ir
from npuflow.execute.arrays import Array
from npuflow.execute.jit import compile_function
from npuflow.network.calls import tables_of

_ENTRY = "tables"


def module_of_tables(function: ir.Operation) -> ir.Module:
    """A module of its own with a function that returns what `function` hands over."""
    tables = tables_of(function)
    with function.context, function.location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            entry = func.FuncOp(_ENTRY, ([], [table.results[0].type for table in tables]))
        with ir.InsertionPoint(entry.add_entry_block()):
            func.ReturnOp([table.clone().operation.results[0] for table in tables])
    return module


def arrays_of(tables: ir.Module) -> tuple[Array, ...]:
    """The elements of such a module's tables."""
    (entry,) = tables.body.operations
    if not ir.FunctionType(entry.operation.opview.type).results:
        return ()
    return tuple(compile_function(tables.operation, _ENTRY, poison=False).run([]).results)
