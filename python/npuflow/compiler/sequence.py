"""A function as several schedules that run one after the other, and hand tensors over in DRAM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import CompiledFunction, FunctionalRun, check_inputs, execute_function
from npuflow.compiler.residency import has_homes, needed_bytes
from npuflow.compiler.tables import arrays_of
from npuflow.execute.arrays import Array, Signature
from npuflow.execute.guard_divisions import divides_integers
from npuflow.network.calls import CallList
from npuflow.network.residency import Home
from npuflow.simulate.at_home import HOME_LEVEL
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
    tiles = HomeTiles(sequence.parts)

    def run(name: str, given: Sequence[Array]) -> Sequence[Array]:
        executions.append((name, execute_function(sequence.parts[name], given)))
        return executions[-1][1].outputs

    workspace: Array = np.full(sequence.calls.workspace_bytes, POISON, np.uint8)
    given = (*inputs, *sequence.table_arrays)
    return SequenceExecution(run_calls(sequence.calls, given, run, workspace, tiles), tuple(executions))


def run_calls(
    calls: CallList,
    inputs: Sequence[Array],
    run: Callable[[str, Sequence[Array]], Sequence[Array]],
    workspace: Array | None = None,
    tiles: HomeTiles | None = None,
) -> tuple[Array, ...]:
    """What a list of calls returns, each of which `run` does; tables come behind the function's arguments.

    What has an address is kept in the `workspace`, what has a home in its memory tile, if there are these.
    """
    values: dict[int, Array] = dict(enumerate(inputs))
    for call in calls.calls:
        if tiles is not None:
            tiles.overwrite(call.name)
        outputs = run(call.name, [values[number] for number in call.inputs])
        for number, output, address in zip(call.outputs, outputs, call.addresses, strict=True):
            home = call.home(number)
            if tiles is not None and home is not None:
                values[number] = _placed(output, tiles.at(home))
            elif workspace is None or address is None:
                values[number] = output
            else:
                values[number] = _placed(output, workspace[address:])
        if tiles is not None:
            tiles.overwrite(call.name)
    return tuple(values[number] for number in calls.returned)


class HomeTiles:
    """The memory tiles of a launch, with what stays there; each phase overwrites what its own buffers take."""

    def __init__(self, parts: Mapping[str, CompiledFunction]) -> None:
        device = next(iter(parts.values())).device
        self._memories: dict[int, Array] = {}
        self._needed: dict[str, dict[int, int]] = {}
        if has_homes(device):
            size = device.level(HOME_LEVEL).usable_bytes
            self._memories = {column: np.full(size, POISON, np.uint8) for column in range(device.columns)}
            self._needed = {name: needed_bytes(part.program, device) for name, part in parts.items()}

    def at(self, home: Home) -> Array:
        """The bytes from a home on."""
        return self._memories[home.column][home.address :]

    def overwrite(self, part: str) -> None:
        """Poisons the bytes that a part's own buffers take: what lies there is lost while it works."""
        for column, size in self._needed.get(part, {}).items():
            self._memories[column][:size] = POISON


def _placed(array: Array, room: Array) -> Array:
    """The array at the beginning of a piece of memory."""
    place: Array = room[: array.nbytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place
