"""A function as several schedules that run one after the other, and hand tensors over in DRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import (
    CompiledFunction,
    FunctionalRun,
    Landed,
    check_inputs,
    execute_function,
)
from npuflow.compiler.home_phases import buffer_places
from npuflow.compiler.tables import arrays_of
from npuflow.execute.arrays import Array, Signature
from npuflow.execute.guard_divisions import divides_integers
from npuflow.network.calls import Call, CallList
from npuflow.network.residency import Home
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
    given = (*inputs, *sequence.table_arrays)
    there = dict(enumerate(given))

    def run(call: Call, given: Sequence[Array]) -> Sequence[Array]:
        part = sequence.parts[call.name]
        found = execute_function(part, given, there, tiles.landed(part))
        executions.append((call.name, found))
        tiles.land(found.landed)
        for number, home in call.brought.items():
            tiles.keep(number, found.brought[call.inputs.index(number)], home)
        return found.outputs

    workspace: Array = np.full(sequence.calls.workspace_bytes, POISON, np.uint8)
    return SequenceExecution(run_calls(sequence.calls, given, run, workspace, tiles), tuple(executions))


def run_calls(
    calls: CallList,
    inputs: Sequence[Array],
    run: Callable[[Call, Sequence[Array]], Sequence[Array]],
    workspace: Array | None = None,
    tiles: HomeTiles | None = None,
) -> tuple[Array, ...]:
    """What a list of calls returns, each of which `run` does; tables come behind the function's arguments.

    What has an address is kept in the `workspace`, what has a home in its memory tile, if there are these. What is
    written into a tensor is there for whoever reads any version of it from then on.
    """
    values: dict[int, Array] = dict(enumerate(inputs))
    first, there = calls.first_versions, dict[int, list[int]]()
    for number, one in first.items():
        there.setdefault(one, []).append(number)
    for call in calls.calls:
        if tiles is not None:
            tiles.enter(call.name)
        at_home = [number for number in call.inputs if number not in values or number in call.near]
        kept = {number: tiles.read(number) for number in at_home} if tiles else {}
        outputs = run(call, [kept[number] if number in kept else values[number] for number in call.inputs])
        for number, output, address in zip(call.outputs, outputs, call.addresses, strict=True):
            home = call.home(number)
            if tiles is not None and home is not None:
                tiles.keep(number, output, home)
            elif workspace is None or address is None:
                versions = (each for each in there.get(first.get(number, number), ()) if each in values)
                values |= {each: output.reshape(values[each].shape) for each in versions} | {number: output}
            else:
                values[number] = _placed(output, workspace[address:])
        if tiles is not None:
            tiles.leave(call.name)
    return tuple(values[number] for number in calls.returned)


class HomeTiles:
    """The memories of a launch where something stays between phases; each overwrites what its own buffers take.

    What one brought for a later phase is in a buffer there, which is full when that one begins.
    """

    def __init__(self, parts: Mapping[str, CompiledFunction]) -> None:
        device = next(iter(parts.values())).device
        self._memories: dict[int, Array] = {}
        self._homes: dict[int, tuple[Home, np.dtype[np.generic], tuple[int, ...]]] = {}
        self._before: dict[str, list[tuple[int, tuple[int, int]]]] = {}
        self._behind: dict[str, list[tuple[int, tuple[int, int]]]] = {}
        if (number := device.home_level) is not None:
            level = device.level(number)
            count = level.shared_by.instances(device.rows, device.columns)
            self._memories = {each: np.full(level.usable_bytes, POISON, np.uint8) for each in range(count)}
            for name, part in parts.items():
                full = {buffer.name for one in part.ahead.finds for buffer in one.buffers}
                brought = {buffer for one in part.ahead.brings for buffer in one.buffer_names}
                own = buffer_places(part.program, part.memory_names(number))
                self._before[name] = [place for buffer, place in own.items() if buffer not in full | brought]
                self._behind[name] = [place for buffer, place in own.items() if buffer not in brought]

    def keep(self, number: int, array: Array, home: Home) -> None:
        """Puts a tensor into its slabs."""
        data: Array = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._homes[number] = home, array.dtype, array.shape
        begin = 0
        for place in self._places(home, data.nbytes):
            place[...] = data[begin : begin + place.nbytes]
            begin += place.nbytes

    def read(self, number: int) -> Array:
        """What its slabs hold by now."""
        home, dtype, shape = self._homes[number]
        size = prod(shape) * dtype.itemsize
        found: Array = np.concatenate(self._places(home, size)).view(dtype).reshape(shape)
        return found

    def _places(self, home: Home, size: int) -> list[Array]:
        """The bytes of each piece of a tensor of so many, in its order."""
        pieces = ((home.slabs[number], place, own) for number, place, own in home.pieces(size))
        return [self._memories[slab.column][slab.address + place :][:own] for slab, place, own in pieces]

    def land(self, landed: Landed) -> None:
        """Puts what a phase brought where a later one finds it."""
        for (number, begin), array in landed.items():
            self._memories[number][begin : begin + array.nbytes] = array

    def landed(self, part: CompiledFunction) -> Landed:
        """What is by now where a part finds something that was brought."""
        places = (place for one in part.ahead.finds for place in one.places)
        return {(number, place.start): self._memories[number][place].copy() for number, place in places}

    def enter(self, part: str) -> None:
        """Poisons the bytes of a part's own buffers, but for those that are full: what lies there is lost."""
        self._poison(self._before.get(part, ()))

    def leave(self, part: str) -> None:
        """Poisons them behind it, but for what it brought."""
        self._poison(self._behind.get(part, ()))

    def _poison(self, places: Iterable[tuple[int, tuple[int, int]]]) -> None:
        for number, (begin, end) in places:
            self._memories[number][begin:end] = POISON


def _placed(array: Array, room: Array) -> Array:
    """The array at the beginning of a piece of memory."""
    place: Array = room[: array.nbytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place
