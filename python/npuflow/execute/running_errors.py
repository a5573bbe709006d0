"""A function that returns, beside each result in 64 bits, how far from it executions in the program's types may be.

    func.func @f(%x: tensor<8xbf16>) -> tensor<8xbf16>

becomes

    func.func @f(%x: tensor<8xf64>, %narrow: f64, %wide: f64) -> (tensor<8xf64>, tensor<8xf64>)

Errors run along with the values (`error_rules`), on the data at hand. In a sum, errors of terms add up as if they were
independent, and so do roundings of partial sums, as long as they can fall either way: where a term is not much larger
than the rounding of the sum it is added to, it may be lost, and all that is lost is counted. Integers made of floats
have errors as well; what never rounds has none, and is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import func, ir
from npuflow.core.build import at, fill, shape_of
from npuflow.core.passes import ops_of
from npuflow.execute.clone import clone_function, function_of, run_passes, spell_out
from npuflow.execute.error_bodies import ErrorScope, error_of, zeros
from npuflow.execute.error_rules import NoRuleError, Rules, Tracked
from npuflow.execute.wide_arithmetic import number
from npuflow.execute.widen import wide_type, widen_op

_MOVEMENTS = ("tensor.", "linalg.pack", "linalg.unpack", "linalg.copy")


@dataclass(frozen=True)
class ErrorProgram:
    """`module` holds `function`; of its results, `errors[i]` is the place of the error of result i, None if exact."""

    module: ir.Module
    function: str
    errors: tuple[int | None, ...]


def error_program(module: ir.Operation, function: str) -> ErrorProgram:
    """The program for a function on tensors; raises NoRuleError for what there is no rule for."""
    flat = clone_function(module, function)
    run_passes(flat, "inline,symbol-dce")
    spell_out(flat)
    run_passes(flat, "canonicalize")  # which evaluates constants as the pipelines do
    old = function_of(flat, function)
    if len(old.regions[0].blocks) != 1:
        raise NoRuleError("branches")
    name = f"{function}_errors"
    with old.context, old.location:
        block = old.regions[0].blocks[0]
        number_type = ir.F64Type.get()
        kinds = [*(wide_type(argument.type) for argument in block.arguments), number_type, number_type]
        with ir.InsertionPoint(flat.body):
            new = func.FuncOp(name, (kinds, []))
        with ir.InsertionPoint(new.add_entry_block()):
            *given, narrow, wide = new.entry_block.arguments
            known = {before: Tracked(now) for before, now in zip(block.arguments, given, strict=True)}
            results = _Tracker(ErrorScope(Rules(narrow, wide), known)).run(block)
            returned, errors = _laid_out(results)
            func.ReturnOp(returned)
        kind = ir.FunctionType.get(kinds, [value.type for value in returned])
        new.operation.attributes["function_type"] = ir.TypeAttr.get(kind)
    old.erase()
    return ErrorProgram(flat, name, errors)


def _laid_out(results: Sequence[Tracked]) -> tuple[list[ir.Value], tuple[int | None, ...]]:
    """What to return, each error right behind its value, and where these errors are."""
    returned: list[ir.Value] = []
    errors: list[int | None] = []
    for one in results:
        returned.append(one.value)
        errors.append(None if one.error is None else len(returned))
        returned += [] if one.error is None else [one.error]
    return returned, tuple(errors)


@dataclass(frozen=True)
class _Tracker:
    """Builds the new function op by op."""

    scope: ErrorScope

    def run(self, block: ir.Block) -> list[Tracked]:
        *body, end = [child.operation for child in block.operations]
        for op in body:
            with op.location:
                self.scope.known.update(zip(op.results, self._results(op), strict=True))
        return [self.scope.known[value] for value in end.operands]

    def _results(self, op: ir.Operation) -> list[Tracked]:
        if op.name == "linalg.generic":
            return self.scope.generic(op)
        if op.name == "linalg.fill":
            return [self._filled(op)]
        if op.name.startswith(_MOVEMENTS) and op.name != "tensor.extract":
            return [self._movement(op)]
        return [self.scope.scalar(op)]

    def _filled(self, op: ir.Operation) -> Tracked:
        scalar, target = (self.scope.known[value] for value in op.operands)
        error = None if scalar.error is None else fill(scalar.error, zeros(target.value))
        return Tracked(fill(scalar.value, target.value), error, scalar.constant)

    def _movement(self, op: ir.Operation) -> Tracked:
        """Values and errors move alike; nothing is wrong with what padding adds."""
        given = [self.scope.known[value] for value in op.operands]
        value = self._moved(op, [one.value for one in given])
        tensors = [one for one in given if _is_tensor(one.value)]
        error = None
        if any(one.error is not None for one in tensors):
            errors = [error_of(one) if _is_tensor(one.value) else _padding(one.value) for one in given]
            error = self._moved(op, errors, for_errors=True)
        return Tracked(value, error, all(one.constant for one in tensors))

    def _moved(self, op: ir.Operation, operands: Sequence[ir.Value], *, for_errors: bool = False) -> ir.Value:
        copy = op.clone().operation
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        for inner in [one for one in ops_of(copy) if one != copy]:
            for position, value in enumerate(inner.operands):
                if value in self.scope.known:
                    inner.operands[position] = self.scope.known[value].value
            if for_errors and inner.name == "tensor.yield":
                with at(inner):
                    inner.operands[0] = number(0.0)
            widen_op(inner)
        widen_op(copy)
        if for_errors:
            copy.results[0].set_type(ir.RankedTensorType.get(shape_of(copy.results[0]), ir.F64Type.get()))
        return copy.results[0]


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _padding(value: ir.Value) -> ir.Value:
    """What stands for a scalar operand of a movement of errors: a place stays one, what is padded with is no error."""
    return value if isinstance(value.type, ir.IndexType) else number(0.0)
