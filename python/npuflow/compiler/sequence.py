"""A function as several schedules that run one after the other, and hand tensors over in DRAM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import CompiledFunction, FunctionalRun, check_inputs, execute_function
from npuflow.compiler.tables import arrays_of
from npuflow.execute.arrays import Array, Signature
from npuflow.execute.guard_divisions import divides_integers
from npuflow.network.calls import CallList


@dataclass(frozen=True)
class CompiledSequence:
    """A function's parts by name, in which order they are called with what, and the tables that they are handed."""

    signature: Signature
    calls: CallList
    parts: Mapping[str, CompiledFunction]
    tables: ir.Module = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.signature.name

    @cached_property
    def table_arrays(self) -> tuple[Array, ...]:
        return arrays_of(self.tables)

    @property
    def dividing_op(self) -> ir.Operation:
        """A part's schedule that divides integers, if there is one: it decides which random data makes sense."""
        ops = [part.op for part in self.parts.values()]
        return next((op for op in ops if divides_integers(op)), ops[0])


@dataclass(frozen=True)
class SequenceExecution:
    """What a functional run leaves: the function's results, and each part's run."""

    outputs: tuple[Array, ...]
    executions: tuple[tuple[str, FunctionalRun], ...]


def execute_sequence(sequence: CompiledSequence, inputs: Sequence[Array]) -> SequenceExecution:
    """Runs the parts in order through the simulated array; what one leaves in DRAM is what others find there."""
    check_inputs(sequence.signature, inputs)
    executions: list[tuple[str, FunctionalRun]] = []

    def run(name: str, given: Sequence[Array]) -> Sequence[Array]:
        executions.append((name, execute_function(sequence.parts[name], given)))
        return executions[-1][1].outputs

    return SequenceExecution(run_calls(sequence.calls, (*inputs, *sequence.table_arrays), run), tuple(executions))


def run_calls(
    calls: CallList, inputs: Sequence[Array], run: Callable[[str, Sequence[Array]], Sequence[Array]]
) -> tuple[Array, ...]:
    """What a list of calls returns, each of which `run` does; tables come behind the function's arguments."""
    values: dict[int, Array] = dict(enumerate(inputs))
    for call in calls.calls:
        outputs = run(call.name, [values[number] for number in call.inputs])
        values.update(zip(call.outputs, outputs, strict=True))
    return tuple(values[number] for number in calls.returned)
