"""Loops over known steps, as torch-mlir makes of ONNX's recurrent nodes, written out step by step."""

from __future__ import annotations

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.copies import cloned
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import producer


def write_out_loops(module: ir.Module) -> bool:
    """Has each step of a loop over known steps be ops of its own; says whether there were any. Edits the module.

        %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %first) -> (tensor<3x8xf32>) {
          %n = ... %i, %h ...
          scf.yield %n : tensor<3x8xf32>
        }

    becomes five copies of what is inside, each of which reads what the one before has made.
    """
    has_any = False
    # What is inside of others comes first, so that it is written out once.
    while known := [each for loop in ops_of(module.operation, "scf.for") if (each := _innermost(loop)) is not None]:
        has_any = True
        for loop, steps in known:
            _write_out(loop, steps)
    return has_any


def _innermost(loop: ir.Operation) -> tuple[ir.Operation, range] | None:
    """A loop that no other is in, and its steps, if they are known."""
    steps = _steps(loop)
    return None if steps is None or any(other != loop for other in ops_of(loop, "scf.for")) else (loop, steps)


def _steps(loop: ir.Operation) -> range | None:
    bounds = [producer(value, "arith.constant") for value in [*loop.operands][:3]]
    if any(bound is None for bound in bounds):
        return None
    start, end, step = (ir.IntegerAttr(bound.attributes["value"]).value for bound in bounds if bound is not None)
    return range(start, end, step)


def _write_out(loop: ir.Operation, steps: range) -> None:
    block = loop.regions[0].blocks[0]
    place, *carried = block.arguments
    *body, last = (op.operation for op in block.operations)
    values = [*loop.operands][3:]
    with at(loop):
        for step in steps:
            known = {place: arith.ConstantOp.create_index(step).result, **dict(zip(carried, values, strict=True))}
            for op in body:
                known |= dict(zip(op.results, cloned(op, known), strict=True))
            values = [known.get(value, value) for value in last.operands]
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()
