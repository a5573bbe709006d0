"""A function as several schedules that run one after the other, and hand tensors over in DRAM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import CompiledFunction, FunctionalRun, check_inputs, execute_function
from npuflow.compiler.tables import arrays_of
from npuflow.execute.arrays import Array, Signature
from npuflow.execute.guard_divisions import divides_integers
from npuflow.network.calls import CallList
from npuflow.simulate.run import POISON


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
    """Runs the parts in order through the simulated array; what one leaves in DRAM is what others find there.

    What only parts read is in the workspace, where the plan has it: one that puts something into the place of what is
    still needed makes results wrong.
    """
    check_inputs(sequence.signature, inputs)
    executions: list[tuple[str, FunctionalRun]] = []

    def run(name: str, given: Sequence[Array]) -> Sequence[Array]:
        executions.append((name, execute_function(sequence.parts[name], given)))
        return executions[-1][1].outputs

    workspace: Array = np.full(sequence.calls.workspace_bytes, POISON, np.uint8)
    given = (*inputs, *sequence.table_arrays)
    return SequenceExecution(run_calls(sequence.calls, given, run, workspace), tuple(executions))


def run_calls(
    calls: CallList,
    inputs: Sequence[Array],
    run: Callable[[str, Sequence[Array]], Sequence[Array]],
    workspace: Array | None = None,
) -> tuple[Array, ...]:
    """What a list of calls returns, each of which `run` does; tables come behind the function's arguments.

    What has an address is kept in the `workspace`, if there is one.
    """
    values: dict[int, Array] = dict(enumerate(inputs))
    for call in calls.calls:
        outputs = run(call.name, [values[number] for number in call.inputs])
        for number, output, address in zip(call.outputs, outputs, call.addresses, strict=True):
            if workspace is None or address is None:
                values[number] = output
            else:
                values[number] = _placed(output, workspace[address:])
    return tuple(values[number] for number in calls.returned)


def _placed(array: Array, room: Array) -> Array:
    """The array at the beginning of a piece of memory."""
    place: Array = room[: array.nbytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place
