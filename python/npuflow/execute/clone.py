"""Copies to work on: one function with what it needs, in the same context, as an ordinary machine sees it."""

from __future__ import annotations

from npuflow.bindings import ir, passmanager
from npuflow.core.passes import fail, ops_of
from npuflow.errors import InputError
from npuflow.execute.strip_npu import strip_npu
from npuflow.frontend.fold_constants import fold_constants
from npuflow.frontend.generalize_operators import decompose_softmax
from npuflow.frontend.import_program import import_program
from npuflow.ops.allowed_ops import problems_in

_NOT_PROGRAM = ("transform.", "builtin.module")
_GENERALIZE = "func.func(convert-elementwise-to-linalg),func.func(linalg-generalize-named-ops)"


def clone_function(module: ir.Operation, name: str) -> ir.Module:
    """A public function, its callees and globals, without what only matters on the device.

    Whatever is executed, by the JIT or by IREE, comes this way. Raises InputError where there is no such function,
    where it calls one without a body, and for every op and type that is not allowed.
    """
    with module.context, module.location:
        copy = ir.Module.create()
        for op in module.regions[0].blocks[0].operations:
            if not op.operation.name.startswith(_NOT_PROGRAM):
                op.operation.clone(ir.InsertionPoint(copy.body))
        for op in copy.body.operations:
            if "sym_name" in op.attributes:
                private = ir.StringAttr(op.attributes["sym_name"]).value != name
                op.attributes["sym_visibility"] = ir.StringAttr.get("private" if private else "public")
        run_passes(copy, "symbol-dce")
        function_of(copy, name)
        import_program(copy.operation)
        problems = [d for problem in problems_in(copy.operation) for d in problem.error().diagnostics]
        if problems:
            raise InputError(problems)
        strip_npu(copy)
    return copy


def function_of(module: ir.Module, name: str) -> ir.Operation:
    """The function called `name`."""
    found: ir.Operation | None = None
    for op in ops_of(module.operation, "func.func"):
        if op.opview.is_external:
            raise fail(op, f"@{op.opview.name.value} is called but has no body")
        if op.opview.name.value == name:
            found = op
    if found is None:
        raise fail(module.operation, f"there is no function @{name} with a body")
    return found


def run_passes(module: ir.Module, passes: str) -> None:
    """Runs upstream passes; raises MLIRError where one fails."""
    with module.context:
        manager = passmanager.PassManager.parse(f"builtin.module({passes})")
    manager.enable_verifier(False)
    manager.run(module.operation)


def spell_out(module: ir.Module) -> None:
    """Makes every named op a `linalg.generic` or several, whose bodies say what it computes.

    What is computed from constants alone is a constant, of its own type: it is the program's, not something rounded.
    """
    decompose_softmax(module.operation)
    run_passes(module, _GENERALIZE)
    fold_constants(module.operation)
